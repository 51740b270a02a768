"""Finished runs compared with the plan: are their settings those that it asks for?"""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.plan.planned import Plan
from dyna_td.plan.selection import select_learning_rate
from dyna_td.records import results
from dyna_td.settings import Run


@dataclass(frozen=True)
class Table:
    """A CSV of the results with its `records`, and its JSON file's `details`."""

    csv: Path
    records: pd.DataFrame
    details: dict


def read(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Table:
    """The finished `run` below `directory`, made by any code; a UserError if it, or its sweep, is not as planned."""
    trained = plan.trained(run)
    if plan.is_swept(run):
        trained = run.with_learning_rate(read_sweep(plan, run, directory).details["learning_rate"])
    asked = {**results.describe(trained), "run": run.name}
    table, rebuild = _read(plan, run.name, run, asked, directory)
    results.require_complete(table.csv, table.records, run, rebuild)
    return table


def read_sweep(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Table:
    """The finished sweep of `run`; a UserError also if the current rule would choose another rate. See `read`."""
    asked = {**results.describe(run), "seeds": plan.selection_runs(run)[0].seeds}
    table, rebuild = _read(plan, run.name + results.SWEEP, run, asked, directory)
    tried = (set(table.records["learning_rate"]), set(table.records["seed"]))
    choice = select_learning_rate(run, table.records)
    # Scores are not compared: they were computed before the values were rounded to the file's nine digits.
    same = all(table.details.get(key) == choice[key] for key in ("learning_rate", "metric", "rule"))
    if tried != (set(run.sweep), set(asked["seeds"])) or not same:
        raise UserError(f"{table.csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return table


def _read(plan: Plan, job: str, run: Run, asked: dict, directory: Path) -> tuple[Table, str]:
    """A table and the command that rebuilds it; a UserError if its settings are not those that are asked for."""
    rebuild = results.pipeline_command(job, plan.scale)
    csv = results.run_csv(plan.scale, job, directory)
    records, details = results.read(csv, rebuild)
    differing = differences(run, details, asked)
    if differing:
        where = results.provenance_json(csv)
        raise UserError(f"{where} has other {', '.join(differing)} than the plan; rebuild it with `{rebuild}`.")
    return Table(csv, records, details), rebuild


def is_as_planned(planned: Run, details: dict) -> bool:
    """Whether a run's JSON file with these `details` has the planned settings."""
    settings = details.get("settings")
    rate: Any = settings.get("learning_rate") if isinstance(settings, dict) else None
    asked = results.describe(planned.with_learning_rate(rate) if planned.sweep else planned)
    return not differences(planned, details, {**asked, "run": planned.name})


def differences(run: Run, details: dict, asked: dict) -> list[str]:
    """The keys of `asked` that differ in `details`, except the code's digest; see `results.describe`.

    A setting of `run` that `details` does not know had its default.
    """
    asked = json.loads(json.dumps(asked))
    defaults = json.loads(json.dumps({setting.name: setting.default for setting in fields(run.settings)}))
    settings = details.get("settings", {})
    written = {**details, "settings": {**defaults, **settings} if isinstance(settings, dict) else settings}
    return [key for key in asked if key != "source_digest" and written.get(key) != asked[key]]
