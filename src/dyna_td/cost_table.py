"""The README's table of costs: each figure's jobs, core-minutes and memory, and whether they were measured."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from dyna_td.costs import QUANTITIES, Job, jobs_of
from dyna_td.errors import UserError
from dyna_td.estimate import CostModel, makespan
from dyna_td.experiments import Plan
from dyna_td.files import write_whole

_DIGITS = 1e-5  # the table of measured jobs keeps six


def markdown(plan: Plan, table: pd.DataFrame) -> str:
    """A line a figure, and one for all of them, in which runs that figures share count once.

    A job that was measured just as the plan asks for it counts as measured, any other as estimated.
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
    measured = _measured(jobs, scale, model)
    costs = {job: model.cost(jobs[job]) for job in jobs}
    seconds = {job: cost.seconds for job, cost in costs.items()} | {job: cost for job, (cost, _) in measured.items()}
    memory = {job: cost.memory_mib for job, cost in costs.items()} | {job: mib for job, (_, mib) in measured.items()}
    if len(measured) == len(jobs):
        source = "measurement"
    else:
        source = f"estimate, {len(measured)} jobs measured" if measured else "estimate"
    minutes, clock = (_two_digits(value / 60) for value in (sum(seconds.values()), makespan(jobs, seconds)))
    return f"| {name} | {len(jobs)} | {minutes} | {clock} | {max(memory.values()):.0f} | {source} |"


def _measured(jobs: Mapping[str, Job], scale: str, model: CostModel) -> dict[str, tuple[float, float]]:
    """Core-seconds and MiB of those of `jobs` that were measured as they are."""
    found = {}
    for row, seconds in zip(model.table.to_dict("records"), model.seconds, strict=True):
        job = jobs.get(row["job"])
        if job is None or row["scale"] != scale:
            continue
        asked = job.as_row(scale)
        same = all(math.isclose(row[name], asked[name], rel_tol=_DIGITS) for name in QUANTITIES)
        if same and (row["agent"], row["environment"]) == (job.agent, job.environment):
            found[job.name] = (float(seconds), float(row["memory_mib"]))
    return found


def _two_digits(number: float) -> str:
    if number < 0.1:
        return "< 0.1"
    return f"{float(f'{number:.2g}'):g}"


def write(path: Path, scale: str, text: str) -> None:
    """Puts `text` between the two marks of `scale` in the file at `path`.

    Raises:
      UserError: if the file cannot be read, or has no such marks.
    """
    try:
        old = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise UserError(f"cannot read {path}: {reason}; name a text file such as README.md.") from error
    begin, end = marks(scale)
    new, count = re.subn(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: f"{begin}\n{text}{end}", old, flags=re.S)
    if count != 1:
        raise UserError(f"{path} has {count} places for this table, expected 1: put {begin} and {end} on lines there.")
    with write_whole(path) as file:
        file.write(new)


def marks(scale: str) -> tuple[str, str]:
    """The comments between which the table of `scale` stands."""
    return f"<!-- costs at scale {scale} -->", f"<!-- end of costs at scale {scale} -->"
