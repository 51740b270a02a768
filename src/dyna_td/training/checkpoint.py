"""Checkpoints, from which a killed training continues: one file beside the results, whole or not at all.

A checkpoint holds every array of the program, the evaluations so far, and the training's identity. Random numbers need
no state, because each is a function of the seed and the step. The file is a NumPy archive without pickled objects, so
reading it runs no code.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from dyna_td.records import unfinished
from dyna_td.records.files import remove_partial, write_whole

INTERVAL = 60.0  # seconds between two checkpoints, at least
MAX_SHARE = 0.01  # largest share of the time for checkpoints: slow ones are made less often
MAX_INTERVAL = 600.0  # seconds between two checkpoints, however long one takes to write


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
        with write_whole(self.path) as file:
            np.savez(file, allow_pickle=False, **{unfinished.FACTS: np.frombuffer(text.encode(), np.uint8)}, **arrays)
        ended = time.monotonic()
        self._due = ended + max(self._interval, min((ended - begun) / MAX_SHARE, MAX_INTERVAL))

    def load(self) -> tuple[dict[str, np.ndarray], dict] | None:
        """The arrays and facts of the last checkpoint, or None if this training has none.

        For a damaged file, or another training's, it prints one sentence on standard error and returns None.
        """
        try:
            arrays, facts = unfinished.read(self.path)
            identity = facts.pop("identity")
        except FileNotFoundError:
            return None
        except unfinished.UNREADABLE:
            self._refuse("is damaged")
            return None
        if identity != self.identity:
            differing = sorted(name for name, value in self.identity.items() if identity.get(name) != value)
            self._refuse(f"belongs to a training with another {', '.join(differing).replace('_', ' ')}")
            return None
        return arrays, facts

    def remove(self) -> None:
        """Deletes the file and the remains of a killed `save`, once the results are written."""
        self.path.unlink(missing_ok=True)
        remove_partial(self.path)

    def _refuse(self, why: str) -> None:
        print(f"warning: the checkpoint {self.path} {why}; the training restarts.", file=sys.stderr)
