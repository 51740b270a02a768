"""Finished runs compared with the plan: are their settings those that it asks for?"""

from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.plan.planned import Plan
from dyna_td.plan.selection import select_learning_rate
from dyna_td.records import results
from dyna_td.runs.run import Run


@dataclass(frozen=True)
class Table:
    """A CSV of the results with its `records`, and its JSON file's `details`."""

    csv: Path
    records: pd.DataFrame
    details: dict


def read(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Table:
    """The finished `run` below `directory`, made by any code; a UserError if it, or its sweep, is not as planned."""
    table, rebuild = _read(plan, run.name, run, directory)
    if run.sweep:
        choice = plan.published_choice(run) or read_sweep(plan, run, directory).details
        if table.details["settings"]["learning_rate"] != choice["learning_rate"]:
            raise _other(table.csv, ["learning_rate"], rebuild)
    results.require_complete(table.csv, table.records, run, rebuild)
    return table


def read_sweep(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Table:
    """The finished sweep of `run`; a UserError also if the current rule would choose another rate. See `read`."""
    on_seeds = replace(run, seeds=plan.selection_runs(run)[0].seeds)
    table, rebuild = _read(plan, run.name + results.SWEEP, on_seeds, directory)
    tried = (set(table.records["learning_rate"]), set(table.records["seed"]))
    choice = select_learning_rate(run, table.records)
    # Scores are not compared: they were computed before the values were rounded to the file's nine digits.
    same = all(table.details.get(key) == choice[key] for key in ("learning_rate", "metric"))
    if tried != (set(run.sweep), set(on_seeds.seeds)) or not same:
        raise UserError(f"{table.csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return table


def _read(plan: Plan, job: str, run: Run, directory: Path) -> tuple[Table, str]:
    """A table and the command that rebuilds it; a UserError if it is not of `run`."""
    rebuild = results.pipeline_command(job, plan.scale)
    csv = results.run_csv(plan.scale, job, directory)
    records, details = results.read(csv, rebuild)
    if differing := results.differing(run, details):
        raise _other(csv, differing, rebuild)
    return Table(csv, records, details), rebuild


def _other(csv: Path, differing: list[str], rebuild: str) -> UserError:
    where = results.provenance_json(csv)
    return UserError(f"{where} has other {', '.join(differing)} than the plan; rebuild it with `{rebuild}`.")
