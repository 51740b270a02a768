"""Finished runs compared with the plan: are their settings those that it asks for?"""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.plan.planned import Plan
from dyna_td.plan.selection import select_learning_rate
from dyna_td.records import results
from dyna_td.runs.run import Run


def read(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> tuple[pd.DataFrame, dict]:
    """The records and details of the finished `run`, made by any code; a UserError unless it and its sweep are planned.

    `directory` has the results of all scales.
    """
    csv, rebuild, records, details = _read(plan, run.name, run, directory)
    if run.sweep:
        choice = plan.published_choice(run) or read_sweep(plan, run, directory)
        rates = details["settings"]["learning_rate"], choice["learning_rate"]
        if rates[0] != rates[1]:
            raise results.unplanned(csv, {"learning_rate": rates}, rebuild)
    results.require_complete(csv, records, run, rebuild)
    return records, details


def read_sweep(plan: Plan, run: Run, directory: Path = results.DIRECTORY) -> dict:
    """The details of the finished sweep of `run`; a UserError also if the current rule would choose another rate."""
    on_seeds = replace(run, seeds=plan.selection_runs(run)[0].seeds)
    csv, rebuild, records, details = _read(plan, run.name + results.SWEEP, on_seeds, directory)
    tried = (set(records["learning_rate"]), set(records["seed"]))
    choice = select_learning_rate(run, records)
    # Scores are not compared: they were computed before the values were rounded to the file's nine digits.
    same = all(details.get(key) == choice[key] for key in ("learning_rate", "metric"))
    if tried != (set(run.sweep), set(on_seeds.seeds)) or not same:
        raise UserError(f"{csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return details


def _read(plan: Plan, job: str, run: Run, directory: Path) -> tuple[Path, str, pd.DataFrame, dict]:
    """A CSV, the command that rebuilds it, its records and details; a UserError if it is not of `run`."""
    csv, rebuild = results.run_csv(plan.scale, job, directory), results.pipeline_command(job, plan.scale)
    records, details = results.read(csv, rebuild)
    results.require_planned(csv, details, run, rebuild)
    return csv, rebuild, records, details
