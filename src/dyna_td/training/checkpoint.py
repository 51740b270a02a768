"""Checkpoints, from which a killed training continues: one file beside the results, whole or not at all.

A checkpoint holds every array of the program, the evaluations so far, and the training's identity. Random numbers need
no state, because each is a function of the seed and the step. The file is a NumPy archive without pickled objects, so
reading it runs no code.
"""

import json
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.records.files import remove_partial, write_whole

INTERVAL = 60.0  # seconds between two checkpoints, at least
LARGEST_SHARE = 0.01  # largest share of the time for checkpoints: slow ones are made less often
LONGEST_INTERVAL = 600.0  # seconds between two checkpoints, however long one takes to write
# What reading a damaged file may raise.
UNREADABLE = (OSError, ValueError, TypeError, AttributeError, KeyError, EOFError, zipfile.BadZipFile)
_FACTS = "facts"  # the entry for all other data, as JSON


class Checkpoint:
    """Keeps a training's state at a path.

    Args:
      path: the file.
      identity: plain data that identifies the training: its run, code and versions.
      interval: seconds between two checkpoints, at least.
    """

    def __init__(self, path: Path, identity: dict, interval: float = INTERVAL):
        self.path = path.absolute()  # an environment may change the working directory
        # Through JSON and back, so that it equals what `load` reads.
        self.identity = json.loads(json.dumps(identity))
        self._interval = interval
        self._due = time.monotonic() + interval

    @property
    def is_due(self) -> bool:
        """Whether the next checkpoint is due."""
        return time.monotonic() >= self._due

    def save(self, arrays: dict[str, np.ndarray], facts: dict) -> None:
        """Replaces the checkpoint; the old one stays until the new one is whole.

        Args:
          arrays: numbers or texts, by name.
          facts: plain data.

        Raises:
          OSError: if it cannot be written, for example on a full disk.
        """
        begun = time.monotonic()
        text = json.dumps({"identity": self.identity, **facts})
        with write_whole(self.path, "wb") as file:
            np.savez(file, allow_pickle=False, **{_FACTS: np.frombuffer(text.encode(), np.uint8)}, **arrays)
        ended = time.monotonic()
        self._due = ended + max(self._interval, min((ended - begun) / LARGEST_SHARE, LONGEST_INTERVAL))

    def load(self) -> tuple[dict[str, np.ndarray], dict] | None:
        """The arrays and facts of the last checkpoint, or None if this training has none.

        For a damaged file, or another training's, it prints one sentence on standard error and returns None.
        """
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            facts = json.loads(arrays.pop(_FACTS).tobytes())
            identity = facts.pop("identity")
        except FileNotFoundError:
            return None
        except UNREADABLE:
            self._refuse("is damaged")
            return None
        if identity != self.identity:
            names = identity.keys() | self.identity.keys()
            differing = sorted(name for name in names if identity.get(name) != self.identity.get(name))
            self._refuse(f"belongs to a training with another {', '.join(differing).replace('_', ' ')}")
            return None
        return arrays, facts

    def remove(self) -> None:
        """Deletes the file and the remains of a killed `save`, once the results are written."""
        self.path.unlink(missing_ok=True)
        remove_partial(self.path)

    def _refuse(self, why: str) -> None:
        print(f"warning: the checkpoint {self.path} {why}; the training starts anew.", file=sys.stderr)


def pack(table: pd.DataFrame, prefix: str) -> dict[str, np.ndarray]:
    """A table's columns as arrays with names that begin with `prefix`; texts have a fixed width."""
    columns = {name: table[name].to_numpy() for name in table.columns}
    return {
        f"{prefix}.{name}": values.astype(np.str_) if values.dtype.kind not in "fiu" else values
        for name, values in columns.items()
    }


def unpack(arrays: dict[str, np.ndarray], prefix: str) -> pd.DataFrame:
    """The table that `pack` converted, its columns in the same order."""
    start = f"{prefix}."
    return pd.DataFrame({name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)})


def records_of(path: Path) -> tuple[pd.DataFrame, dict] | None:
    """The evaluations in the checkpoint of a training that is under way, and its run's settings; None without one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            run = json.loads(archive[_FACTS].tobytes())["identity"]["settings"][0]
            table = unpack({name: archive[name] for name in archive.files if name.startswith("log0.")}, "log0.metrics")
    except UNREADABLE:
        return None
    return (table[table["seed"].isin(run["seeds"])], run) if len(table) else None


def identity_of(path: Path) -> dict | None:
    """The identity of the training that has a checkpoint at `path`; None without one, or if it cannot be read."""
    return _facts_of(path).get("identity")


def steps_of(path: Path, source: str) -> int:
    """The steps that a training with this source digest need not repeat, of all its stacks and rates together."""
    facts = _facts_of(path)
    return facts.get("steps_done", 0) if facts.get("identity", {}).get("source") == source else 0


def _facts_of(path: Path) -> dict:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return json.loads(archive[_FACTS].tobytes())
    except UNREADABLE:
        return {}
