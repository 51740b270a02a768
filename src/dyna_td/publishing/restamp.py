"""Shows that changed code makes the same numbers, so that finished runs need not be trained again.

Of the runs whose digest is outdated, the first evaluations are trained again with the code that is here, until learning
has begun, and compared with the finished CSVs to the last digit. The seeds of one program are enough, and no fewer:
with another number of seeds the compiler may order the same arithmetic otherwise. Where all agree, the JSON files get
the new digest, and keep the old one under `restamped`; where one number differs, nothing is stamped.

Another CPU can change numbers as well. With a checkout of the sources that made the finished runs, those of them whose
numbers differ here are begun a second time, by these older sources, and what both make here is compared.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.pipeline import finished, provenance, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.finished import Finished, Table
from dyna_td.pipeline.plans import Plan
from dyna_td.settings import Run
from dyna_td.training.checkpoint import unpack

LARGEST_STACK = 20  # of dyna_td.training.trainer, which imports TensorFlow
EVALUATIONS = 2  # after learning has begun


@dataclass(frozen=True)
class Outdated:
    """What `survey` finds: finished runs by whether the code that is here made them, and sentences on the others."""

    current: list[Finished]
    outdated: list[Finished]
    left_out: list[str]


def survey(plan: Plan, directory: Path) -> Outdated:
    """Looks at every run of `plan` that is finished below `directory`."""
    found = Outdated([], [], [])
    for run in plan.all_runs.values():
        if not results.run_csv(plan.scale, run.name, directory).exists():
            continue
        try:
            made = finished.read(plan, run, directory)
        except UserError as error:
            found.left_out.append(str(error))
            continue
        if made.is_current:
            found.current.append(made)
        elif run.agent != "dyna_td_frozen":
            found.outdated.append(made)
        else:
            found.left_out.append(f"{made.table.csv} is measured at its last step alone, which no beginning can show.")
    return found


def sample(outdated: Iterable[Finished]) -> dict[str, Finished]:
    """By the name of each run, the one that stands for it: the cheapest of those that differ from it in numbers alone.

    They have the same environment, agent, learner, code and words among their settings (the model, the rule of search
    control, the activation), and are of the same outdated code.
    """
    groups: dict[tuple, list[Finished]] = {}
    for made in outdated:
        run = made.run
        words = tuple(value for value in asdict(run.settings).values() if isinstance(value, str | bool))
        code = tuple(table.details.get("source_digest") for table in made.tables)
        groups.setdefault((registry.entries_of(run), run.environment, run.agent, words, code), []).append(made)
    return {
        made.run.name: min(group, key=lambda other: registry.work(other.run))
        for group in groups.values()
        for made in group
    }


def last_step(run: Run) -> int:
    """How far `run` is trained again: `EVALUATIONS` evaluations after all that it learns with has begun."""
    begun = getattr(run.settings, "warm_up_steps", 0)
    if getattr(run.settings, "model", "") == "learned":
        begun = max(begun, run.settings.model_start)
    return min(run.steps, (-(-begun // run.evaluate_every) + EVALUATIONS) * run.evaluate_every)


def first_difference(made: Finished, train: Callable[[Run, int, bool], pd.DataFrame]) -> str | None:
    """Trains the beginning of a finished run, and of its sweep, again; tells the first number that differs, if any.

    Args:
      made: the finished run.
      train: `train_beginning`.
    """
    for table, records in begin(made, train):
        kept = table.records[table.records["step"] <= last_step(made.run)]
        for key in {"seed", "learning_rate"} & set(kept):
            kept = kept[kept[key].isin(records[key].unique())]
        if difference := _differs(f"{table.csv} has", results.to_csv_text(kept), results.to_csv_text(records)):
            return difference
    return None


def begin(made: Finished, train: Callable[[Run, int, bool], pd.DataFrame]) -> Iterator[tuple[Table, pd.DataFrame]]:
    """Trains the beginning of a finished run, and of its sweep at the selected rate, again: with the table of each."""
    until = last_step(made.run)
    yield made.table, train(made.trained, until, True)
    if made.sweep:
        records = train(made.candidate, until, False)
        yield made.sweep, records.assign(learning_rate=made.candidate.settings.learning_rate)


def _differs(whose: str, old: str, new: str) -> str | None:
    """The first row in which the text of a CSV differs from that of what the code that is here makes."""
    for one, other in zip(old.splitlines(), new.splitlines(), strict=False):
        if one != other:
            return f"{whose} the row {one}, but the code that is here makes {other}"
    return None if old.count("\n") == new.count("\n") else f"{whose} other metrics than the code that is here makes"


# In a process of older sources, which say themselves whether they made the run.
_BEGIN = """
import sys
from pathlib import Path
from dyna_td.pipeline import plans
from dyna_td.pipeline import results
from dyna_td.pipeline import finished
from dyna_td.publishing import restamp

scale, name, directory, output = sys.argv[1:]
plan = plans.load_plan(scale)
run = plan.all_runs.get(name)
made = run and finished.read(plan, run, Path(directory))
if not (made and made.is_current):
    sys.exit("they did not make it")
for table, records in restamp.begin(made, restamp.train_beginning):
    Path(output, table.csv.name).write_text(results.to_csv_text(records), newline="")
"""


@dataclass(frozen=True)
class Older:
    """The sources of another commit, checked out beside these, and where the results that they made are."""

    checkout: Path
    scale: str
    directory: Path

    def first_difference(self, made: Finished, train: Callable[[Run, int, bool], pd.DataFrame]) -> str | None:
        """As `first_difference`, from what the older sources make on this machine.

        Raises:
          UserError: if they did not make the run, or cannot train it.
        """
        with tempfile.TemporaryDirectory() as output:
            path = os.pathsep.join([str(self.checkout / "src"), str(self.checkout)])
            arguments = [self.scale, made.run.name, str(self.directory.absolute()), output]
            told = subprocess.run(
                [sys.executable, "-c", _BEGIN, *arguments],
                cwd=self.checkout,
                env=os.environ | {"PYTHONPATH": path},
                capture_output=True,
                text=True,
            )
            if told.returncode:
                reason = (told.stderr.splitlines() or ["killed"])[-1]
                raise UserError(
                    f"the sources in {self.checkout} cannot be asked for {made.run.name} ({reason}), expected a "
                    "checkout of those that made it: git_commit in its JSON file, or there the last under restamped."
                )
            for table, records in begin(made, train):
                old = Path(output, table.csv.name).read_text()
                whose = f"{self.checkout} makes, of {table.csv},"
                if difference := _differs(whose, old, results.to_csv_text(records)):
                    return difference
        return None


class _Enough(Exception):
    """Ends a training whose evaluations are all there."""


class _UntilStep:
    """Stands where a training expects its checkpoint: takes its evaluations at a step, and ends it."""

    def __init__(self, step: int):
        self._step = step
        self._done = 0
        self.records = None

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


def compared_seeds(run: Run) -> tuple[int, ...]:
    """The seeds of the first of the programs that train `run` (`trainer.stack_seeds`)."""
    return run.seeds[: len(run.seeds) // -(-len(run.seeds) // LARGEST_STACK)]


def train_beginning(run: Run, until: int, measures: bool) -> pd.DataFrame:
    """The evaluations of `compared_seeds(run)` up to the step `until`, one of its evaluations.

    The run keeps its own number of steps, by which its buffers are sized. Without `measures`, it is trained as in a
    sweep.
    """
    from dyna_td.training import trainer

    beginning = replace(run, seeds=compared_seeds(run))
    stop = _UntilStep(until)
    try:
        if measures:
            outcome = trainer.execute(beginning, stop.show, stop)
        else:
            outcome = trainer.execute_sweep([beginning], stop.show, stop)[0]
    except _Enough:
        return stop.records[stop.records["seed"].isin(beginning.seeds)]
    return outcome.records


def first_differences(
    witnesses: Iterable[Finished],
    initialize: Callable[[], object],
    cores: int | None = None,
    compare: Callable[..., str | None] = first_difference,
) -> Iterator[tuple[Finished, str | None]]:
    """`compare`s each witness, in a process of its own: what a program allocates goes with it.

    Args:
      witnesses: finished runs.
      initialize: called first in each process.
      cores: processes at a time; None takes all cores.
      compare: `first_difference`, or that of `Older`.

    Raises:
      UserError: if a process is killed.
    """
    spawn = multiprocessing.get_context("spawn")
    workers = cores or os.cpu_count() or 1
    witnesses = list(witnesses)
    with ProcessPoolExecutor(workers, spawn, initializer=initialize, max_tasks_per_child=1) as pool:
        try:
            answers = pool.map(partial(compare, train=train_beginning), witnesses)
            yield from zip(witnesses, answers, strict=True)
        except BrokenProcessPool as error:
            raise UserError("a training was killed, perhaps for want of memory: try again with --cores 1.") from error
        finally:
            pool.shutdown(cancel_futures=True)


def stamp(made: Finished, witness: Run, older: str | None = None) -> None:
    """Writes today's digest into the JSON files of a run, for which `witness` was compared.

    Args:
      made: the run.
      witness: the run that stands for it.
      older: the commit of the sources that `witness` was compared with, if not with its finished numbers.
    """
    for table in made.tables:
        fact = {
            "source_digest": table.details.get("source_digest"),
            "git_commit": provenance.commit(),
            "compared_run": witness.name,
            "seeds": list(compared_seeds(witness)),
            "last_step": last_step(witness),
            **({"compared_with_sources_of": older} if older else {}),
        }
        told = {**table.details, **table.asked, "restamped": [*table.details.get("restamped", []), fact]}
        with _times_kept([results.provenance_json(table.csv)]):
            results.write_details(table.csv, told)


def require_pipelines_folder(directory: Path) -> Path:
    """The folder in which Snakemake, whose rules name their files results/..., finds those below `directory`.

    Raises:
      UserError: if `directory` has another name, so that it finds none.
    """
    place = Path(os.path.abspath(directory))  # links are not followed: `results` may lead to another disk
    if place.name != results.DIRECTORY.name:
        raise UserError(
            f"--results is {directory}, but the pipeline takes over no run outside of a folder named "
            f"{results.DIRECTORY}: name one, for example {Path(directory) / results.DIRECTORY}."
        )
    return place.parent


def tell_snakemake(scale: str, runs: Iterable[Finished], directory: Path) -> None:
    """Has Snakemake note that these runs, and their sweeps, are what today's parameters make.

    Snakemake sets the files' times to now; they get their own back, so that nothing after them looks outdated.

    Raises:
      UserError: if Snakemake refuses.
    """
    tables = [table for made in runs for table in made.tables]
    if not tables:
        return
    files = [path for table in tables for path in (table.csv, results.provenance_json(table.csv))]
    files += [path for table in tables if (path := results.states_csv(table.csv)).exists()]
    home = require_pipelines_folder(directory)
    targets = [os.path.relpath(table.csv, home) for table in tables]
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "--snakefile",
        str(ROOT / "Snakefile"),
        "--touch",
        "--force",
        *targets,
    ]
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    with _times_kept(files):
        told = subprocess.run(
            [*command, "--config", f"scale={scale}"],
            cwd=home,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
        )
    if told.returncode:
        reason = next((line for line in told.stderr.splitlines() if "error" in line.lower()), "it failed")
        raise UserError(f"Snakemake did not take the stamped runs over ({reason}): try again.")


@contextmanager
def _times_kept(paths: Iterable[Path]) -> Iterator[None]:
    """Gives files their times back when the block ends: to be stamped is not to be made anew."""
    times = {path: path.stat() for path in paths}
    try:
        yield
    finally:
        for path, before in times.items():
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
