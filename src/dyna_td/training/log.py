"""The results that a training collects: evaluations, sampled states, policies, and its clocks."""

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dyna_td.records.metrics import diverged_seeds
from dyna_td.records.unfinished import pack, unpack
from dyna_td.runs.registry import is_supervised
from dyna_td.runs.run import Run


@dataclass(frozen=True)
class Outcome:
    """The results of a run.

    Attributes:
      records: columns seed, step, metric, value; sorted by seed, step, metric.
      states: columns seed, step, source, x, y: states sampled at the run's moments, empty where they are not measured.
      cost: seconds of training, compilation and evaluation, each alone. Processor seconds of the whole job, in equal
        shares for the runs of a sweep. Steps, updates and peak memory. Trained seeds, with a companion. Training
        seconds up to each evaluation. Diverged seeds with their steps. Remarks by seed.
      weights: of the trained policies, arrays [S, ...] by name (`records.policy`); none in a sweep.
    """

    records: pd.DataFrame
    states: pd.DataFrame
    cost: dict
    weights: dict[str, np.ndarray]

    def warnings(self) -> list[str]:
        """Sentences on diverged seeds, an environment's slips, a training without updates, and an empty queue."""
        found = [
            f"warning: seed {seed} diverged, first seen at step {step}; the others continue."
            for seed, step in self.cost["diverged_seeds"].items()
        ]
        if remarks := list(self.cost["remarks"].values()):
            others = f" (and other seeds: {len(remarks) - 1})" if len(remarks) > 1 else ""
            found.append(f"warning: {remarks[0]}{others}; training continued.")
        if not self.cost["seed_updates"]:
            found.append("warning: nothing was learned: the training is no longer than its warm_up_steps.")
            return found
        queued = self.records[self.records["metric"] == "queue_size"]["value"]
        if len(queued) and not queued.any():
            found.append(
                "warning: search control queued no state, so the agent learned as ER. Either a learned model begins "
                f"too late, at model_start: the training has {self.records['step'].max():,} steps. Or chains reached "
                "no state that counts, for example because their gradient is not finite."
            )
        return found


class Log:
    """The results of a run, collected from its stacks, which train the seeds `trained` in this order."""

    def __init__(self, run: Run, trained: Sequence[int]):
        self.run = run
        self.clock = Clock()
        self.remarks: dict[int, str] = {}
        self._metrics, self._states = [], []
        self._weights: dict[str, np.ndarray] = {}  # the policies of finished stacks
        self._seconds_at: dict[int, float] = {}  # summed over stacks, by evaluation
        self._before = 0.0  # seconds of the stacks before this one
        self._trained = trained

    def add_metrics(self, seeds: tuple[int, ...], step: int, metrics: dict, train_seconds: float) -> None:
        """Adds one evaluation of a stack: values [S] by metric, and the run's training seconds so far."""
        if step == 0:
            self._before = train_seconds
        self._metrics += [
            pd.DataFrame({"seed": seeds, "step": step, "metric": metric, "value": value})
            for metric, value in metrics.items()
        ]
        self._seconds_at[step] = self._seconds_at.get(step, 0.0) + train_seconds - self._before

    def records(self, newest: int = 0) -> pd.DataFrame:
        """The records of all evaluations so far, or of the `newest` metrics; empty before the first."""
        return self._of_run(self._metrics[-newest:] or [pd.DataFrame(columns=["seed", "step", "metric", "value"])])

    def add_states(self, seeds: tuple[int, ...], step: int, states: dict) -> None:
        """Adds states [S, N, 2] by source, sampled from a stack; those that are not finite are left out."""
        self._states += [
            pd.DataFrame({"seed": seed, "step": step, "source": source, "x": points[:, 0], "y": points[:, 1]})
            for source, drawn in states.items()
            for seed, sampled in zip(seeds, drawn, strict=True)
            for points in [sampled[np.isfinite(sampled).all(axis=1)]]
        ]

    def add_weights(self, weights: dict[str, np.ndarray]) -> None:
        """Adds the policies of a trained stack: arrays [S, ...] by name."""
        earlier = self._weights
        self._weights = {
            name: np.concatenate([earlier[name], new]) if earlier else new for name, new in weights.items()
        }

    def save(self, arrays: dict[str, np.ndarray], facts: dict, number: int) -> None:
        """Adds the log to a checkpoint, under its number."""
        for name in ("metrics", "states"):
            frames = getattr(self, f"_{name}")
            arrays |= pack(pd.concat(frames), f"log{number}.{name}") if frames else {}
        arrays |= {f"weights{number}.{name}": array for name, array in self._weights.items()}
        facts[f"log{number}"] = {
            "seconds": self.clock.seconds,
            "seconds_at": list(self._seconds_at.items()),
            "before": self._before,
            "remarks": list(self.remarks.items()),
        }

    def resume(self, arrays: dict[str, np.ndarray], facts: dict, number: int) -> None:
        """Restores what `save` added."""
        for name in ("metrics", "states"):
            table = unpack(arrays, f"log{number}.{name}")
            setattr(self, f"_{name}", [table] if len(table) else [])
        start = f"weights{number}."
        self._weights = {name.removeprefix(start): arrays[name] for name in arrays if name.startswith(start)}
        kept = facts[f"log{number}"]
        self.clock.seconds = kept["seconds"]
        self._before = kept["before"]
        self._seconds_at, self.remarks = dict(kept["seconds_at"]), dict(kept["remarks"])

    def outcome(self, core_seconds: float) -> Outcome:
        """The outcome, without the companion that `stacks_of` may have added."""
        records = self._of_run(self._metrics).sort_values(["seed", "step", "metric"], ignore_index=True)
        empty = pd.DataFrame(columns=["seed", "step", "source", "x", "y"])
        states = self._of_run(self._states or [empty]).sort_values(
            ["seed", "step", "source"], kind="stable", ignore_index=True
        )
        run = self.run
        cost = {
            **self.clock.seconds,
            "core_seconds": round(core_seconds, 1),
            "env_steps": 0 if is_supervised(run.environment) else run.steps * len(run.seeds),
            "seed_updates": run.seed_updates,
            "peak_memory_mib": round(peak_memory_bytes() / 2**20, 1),
            "trained_seeds": len(self._trained),
            "train_seconds_at": [[step, round(seconds, 3)] for step, seconds in sorted(self._seconds_at.items())],
            "diverged_seeds": diverged_seeds(records),
            "remarks": {str(seed): self.remarks[seed] for seed in sorted(set(run.seeds) & set(self.remarks))},
        }
        weights = {name: array[np.isin(self._trained, run.seeds)] for name, array in self._weights.items()}
        return Outcome(records, states, cost, weights)

    def _of_run(self, frames: list[pd.DataFrame]) -> pd.DataFrame:
        table = pd.concat(frames)
        return table[table["seed"].isin(self.run.seeds)]


def peak_memory_bytes() -> int:
    """The peak memory of this process."""
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class Clock:
    """Adds up the seconds spent under each name: `with clock("train_seconds")`."""

    def __init__(self):
        self.seconds = {"train_seconds": 0.0, "compile_seconds": 0.0, "evaluate_seconds": 0.0}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start
