"""The cost of jobs, in core-seconds and memory, from the JSON files of finished and published runs.

`measured` gives None for a job that never ran; `estimated` then takes the cost of similar published jobs.
"""

import json
import math
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dyna_td.plan.planned import Figure, Plan
from dyna_td.programs.stacks import MAX_STACK
from dyna_td.records import published, results
from dyna_td.runs.registry import task

PUBLISHED = published.DIRECTORY / "runs"
_PAUSED = 1.5  # a clock that counts so many times the core-seconds also counts pauses of the machine
START = 15.0  # core-seconds in which a job imports TensorFlow and reads its plan, however little it trains


class Cost(NamedTuple):
    """The cost of a job, and the extent of its training.

    Attributes:
      core_seconds: processor time, imports and compilation included.
      memory_mib: the most memory that it held.
      seeds: number of seeds that it trained, summed over the rates of a sweep.
      steps: number of steps of each seed.
      clock: pairs of a step and the training seconds up to it; empty for a sweep.
      compiling: seconds of compilation, of all stacks of seeds; part of `core_seconds`.
    """

    core_seconds: float
    memory_mib: float
    seeds: int
    steps: int
    clock: tuple[tuple[int, float], ...] = ()
    compiling: float = 0.0

    @property
    def extent(self) -> int:
        """The steps of all seeds."""
        return self.seeds * self.steps

    def training(self, done: int, total: int) -> float:
        """The core-seconds of training the first `done` of `total` steps, of all stacks and rates one after the other.

        Without a clock each step takes the same time.
        """
        whole, rest = divmod(done, self.steps)
        steps, seconds = zip(*self.clock, strict=True) if self.clock else ((0, self.steps), (0.0, 1.0))
        share = np.interp(rest, steps, seconds) / np.interp(self.steps, steps, seconds)
        return (whole + share) * self.steps / total * max(0.0, self.core_seconds - START - self.compiling)

    def share(self, seeds: int, steps: int) -> float:
        """The share of the training's time that `seeds` seeds take up to `steps`, by the clock if it has these steps.

        A stack of seeds costs about two seeds more than it has, because some work is done once for all of them.
        """
        seconds = dict(self.clock)
        of_steps = seconds[steps] / seconds[self.steps] if {steps, self.steps} <= seconds.keys() else steps / self.steps
        return (seeds + 2 * _stacks(seeds)) / (self.seeds + 2 * _stacks(self.seeds)) * of_steps

    def beginning(self, seeds: int, steps: int) -> "Cost":
        """The cost of the same job with these seeds and steps; the time to compile a stack stays the same."""
        compiling = self.compiling / _stacks(self.seeds) * _stacks(seeds)
        training = max(0.0, self.core_seconds - START - self.compiling)
        seconds = START + compiling + training * self.share(seeds, steps)
        return self._replace(core_seconds=seconds, compiling=compiling, seeds=seeds, steps=steps)


def _stacks(seeds: int) -> int:
    return math.ceil(seeds / MAX_STACK)


UNMEASURED = Cost(8 * 3600.0, 3000.0, 0, 0)  # a job in a checkout without published ones: about the largest cost
_SLOWEST = "roundabout-paper-v0/*/*.json"  # the published jobs with the slowest steps


def measured(plan: Plan, job: str) -> Cost | None:
    """The measured cost of `job`, finished or published; None if it was never measured."""
    stored = published_cost(job) if plan.scale == published.SCALE else None
    found = [cost for cost in (finished(plan, job), stored) if cost and (cost.seeds, cost.steps) == _extent(plan, job)]
    return found[0] if found else None


def finished(plan: Plan, job: str) -> Cost | None:
    """The cost of a finished job; None if it did not run here."""
    return read(results.beside(results.run_csv(plan.scale, job), "json").absolute())


def expected(plan: Plan, job: str) -> Cost:
    """The cost to allow for `job`: measured, or else estimated."""
    return measured(plan, job) or estimated(plan, job)


def estimated(plan: Plan, job: str) -> Cost:
    """The cost of `job` in proportion to published jobs like it, or else `UNMEASURED`.

    A published job of the same name has the seconds up to each step. Otherwise jobs count that train the same agent on
    the same environment, or else any agent there, or on the slowest environment: the largest memory, and the most
    seconds per step and seed.
    """
    run, seeds, steps = plan.trained_by(job)[0], *_extent(plan, job)
    if own := published_cost(job):
        return own.beginning(seeds, steps)
    worlds = dict.fromkeys((run.environment, task(run.environment)))  # a variant of GridWorld costs as much
    likes = [f"{world}/{agent}/*.json" for agent in (run.agent, "*") for world in worlds] + [_SLOWEST]
    found = ([cost for path in sorted(PUBLISHED.glob(like)) if (cost := read(path))] for like in likes)
    known = next(filter(None, found), None)
    if not known:
        return UNMEASURED._replace(seeds=seeds, steps=steps)
    pace = max(cost.core_seconds / cost.extent for cost in known)
    return Cost(START + pace * seeds * steps, max(cost.memory_mib for cost in known), seeds, steps)


def memory_mb(plan: Plan, job: str, attempt: int = 1) -> int:
    """The memory to reserve for `job`, a third more than expected; more after each failed attempt."""
    return attempt * math.ceil(1.35 * expected(plan, job).memory_mib)


def runtime(plan: Plan, job: str, attempt: int = 1) -> int:
    """The minutes after which a cluster may end `job`: 30, plus three times the expected ones for slower machines."""
    return attempt * math.ceil(30 + 3 * expected(plan, job).core_seconds / 60)


def priority(plan: Plan, job: str) -> int:
    """A job's priority, by its expected length: a long one that starts last would leave the other cores idle."""
    return round(expected(plan, job).core_seconds)


def by_job(
    plan: Plan, figures: Iterable[Figure], cost: Callable[[Plan, str], Cost | None] = expected
) -> dict[str, Cost]:
    """The `cost` of each job that trains for `figures`, by its name; without jobs for which it is None."""
    return {job: found for job in plan.jobs(figures) if (found := cost(plan, job))}


def minutes(plan: Plan, figures: list[Figure], cores: int, cost: Callable[[Plan, str], Cost] = expected) -> float:
    """The minutes that figures take on idle cores, by the `cost` of each job; shared jobs count once."""
    costs = by_job(plan, figures, cost)
    return max(sum(each.core_seconds for each in costs.values()) / cores, _longest(costs)) / 60


def as_text(plan: Plan, figures: list[Figure], cores: int) -> str:
    """The costs as a table: a line for each figure, and one for all of them, in which shared jobs count once."""
    rows = [(figure.name, [figure]) for figure in figures]
    rows += [("all of these", figures)] if len(figures) > 1 else []
    lines = [
        f"{'':14}{'jobs':>6}{'core-minutes':>14}{f'minutes on {cores} cores':>21}{'GiB a job':>11}  jobs estimated"
    ]
    for name, shown in rows:
        jobs = by_job(plan, shown)
        unmeasured = len(jobs) - len(by_job(plan, shown, measured))
        seconds = sum(cost.core_seconds for cost in jobs.values())
        memory = max((cost.memory_mib for cost in jobs.values()), default=0.0)
        numbers = f"{seconds / 60:14,.0f}{minutes(plan, shown, cores):21,.0f}{memory / 1024:11.1f}"
        lines.append(f"{name:14}{len(jobs):6}{numbers}  {unmeasured or ''}".rstrip())
    return "\n".join(lines)


def _longest(costs: dict[str, Cost]) -> float:
    """The seconds of the longest run with its sweep, which more cores cannot shorten."""
    alone = {job: cost.core_seconds for job, cost in costs.items()}
    return max((seconds + alone.get(job + results.SWEEP, 0.0) for job, seconds in alone.items()), default=0.0)


def _extent(plan: Plan, job: str) -> tuple[int, int]:
    """The number of seeds that a job trains, summed over the rates of a sweep, and the steps of each."""
    trained = plan.trained_by(job)
    return sum(len(run.seeds) for run in trained), trained[0].steps


def published_cost(job: str) -> Cost | None:
    """The cost of a published job, or None."""
    return read(PUBLISHED / f"{job}.json")


@cache
def read(path: Path) -> Cost | None:
    """The cost in a JSON file; None if there is no such file, or no cost in it."""
    try:
        details = json.loads(path.read_text(encoding="utf-8"))
        seeds = len(details["seeds"]) * max(1, len(details["sweep"]))
        numbers = float(details["core_seconds"]), float(details["peak_memory_mib"])
        clock = tuple((int(step), float(seconds)) for step, seconds in details.get("train_seconds_at", ()))
        if clock and clock[-1][1] > _PAUSED * numbers[0]:
            clock = _without_pauses(clock)
        compiling = float(details.get("compile_seconds", 0.0))
        return Cost(*numbers, seeds, int(details["steps"]), clock, compiling)
    except (OSError, *results.DAMAGE):
        return None


def _without_pauses(clock: tuple[tuple[int, float], ...]) -> tuple[tuple[int, float], ...]:
    """The clock with no interval longer than the median of those that it has."""
    steps, seconds = np.array(clock).T
    intervals = np.diff(seconds)
    kept = np.minimum(intervals, np.median(intervals))
    return tuple(zip(steps.astype(int).tolist(), np.cumsum([seconds[0], *kept]).tolist(), strict=True))
