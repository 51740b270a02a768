"""Trains a run: the loop around a compiled program, its evaluations and its clocks."""

import itertools
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pandas as pd
import tensorflow as tf

from dyna_td.catalog import is_supervised
from dyna_td.progress import Progress
from dyna_td.runs import Run

LARGEST_STACK = 20  # seeds in one program
SECONDS_BETWEEN_SIGNS = 2.0  # of progress, at most; the pieces that training is cut into do not change a number

tf.get_logger().setLevel("ERROR")  # a program for each stack of seeds is meant, not an accidental retracing


@dataclass(frozen=True)
class Outcome:
    """What a run brought.

    Attributes:
      records: columns seed, step, metric, value; sorted by seed, step, metric.
      cost: seconds of training (without compilation), compilation and evaluation; steps, updates, peak memory.
    """

    records: pd.DataFrame
    cost: dict[str, float]


def execute(run: Run, progress: Progress = lambda done, total: None) -> Outcome:
    """Trains all seeds of `run` and evaluates them at step 0, every `run.evaluate_every` steps, and at the last step.

    Args:
      run: its learning rate is fixed (no sweep).
      progress: called with the steps done and the steps in all, every few seconds.
    """
    return execute_sweep([run], progress)[0]


def execute_sweep(runs: list[Run], progress: Progress = lambda done, total: None) -> list[Outcome]:
    """Like `execute` for runs that differ in their learning rates alone, which then share one compiled program."""
    clocks = [_Clock() for _ in runs]
    records = [[] for _ in runs]
    stacks = stack_seeds(runs[0].seeds)
    total = len(stacks) * sum(run.steps for run in runs)
    finished = 0
    for stack in stacks:
        with clocks[0]("compile_seconds"):
            program = make_program(replace(runs[0], seeds=stack))
            program.train(tf.constant(0))  # no step: compiles without changing anything
            program.evaluate()  # pure: compiles, and its first answer is thrown away
            beginning = [variable.numpy() for variable in program.state]
        for run, clock, frames in zip(runs, clocks, records, strict=True):
            for variable, value in zip(program.state, beginning, strict=True):
                variable.assign(value)
            program.optimizer.learning_rate.assign(run.settings.learning_rate)
            before = finished
            frames.append(
                _train(program, run, stack, clock, lambda done, before=before: progress(before + done, total))
            )
            finished += run.steps
    return [
        Outcome(_tidy(pd.concat(frames), run.seeds), _cost(run, clock))
        for run, clock, frames in zip(runs, clocks, records, strict=True)
    ]


def _train(program, run: Run, seeds: tuple[int, ...], clock: "_Clock", progress: Callable[[int], None]) -> pd.DataFrame:
    """Trains one stack of seeds from where `program` stands, and returns its evaluations."""
    evaluations = []
    done = 0
    pace = 50  # steps at once, adapted so that a person sees a sign of life every few seconds
    progress(done)
    while True:
        with clock("evaluate_seconds"):
            values = {metric: value.numpy() for metric, value in program.evaluate().items()}
        evaluations += [
            pd.DataFrame({"seed": seeds, "step": done, "metric": metric, "value": value})
            for metric, value in values.items()
        ]
        if done == run.steps:
            return pd.concat(evaluations)
        evaluation = min(done + run.evaluate_every, run.steps)
        while done < evaluation:
            piece = min(pace, evaluation - done)
            before = clock.seconds["train_seconds"]
            with clock("train_seconds"):
                program.train(tf.constant(piece))
                program.step.numpy()  # waits for the program to end
            done += piece
            pace = max(1, int(piece * SECONDS_BETWEEN_SIGNS / (clock.seconds["train_seconds"] - before)))
            progress(done)


def _tidy(records: pd.DataFrame, seeds: tuple[int, ...]) -> pd.DataFrame:
    """The records of `seeds`, sorted; a companion seed of `stack_seeds` is left out."""
    records = records[records["seed"].isin(seeds)]
    return records.sort_values(["seed", "step", "metric"], ignore_index=True)


def _cost(run: Run, clock: "_Clock") -> dict[str, float]:
    return {
        **clock.seconds,
        "env_steps": 0 if is_supervised(run.environment) else run.steps * len(run.seeds),
        "seed_updates": run.seed_updates,
        "peak_memory_mib": round(_peak_memory_bytes() / 2**20, 1),
    }


def stack_seeds(seeds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Divides seeds into stacks of about equal size, each trained by one program.

    Seed k's numbers must not depend on its neighbours, to the last bit. The compiled arithmetic of one seed is the same
    in every program of 2 to 20 stacked seeds (tests/agents/test_seed_packing.py), but not in larger ones, where the
    compiler orders sums otherwise, nor for a single one, where it drops the seed axis: that one gets a companion.
    """
    if len(seeds) == 1:
        return [(seeds[0], seeds[0] + 1)]
    count = -(-len(seeds) // LARGEST_STACK)
    bounds = [len(seeds) * k // count for k in range(count + 1)]
    return [seeds[low:high] for low, high in itertools.pairwise(bounds)]


def make_program(run: Run):
    """The program that trains `run`: a `Program` with `train(steps)` and `evaluate()`."""
    # Imported here, so that a run's source digest follows only the program that it uses.
    if is_supervised(run.environment):
        from dyna_td.regression import RegressionProgram

        return RegressionProgram(run)
    from dyna_td.control import ControlProgram

    return ControlProgram(run)


def _peak_memory_bytes() -> int:
    unit = 1 if sys.platform == "darwin" else 1024  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


class _Clock:
    """Adds up the seconds spent under each name."""

    def __init__(self):
        self.seconds = {"train_seconds": 0.0, "compile_seconds": 0.0, "evaluate_seconds": 0.0}

    def __call__(self, name: str):
        self._name = name
        return self

    def __enter__(self):
        self._start = time.perf_counter()

    def __exit__(self, *_):
        self.seconds[self._name] += time.perf_counter() - self._start
