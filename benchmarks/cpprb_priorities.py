"""Prioritized draws by cpprb (C++ behind Cython): a mini-batch of transitions, then its new priorities."""

import importlib.metadata

import numpy as np
import work
from cpprb import PrioritizedReplayBuffer

PARTS = {
    "state": {"shape": work.SIZES[0]},
    "action": {"dtype": np.int32},
    "reward": {},
    "next_state": {"shape": work.SIZES[0]},
    "terminated": {},
}


class Cpprb:
    """See `work.Implementation`; one seed."""

    def __init__(self):
        self.buffer = PrioritizedReplayBuffer(work.BUFFER, PARTS, alpha=1.0, eps=0.0)
        self.buffer.add(**work.transitions(work.BUFFER)._asdict(), priorities=work.priorities(work.BUFFER))
        self.priorities = work.priorities(work.CYCLES, work.BATCH)
        self.count = 0
        self.facts = {
            "version": f"cpprb {importlib.metadata.version('cpprb')}",
            "seeds": 1,
            "batch": len(self.buffer.sample(work.BATCH)["state"]),
            "filled": self.buffer.get_stored_size(),
        }

    def train(self) -> None:
        for priorities in self.priorities:
            batch = self.buffer.sample(work.BATCH)
            self.buffer.update_priorities(batch["indexes"], priorities)
            self.count += 1

    def done(self) -> int:
        return self.count


make = Cpprb  # `worker.py` calls it
