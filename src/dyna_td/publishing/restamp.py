"""Shows that changed code makes the same numbers, so that finished runs need not be trained again.

The code that is here trains the beginning of outdated runs again, for the seeds of one program, until learning has
begun. The numbers must equal the finished CSVs to the last digit. Then the JSON files of that kind of run get the new
digest, and keep the old one under `restamped`. At the first number that differs, it stops.

Another CPU can change numbers, too; then that kind of run has to be trained anew.
"""

import multiprocessing
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline import finished, provenance, results
from dyna_td.pipeline.finished import Finished, Table
from dyna_td.pipeline.plans import Plan
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.publishing import handover
from dyna_td.settings import Run
from dyna_td.training.checkpoint import unpack

EVALUATIONS = 2  # after learning has begun


def survey(plan: Plan, directory: Path) -> tuple[list[Finished], list[Finished], list[str]]:
    """The current runs of `plan` below `directory`, the outdated ones, and sentences on those that are left out."""
    current, outdated, left_out = [], [], []
    for run in plan.all_runs.values():
        csv = results.run_csv(plan.scale, run.name, directory)
        try:
            made = finished.read(plan, run, directory) if csv.exists() else None
        except UserError as error:
            left_out.append(str(error))
            continue
        if made and made.is_current:
            current.append(made)
        elif made and run.agent == "dyna_td_frozen":
            left_out.append(f"{csv} is measured at its last step alone, which no beginning can show.")
        elif made:
            outdated.append(made)
    return current, outdated, left_out


def sample(outdated: Iterable[Finished]) -> dict[str, Finished]:
    """The witness of each run, by its name: the cheapest of the runs that differ from it in numbers alone.

    Such runs have the same outdated digest, environment and agent, and the same words among their settings (the model,
    the rule of search control, the activation).
    """
    groups: dict[tuple, list[Finished]] = {}
    for made in outdated:
        words = tuple(value for value in asdict(made.run.settings).values() if isinstance(value, str | bool))
        digests = tuple(table.details.get("source_digest") for table in made.tables)
        groups.setdefault((made.run.environment, made.run.agent, words, digests), []).append(made)
    cheapest = [(group, min(group, key=lambda made: made.table.details["core_seconds"])) for group in groups.values()]
    return {made.run.name: witness for group, witness in cheapest for made in group}


def last_step(run: Run) -> int:
    """The step up to which `run` is trained again: `EVALUATIONS` evaluations after all its learning has begun."""
    begun = getattr(run.settings, "warm_up_steps", 0)
    if getattr(run.settings, "model", "") == "learned":
        begun = max(begun, run.settings.model_start)
    return min(run.steps, (-(-begun // run.evaluate_every) + EVALUATIONS) * run.evaluate_every)


class _Enough(Exception):
    """Ends a training whose evaluations are all there."""


class _UntilStep:
    """Stands where a training expects its checkpoint: takes its evaluations at a step, and ends it."""

    def __init__(self, step: int):
        self._step, self._done, self.records = step, 0, None

    def load(self) -> None:
        return None

    def show(self, done: int, total: int) -> None:
        self._done = done

    @property
    def is_due(self) -> bool:
        return self._done >= self._step

    def save(self, arrays: dict, facts: dict, begun: float | None) -> None:
        self.records = unpack(arrays, "log0.metrics")
        raise _Enough


def train_beginning(run: Run, until: int, measures: bool) -> pd.DataFrame:
    """The evaluations of the first program of `run` up to the step `until`, as in a sweep without `measures`.

    The run keeps its own number of steps, by which its buffers are sized.
    """
    from dyna_td.training import trainer  # imports TensorFlow, which nothing else here needs

    beginning = replace(run, seeds=tuple(seed for seed in trainer.stack_seeds(run.seeds)[0] if seed in run.seeds))
    stop: Any = _UntilStep(until)  # in the place of a checkpoint
    try:
        if measures:
            return trainer.execute(beginning, stop.show, stop).records
        return trainer.execute_sweep([beginning], stop.show, stop)[0].records
    except _Enough:
        return stop.records[stop.records["seed"].isin(beginning.seeds)]


def compare(made: Finished) -> tuple[str | None, dict]:
    """The first number in which a run's beginning differs from its CSV, in words or None; and the facts for `stamp`."""
    until = last_step(made.run)
    new = [train_beginning(made.trained, until, True)]
    if made.candidate:
        swept = train_beginning(made.candidate, until, False)
        new.insert(0, swept.assign(learning_rate=made.trained.settings.learning_rate))
    seeds = sorted(map(int, new[-1]["seed"].unique()))
    facts = {"compared_run": made.run.name, "seeds": seeds, "last_step": until}
    differences = (_differs(table, records, until) for table, records in zip(made.tables, new, strict=True))
    return next(filter(None, differences), None), facts


def _differs(table: Table, records: pd.DataFrame, until: int) -> str | None:
    kept = table.records[table.records["step"] <= until]
    for key in {"seed", "learning_rate"} & set(kept):
        kept = kept[kept[key].isin(records[key].unique())]
    old, new = map(results.to_csv_text, (kept, records))
    for one, other in zip(old.splitlines(), new.splitlines(), strict=False):
        if one != other:
            return f"{table.csv} has the row {one}, but the code that is here makes {other}"
    if old.count("\n") != new.count("\n"):
        return f"{table.csv} has other metrics than the code that is here makes"
    return None


def confirm(witnesses: list[Finished], cores: int | None = None) -> Iterator[tuple[Finished, dict]]:
    """Each witness with the facts of its comparison, `cores` at a time (None: all); a UserError if a number differs."""
    quietly = partial(import_quietly, "dyna_td.training.trainer")
    spawn = multiprocessing.get_context("spawn")
    # A process for each: the memory of a program goes with it.
    with ProcessPoolExecutor(cores or os.cpu_count(), spawn, initializer=quietly, max_tasks_per_child=1) as pool:
        try:
            found = pool.map(compare, witnesses)
            for made, (difference, facts) in zip(witnesses, found, strict=True):
                if difference:
                    others = provenance.differing(made.table.details, provenance.machine())
                    why = f" ({others}: that alone can change them)" if others else ""
                    raise UserError(f"{difference}; its kind of run is not stamped{why}.")
                yield made, facts
        except BrokenProcessPool as error:
            raise UserError("a training was killed, perhaps for want of memory: try again with --cores 1.") from error
        finally:
            pool.shutdown(cancel_futures=True)


def stamp(made: Finished, facts: dict) -> None:
    """Writes today's digest into the JSON files of a run, and the `facts` of its witness under `restamped`."""
    for table in made.tables:
        past = {"source_digest": table.details.get("source_digest"), "git_commit": provenance.commit(), **facts}
        details = {**table.details, **table.asked, "restamped": [*table.details.get("restamped", []), past]}
        with handover.times_kept([results.provenance_json(table.csv)]):
            results.write_details(table.csv, details)
