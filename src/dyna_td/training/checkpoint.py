"""What a training that was killed goes on from: one file beside the results, whole or not at all.

It holds every array of the program (parameters, optimizers, buffers, queues, counters, environments), the evaluations
so far, and what it belongs to. Random numbers need no room: each is a function of the seed and the step. The file is a
NumPy archive without pickled objects, so that reading one runs no code.
"""

import json
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.pipeline.files import remove_partial, write_whole

INTERVAL = 60.0  # seconds from one to the next, at least
LARGEST_SHARE = 0.01  # of the training's time: what takes long to write is written less often
LONGEST_INTERVAL = 600.0  # seconds, however long it takes to write: so much may be lost, and hardly more
_LARGE = 2**20  # bytes; of larger arrays the empty end is left out
_FACTS = "facts"  # the entry that holds, as JSON, what is not an array


class Checkpoint:
    """Keeps a training's state at a path.

    Args:
      path: the file.
      identity: plain data that names the training: what is trained, by what code, with which versions.
      interval: seconds from one checkpoint to the next, at least.
    """

    def __init__(self, path: Path, identity: dict, interval: float = INTERVAL):
        self.path = path
        # As it comes back from JSON, so that the two can be compared.
        self.identity = json.loads(json.dumps(identity))
        self._interval = interval
        self._due = time.monotonic() + interval

    @property
    def is_due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() >= self._due

    def save(self, arrays: dict[str, np.ndarray], facts: dict, begun: float | None = None) -> None:
        """Replaces the checkpoint; the old one stays until the new one is whole.

        Args:
          arrays: any numbers or texts.
          facts: plain data.
          begun: when the collecting of the arrays began (`time.monotonic()`), which counts as its cost; default: now.

        Raises:
          OSError: if it cannot be written, for example on a full disk.
        """
        begun = time.monotonic() if begun is None else begun
        lengths = {name: array.shape[1] for name, array in arrays.items() if array.nbytes > _LARGE and array.ndim > 1}
        arrays = {name: array[:, : _filled(array)] if name in lengths else array for name, array in arrays.items()}
        text = json.dumps({"identity": self.identity, "lengths": lengths, **facts})
        with write_whole(self.path, "wb") as file:
            np.savez(file, allow_pickle=False, **{_FACTS: np.frombuffer(text.encode(), np.uint8)}, **arrays)
        ended = time.monotonic()
        self._due = ended + max(self._interval, min((ended - begun) / LARGEST_SHARE, LONGEST_INTERVAL))

    def load(self) -> tuple[dict[str, np.ndarray], dict] | None:
        """The arrays and facts of the last checkpoint, or None if there is none that belongs to this training.

        One that does not, or is damaged, is told about in one sentence on standard error.
        """
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            facts = json.loads(arrays.pop(_FACTS).tobytes())
            identity, lengths = facts.pop("identity"), facts.pop("lengths")
            for name, length in lengths.items():
                arrays[name] = _lengthened(arrays[name], length)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            self._refuse("is damaged")
            return None
        if identity != self.identity:
            names = identity.keys() | self.identity.keys()
            differing = sorted(name for name in names if identity.get(name) != self.identity.get(name))
            self._refuse(f"is of another {', '.join(differing).replace('_', ' ')}")
            return None
        return arrays, facts

    def remove(self) -> None:
        """Deletes the file, once the results are written, and what a killed `save` may have left."""
        self.path.unlink(missing_ok=True)
        remove_partial(self.path)

    def _refuse(self, why: str) -> None:
        print(f"warning: the checkpoint {self.path} {why}; the training starts anew.", file=sys.stderr)


def _filled(array: np.ndarray) -> int:
    """How many places along axis 1 hold anything but zeros: a buffer that is filling up is mostly empty."""
    words = np.ascontiguousarray(array).view(np.uint8 if array.itemsize % 4 else np.uint32)
    is_filled = words.reshape(*array.shape[:2], -1).any(axis=(0, 2))
    return int(is_filled.nonzero()[0][-1]) + 1 if is_filled.any() else 0


def _lengthened(array: np.ndarray, length: int) -> np.ndarray:
    """The array with zeros at the end of axis 1."""
    longer = np.zeros((array.shape[0], length, *array.shape[2:]), array.dtype)
    longer[:, : array.shape[1]] = array
    return longer


def pack(table: pd.DataFrame, prefix: str) -> dict[str, np.ndarray]:
    """A table's columns as arrays, whose names begin with `prefix`; texts have a fixed width."""
    columns = {name: table[name].to_numpy() for name in table.columns}
    return {
        f"{prefix}.{name}": values.astype(np.str_) if values.dtype.kind not in "fiu" else values
        for name, values in columns.items()
    }


def unpack(arrays: dict[str, np.ndarray], prefix: str) -> pd.DataFrame:
    """The table that `pack` took apart, its columns in the same order."""
    start = f"{prefix}."
    return pd.DataFrame({name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)})
