"""Shows that changed code makes the same numbers, so that finished runs need not be trained again.

The code that is here trains the beginning of outdated runs again, for the seeds of one program, until learning has
begun. The numbers must equal the finished CSVs to the last digit. Then the JSON files of that kind of run get the new
digest, and keep the old one under `restamped`. At the first number that differs, it stops.

Another CPU can change numbers, too. With a checkout of the sources that made the runs, these older sources begin a
run that differs as well, and the two beginnings are compared. A short run of each kind shows what no beginning does:
its buffer and its queue are soon full, and its model soon learns.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
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
CROWDED = {"warm_up_steps": 64, "buffer_capacity": 128, "queue_capacity": 256, "model_start": 96}
CROWDED_STEPS = 400


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


def crowded(run: Run) -> tuple[Run, dict]:
    """`run`, short, with a buffer and a queue that are soon full and a model that soon learns; and what is changed."""
    numbers = {name: value for name, value in CROWDED.items() if name in vars(run.settings)}
    short: dict[str, Any] = {"steps": CROWDED_STEPS, "evaluate_every": CROWDED_STEPS // 4, "sweep": ()}
    return replace(run, **short, settings=replace(run.settings, **numbers)), {**short, "settings": numbers}


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


def train_beginning(run: Run, until: int, measures: bool, companions: bool = True) -> pd.DataFrame:
    """The evaluations of the first program of `run` up to the step `until`, as in a sweep without `measures`.

    Without `companions` its stack is no larger than its seeds, as in runs that are older than these, for good.
    The run keeps its own number of steps, by which its buffers are sized. Newer sources call this function by its name.
    """
    from dyna_td.training import trainer  # imports TensorFlow, which nothing else here needs

    widths = trainer.WIDTHS
    if not companions:
        trainer.WIDTHS = range(2, trainer.LARGEST_STACK + 1)
    beginning = replace(run, seeds=tuple(seed for seed in trainer.stack_seeds(run.seeds)[0] if seed in run.seeds))
    stop: Any = _UntilStep(until)  # in the place of a checkpoint
    try:
        if measures:
            return trainer.execute(beginning, stop.show, stop).records
        return trainer.execute_sweep([beginning], stop.show, stop)[0].records
    except _Enough:
        return stop.records[stop.records["seed"].isin(beginning.seeds)]
    finally:
        trainer.WIDTHS = widths


# For a process of older sources.
_BEGIN_OLDER = """
import json, sys
from dataclasses import replace
from pathlib import Path
from dyna_td.pipeline import plans, results
from dyna_td.publishing import restamp

scale, name, digest, until, rate, output, crowded = sys.argv[1:]
plan, until, rate = plans.load_plan(scale), int(until), float(rate)
run = plan.all_runs.get(name)
if not run:
    sys.exit("they do not plan it")
if results.describe(run)["source_digest"] == digest:
    sys.exit("they are the code that is here")
crowded = json.loads(crowded)
if crowded:
    run = run.with_learning_rate(rate) if run.sweep else run
    run = replace(run, **{**crowded, "settings": replace(run.settings, **crowded["settings"])})
tables = []
if run.sweep:
    candidate = plan.selection_runs(run)[run.sweep.index(rate)]
    tables.append(restamp.train_beginning(candidate, until, False).assign(learning_rate=rate))
    run = run.with_learning_rate(rate)
for number, records in enumerate([*tables, restamp.train_beginning(run, until, True)]):
    Path(output, str(number)).write_text(results.to_csv_text(records), newline="")
"""


def begin_older(made: Finished, scale: str, checkout: Path, crowds: bool = False) -> list[str]:
    """The beginnings of a run's tables as the older sources in `checkout` make them on this machine: texts of CSVs.

    With `crowds`, one text: that of `crowded`.
    """
    rate = repr(made.trained.settings.learning_rate)
    until, changes = (CROWDED_STEPS, crowded(made.trained)[1]) if crowds else (last_step(made.run), {})
    with tempfile.TemporaryDirectory() as output:
        command = [sys.executable, "-c", _BEGIN_OLDER, scale, made.run.name, made.table.asked["source_digest"]]
        command += [str(until), rate, output, json.dumps(changes)]
        environment = handover.environment(checkout)
        done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.splitlines() or ["killed"])[-1]
            raise UserError(
                f"the sources in {checkout} cannot be asked for {made.run.name} ({reason}), expected a checkout of "
                "those that made it: git_commit in its JSON file, or there the last under restamped."
            )
        return [Path(output, str(number)).read_text() for number in range(1 if crowds else len(made.tables))]


def compare(made: Finished, scale: str, checkout: Path | None = None) -> tuple[str | None, dict]:
    """The first number in which a run's beginning here differs, in words or None, and the facts for `stamp`.

    It is compared with the finished numbers; where they differ, with those of the older sources in `checkout`.
    """
    until, rate = last_step(made.run), made.trained.settings.learning_rate
    new = [train_beginning(made.trained, until, True, companions=_has_companions(made.table))]
    if made.candidate and made.sweep:
        swept = train_beginning(made.candidate, until, False, companions=_has_companions(made.sweep))
        new.insert(0, swept.assign(learning_rate=rate))
    old = []
    for table, records in zip(made.tables, new, strict=True):
        kept = table.records[table.records["step"] <= until]
        for key in {"seed", "learning_rate"} & set(kept):
            kept = kept[kept[key].isin(records[key].unique())]
        old.append(results.to_csv_text(kept))
    seeds = sorted(map(int, new[-1]["seed"].unique()))
    facts = {"compared_run": made.run.name, "seeds": seeds, "last_step": until}
    difference = _differs(made, old, new, "{} has")
    if difference and checkout:
        difference = _differs(made, begin_older(made, scale, checkout), new, f"{checkout} makes, of {{}},")
        facts["compared_with_sources_of"] = provenance.commit(checkout)
    if checkout and not difference:
        new = [train_beginning(crowded(made.trained)[0], CROWDED_STEPS, True)]
        older = begin_older(made, scale, checkout, crowds=True)
        difference = _differs(made, older, new, f"{checkout} makes, of a short {{}},")
        facts["compared_crowded"] = provenance.commit(checkout)
    return difference, facts


def _has_companions(table: Table) -> bool:
    """Whether seeds trained along that are not in the table."""
    trainings = table.records[table.records.columns.intersection(["learning_rate", "seed"])].drop_duplicates()
    return table.details.get("trained_seeds", 0) > len(trainings)


def _differs(made: Finished, old: list[str], new: list[pd.DataFrame], whose: str) -> str | None:
    for table, text, records in zip(made.tables[-len(old) :], old, new, strict=True):
        mine = results.to_csv_text(records)
        for one, other in zip(text.splitlines(), mine.splitlines(), strict=False):
            if one != other:
                return f"{whose.format(table.csv)} the row {one}, but the code that is here makes {other}"
        if text.count("\n") != mine.count("\n"):
            return f"{whose.format(table.csv)} other metrics than the code that is here makes"
    return None


def confirm(
    witnesses: list[Finished], scale: str, checkout: Path | None = None, cores: int | None = None
) -> Iterator[tuple[Finished, dict]]:
    """Each witness with the facts of its comparison, `cores` at a time (None: all); a UserError if a number differs."""
    quietly = partial(import_quietly, "dyna_td.training.trainer")
    spawn = multiprocessing.get_context("spawn")
    # A process for each: the memory of a program goes with it.
    with ProcessPoolExecutor(cores or os.cpu_count(), spawn, initializer=quietly, max_tasks_per_child=1) as pool:
        try:
            found = pool.map(partial(compare, scale=scale, checkout=checkout), witnesses)
            for made, (difference, facts) in zip(witnesses, found, strict=True):
                if difference:
                    others = "" if checkout else provenance.differing(made.table.details, provenance.machine())
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
