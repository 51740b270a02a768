"""Finished runs beside the plan: does it ask for their settings, and did the code that is here make them?"""

import json
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline import remedies, results
from dyna_td.pipeline.plans import Plan
from dyna_td.pipeline.selection import select_learning_rate
from dyna_td.settings import Run


@dataclass(frozen=True)
class Table:
    """A CSV of the results: its `records`, its JSON file's `details`, and `asked`, what it would tell of itself now."""

    csv: Path
    records: pd.DataFrame
    details: dict
    asked: dict

    @property
    def is_current(self) -> bool:
        """Whether the code that is here made it, or was shown to make the same numbers."""
        return self.details.get("source_digest") == self.asked["source_digest"]


@dataclass(frozen=True)
class Finished:
    """A finished run: as planned, as `trained` with a fixed learning rate, and its tables.

    `sweep`, and `candidate`, the selected rate's run on selection seeds, are None where nothing was swept.
    """

    run: Run
    trained: Run
    table: Table
    sweep: Table | None
    candidate: Run | None

    @property
    def tables(self) -> list[Table]:
        """The sweep, if there is one, and the run itself."""
        return [table for table in (self.sweep, self.table) if table]

    @property
    def is_current(self) -> bool:
        """Whether the code that is here made all of it."""
        return all(table.is_current for table in self.tables)


def read(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Finished:
    """The finished `run` below `directory`, made by any code, but with the settings that `plan` asks for.

    Raises:
      UserError: if it is missing, damaged or not complete, or if other settings made it.
    """
    rebuild = remedies.pipeline(results.run_csv(plan.scale, run.name), plan.scale)
    csv = results.run_csv(plan.scale, run.name, directory)
    records, details = results.read_run(csv, run, rebuild)
    sweep, trained, candidate = None, run, None
    if run.sweep:
        sweep = read_sweep(plan, run, directory)
        rate = sweep.details["learning_rate"]
        trained = run.with_learning_rate(rate)
        candidate = plan.selection_runs(run)[run.sweep.index(rate)]
    asked = {**results.describe(trained), "run": run.name}
    return Finished(run, trained, _table(csv, records, details, asked, run, rebuild), sweep, candidate)


def read_sweep(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> Table:
    """The finished sweep of `run`, if today's rule makes the choice of its JSON file; see `read`."""
    rebuild = remedies.pipeline(results.selection_csv(plan.scale, run.name), plan.scale)
    csv = results.selection_csv(plan.scale, run.name, directory)
    records, details = results.read(csv, rebuild)
    asked = {**results.describe(run), "seeds": plan.selection_runs(run)[0].seeds}
    table = _table(csv, records, details, asked, run, rebuild)
    tried = (set(records["learning_rate"]), set(records["seed"]))
    choice = select_learning_rate(run, records)
    # Not the scores: they were computed before the values were rounded to the nine digits of the file.
    same = all(details.get(key) == choice[key] for key in ("learning_rate", "metric", "rule"))
    if tried != (set(run.sweep), set(asked["seeds"])) or not same:
        raise UserError(f"{csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return table


def _table(csv: Path, records: pd.DataFrame, details: dict, asked: dict, run: Run, rebuild: str) -> Table:
    differing = differences(run, details, asked)
    if differing:
        where = results.provenance_json(csv)
        raise UserError(f"{where} has other {', '.join(differing)} than the plan; rebuild it with `{rebuild}`.")
    return Table(csv, records, details, asked)


def is_current(planned: Run, details: dict) -> bool:
    """Whether the code and settings that are here made the run whose JSON file has these `details`."""
    asked = asked_of(planned, details)
    return not differences(planned, details, asked) and details.get("source_digest") == asked["source_digest"]


def asked_of(planned: Run, details: dict) -> dict:
    """The facts that a run's JSON file would tell now, at the learning rate that its `details` tell if it is swept."""
    settings = details.get("settings")
    rate = settings.get("learning_rate") if isinstance(settings, dict) else None
    run = planned.with_learning_rate(rate) if planned.sweep else planned
    return {**results.describe(run), "run": planned.name}


def differences(run: Run, details: dict, asked: dict) -> list[str]:
    """The keys of `asked` that `details` tell otherwise, but for the code's digest; see `results.describe`.

    A setting of `run` that `details` does not know had its default.
    """
    asked = json.loads(json.dumps(asked))
    defaults = json.loads(json.dumps({setting.name: setting.default for setting in fields(run.settings)}))
    settings = details.get("settings", {})
    told = {**details, "settings": {**defaults, **settings} if isinstance(settings, dict) else settings}
    return [key for key in asked if key != "source_digest" and told.get(key) != asked[key]]
