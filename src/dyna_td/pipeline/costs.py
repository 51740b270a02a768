"""The cost of jobs, in core-seconds and memory, from the JSON files of finished and published runs.

A published run tells the cost at the paper's scale. `measured` knows no cost of a job that never ran; `expected` then
takes jobs like it.
"""

import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from dyna_td.pipeline import results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import Figure, Plan

PUBLISHED = ROOT / "reference" / "runs"
PUBLISHED_SCALE = "paper"
START = 15.0  # core-seconds in which a job imports TensorFlow and compiles, however little it trains


class Cost(NamedTuple):
    """A job's processor time and the most memory that it held; `extent` counts the steps of all its seeds."""

    core_seconds: float
    memory_mib: float
    extent: float


UNMEASURED = Cost(8 * 3600.0, 3000.0, 0.0)  # for a job unlike all measured ones: about the most that any took


def jobs_of(figures: Iterable[Figure]) -> list[str]:
    """The names of the jobs that train for `figures`, a shared one once: `<run>`, and `<run>.selection` for a sweep."""
    runs = dict.fromkeys(run for figure in figures for run in figure.runs)
    return [job for run in runs for job in ([run.name + results.SWEEP] if run.sweep else []) + [run.name]]


def measured(plan: Plan, job: str, directory: Path = results.DIRECTORY) -> Cost | None:
    """The measured cost of `job`: finished below `directory`, or published; None if it was never measured."""
    finished = read(results.provenance_json(results.run_csv(plan.scale, job, directory)).absolute())
    published = read(PUBLISHED / f"{job}.json") if plan.scale == PUBLISHED_SCALE else None
    found = [cost for cost in (finished, published) if cost and cost.extent == _extent(plan, job)]
    return found[0] if found else None


def expected(plan: Plan, job: str) -> Cost:
    """The cost to allow for `job`: measured, in proportion to published jobs like it, or else `UNMEASURED`.

    A job is like another if it has its name, or else trains the same agent on the same environment; the dearest counts.
    At another scale, seconds shrink with the steps of all seeds, and memory stays the same.
    """
    found = measured(plan, job)
    if found:
        return found
    run, extent = plan.all_runs[job.removesuffix(results.SWEEP)], _extent(plan, job)
    others = (PUBLISHED / run.environment / run.agent).glob("*.json")
    own = read(PUBLISHED / f"{job}.json")
    known = [own] if own else [cost for path in sorted(others) if (cost := read(path))]
    if not known:
        return UNMEASURED
    pace = max(cost.core_seconds / cost.extent for cost in known)
    return Cost(START + pace * extent, max(cost.memory_mib for cost in known), extent)


def memory_mb(plan: Plan, job: str, attempt: int = 1) -> int:
    """The memory to reserve for `job`, a third more than expected; more after each failed attempt."""
    return attempt * math.ceil(1.35 * expected(plan, job).memory_mib)


def runtime(plan: Plan, job: str, attempt: int = 1) -> int:
    """The minutes after which a cluster may end `job`: three times the expected ones, for slower machines."""
    return attempt * math.ceil(30 + 3 * expected(plan, job).core_seconds / 60)


def priority(plan: Plan, job: str) -> int:
    """A job's priority, by its expected length: a long one that starts last would leave the other cores idle."""
    return round(expected(plan, job).core_seconds)


def as_text(plan: Plan, figures: list[Figure], cores: int, directory: Path = results.DIRECTORY) -> str:
    """The measured costs as a table: a line a figure, and one for all of them, in which shared jobs count once."""
    rows = [(figure.name, [figure]) for figure in figures]
    rows += [("all of these", figures)] if len(figures) > 1 else []
    lines = [f"{'':14}{'jobs':>6}{'core-hours':>12}{f'hours on {cores} cores':>20}{'GiB a job':>11}  jobs not measured"]
    for name, shown in rows:
        jobs = jobs_of(shown)
        costs = {job: cost for job in jobs if (cost := measured(plan, job, directory))}
        seconds = sum(cost.core_seconds for cost in costs.values())
        clock = max(seconds / cores, _longest(costs))
        memory = max((cost.memory_mib for cost in costs.values()), default=0.0)
        numbers = f"{seconds / 3600:12.2f}{clock / 3600:20.2f}{memory / 1024:11.1f}" if costs or not jobs else " " * 43
        lines.append(f"{name:14}{len(jobs):6}{numbers}  {len(jobs) - len(costs) or ''}".rstrip())
    return "\n".join(lines)


def _longest(costs: dict[str, Cost]) -> float:
    """The seconds of the longest run with the sweep before it, which no number of cores makes shorter."""
    alone = {job: cost.core_seconds for job, cost in costs.items()}
    return max((seconds + alone.get(job + results.SWEEP, 0.0) for job, seconds in alone.items()), default=0.0)


def _extent(plan: Plan, job: str) -> float:
    run = plan.all_runs[job.removesuffix(results.SWEEP)]
    trained = plan.selection_runs(run) if job.endswith(results.SWEEP) else [run]
    return sum(len(each.seeds) * each.steps for each in trained)


@cache
def read(path: Path) -> Cost | None:
    """The cost that a JSON file tells; None if there is no such file, or none that tells it."""
    try:
        details = json.loads(path.read_text(encoding="utf-8"))
        extent = len(details["seeds"]) * details["steps"] * max(1, len(details["sweep"]))
        return Cost(float(details["core_seconds"]), float(details["peak_memory_mib"]), extent)
    except (OSError, ValueError, LookupError, TypeError):
        return None
