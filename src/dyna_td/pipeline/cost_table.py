"""The README's table of costs: each figure's jobs, core-minutes and memory, and whether they were measured."""

import math
from collections.abc import Mapping

import pandas as pd

from dyna_td.pipeline.costs import QUANTITIES, Job, jobs_of
from dyna_td.pipeline.estimate import Cost, CostModel, makespan
from dyna_td.pipeline.plans import Plan

_DIGITS = 1e-5  # the table of measured jobs keeps six


def markdown(plan: Plan, table: pd.DataFrame) -> str:
    """A line a figure, and one for all of them, in which runs that figures share count once.

    A job that was measured just as the plan asks for it counts as measured, any other as estimated; where its memory
    was not measured, that is estimated alone.
    """
    model = CostModel(table)
    lines = [
        "| figure | jobs | core-minutes | minutes on 2 cores | memory of a job, MiB | from |",
        "|---|---|---|---|---|---|",
    ]
    for figure in plan.figures.values():
        lines.append(_line(figure.name.removeprefix("figure_"), jobs_of(plan, [figure]), plan.scale, model))
    lines.append(_line("all", jobs_of(plan, plan.figures.values()), plan.scale, model))
    return "\n".join(lines) + "\n"


def _line(name: str, jobs: Mapping[str, Job], scale: str, model: CostModel) -> str:
    costs, measured = costs_of(jobs, scale, model)
    seconds = {job: cost.seconds for job, cost in costs.items()}
    if measured == len(jobs):
        source = "measurement"
    else:
        source = f"estimate, {measured} jobs measured" if measured else "estimate"
    minutes, clock = (two_digits(value / 60) for value in (sum(seconds.values()), makespan(jobs, seconds)))
    memory = max(cost.memory_mib for cost in costs.values())
    return f"| {name} | {len(jobs)} | {minutes} | {clock} | {memory:.0f} | {source} |"


def costs_of(jobs: Mapping[str, Job], scale: str, model: CostModel) -> tuple[dict[str, Cost], int]:
    """The cost of each of `jobs`, and how many of them were measured just as they are; the others are estimated."""
    measured = _measured(jobs, scale, model)
    return {name: measured.get(name) or model.cost(job) for name, job in jobs.items()}, len(measured)


def _measured(jobs: Mapping[str, Job], scale: str, model: CostModel) -> dict[str, Cost]:
    """What those of `jobs` took that were measured as they are."""
    found = {}
    for row, seconds in zip(model.table.to_dict("records"), model.seconds, strict=True):
        job = jobs.get(row["job"])
        if job is None or row["scale"] != scale:
            continue
        asked = job.as_row(scale)
        same = all(math.isclose(row[name], asked[name], rel_tol=_DIGITS) for name in QUANTITIES)
        if same and (row["agent"], row["environment"]) == (job.agent, job.environment):
            memory = row["memory_mib"] if math.isfinite(row["memory_mib"]) else model.cost(job).memory_mib
            found[job.name] = Cost(float(seconds), float(memory))
    return found


def two_digits(number: float) -> str:
    """`number` as the table shows it."""
    if number < 0.1:
        return "< 0.1"
    return f"{float(f'{number:.2g}'):g}"


def part(scale: str) -> str:
    """What the table of `scale` is called where it stands in the README (see `marked_text`)."""
    return f"costs at scale {scale}"
