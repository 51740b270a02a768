"""Training jobs: each trains a run or a sweep and writes its results, and continues from its checkpoint if killed."""

import contextlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from dyna_td.learning import arithmetic
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.plan.selection import select_learning_rate
from dyna_td.records import lock, provenance, results
from dyna_td.records.files import require_writable
from dyna_td.records.policy import Policy
from dyna_td.runs.run import Run
from dyna_td.training import progress
from dyna_td.training.checkpoint import INTERVAL, Checkpoint

_STEPS = "steps"  # the name of the file in a workplace that keeps the steps done


def train(run: Run, csv: Path, facts: dict, every: float = INTERVAL, tensorboard: Path | None = None) -> None:
    """Trains `run` and writes `csv`, with `facts` in its JSON file; prints its warnings on standard error.

    Args:
      run: its learning rate is fixed.
      csv: the place of the records; policy, sampled states and JSON file go beside it.
      facts: added to the JSON file; they may replace the run's name.
      every: seconds between two checkpoints.
      tensorboard: the folder of `outputs.events_of` for TensorBoard's events, if they are wanted.

    Raises:
      UserError: a file cannot be written, or another process is making `csv`.
    """
    for kind in results.KINDS:
        require_writable(results.beside(csv, kind))
    # Read before the training, because edits and commits during it did not make these numbers.
    described, machine = results.describe(run), provenance.machine()
    details = {**described, **facts, **machine}
    checkpoint = _checkpoint(csv, [described], machine, every)
    import_tensorflow()
    from dyna_td.training.tensorboard import Events
    from dyna_td.training.trainer import execute

    with workplace(csv) as place, progress.progress(run.name, file=place / _STEPS) as show:
        events = Events(tensorboard) if tensorboard else None

        def watch(records: pd.DataFrame) -> None:
            show.watch(records)
            if events:
                events.add(records)

        outcome = execute(run, show, checkpoint, watch)
        for warning in outcome.warnings():
            print(warning, file=sys.stderr)
        trained = Policy(details, outcome.weights) if outcome.weights else None
        results.write(csv, outcome.records, {**details, **outcome.cost}, outcome.states, trained)
        checkpoint.remove()


def sweep(run: Run, candidates: list[Run], csv: Path, every: float = INTERVAL) -> None:
    """Trains `candidates`, one per learning rate of `run`; writes `csv`, and the choice into its JSON file.

    `every` and errors are those of `train`.
    """
    require_writable(csv)
    machine = provenance.machine()
    checkpoint = _checkpoint(csv, [results.describe(candidate) for candidate in candidates], machine, every)
    import_tensorflow()
    from dyna_td.training.trainer import execute_sweep

    with workplace(csv) as place, progress.progress(run.name, file=place / _STEPS) as show:
        outcomes = execute_sweep(candidates, show, checkpoint)
        records = pd.concat(
            outcome.records.assign(learning_rate=candidate.settings.learning_rate)
            for candidate, outcome in zip(candidates, outcomes, strict=True)
        )
        details = {**results.describe(run), **select_learning_rate(run, records)}
        trainings = [outcome.cost for outcome in outcomes]
        numbers = [key for key, value in trainings[0].items() if isinstance(value, int | float)]
        cost = {key: sum(training[key] for training in trainings) for key in numbers}
        cost["peak_memory_mib"] = max(training["peak_memory_mib"] for training in trainings)
        results.write(csv, records, {**details, **cost, **machine})
        checkpoint.remove()


def _checkpoint(csv: Path, described: list[dict], machine: dict, every: float) -> Checkpoint:
    """The checkpoint of the training of `csv`; it is valid for these runs, this code, versions and arithmetic alone."""
    identity = {
        "settings": [{**run, "source_digest": None} for run in described],
        "source": described[0]["source_digest"],
        "versions": machine["versions"],
        # Another CPU may continue where the arithmetic is portable.
        "arithmetic": machine["cpu"] if machine["arithmetic"] != arithmetic.PORTABLE else arithmetic.PORTABLE,
        "format": 4,  # the file's; other formats are not read
    }
    return Checkpoint(results.beside(csv, "checkpoint"), identity, every)


@contextlib.contextmanager
def workplace(csv: Path) -> Iterator[Path]:
    """Locks a folder beside `csv` for this process and its temporary files, yields it, and deletes it at the end.

    TensorFlow writes the loops that it generates into temporary files. Files of a killed process are deleted first.

    Raises:
      UserError: if another process is making `csv`.
    """
    folder = _workplace_of(csv)
    folder.mkdir(exist_ok=True)
    key = folder / "lock"
    lock.hold(key, f"another process is making {csv}")
    for left in folder.iterdir():
        if left != key:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    before = tempfile.tempdir
    with contextlib.suppress(UnicodeEncodeError):  # TensorFlow cannot read a file if the locale cannot encode its name
        str(folder).encode()
        tempfile.tempdir = str(folder)
    try:
        yield folder
    finally:
        tempfile.tempdir = before
        with contextlib.suppress(OSError):  # a folder that has become read-only stays
            shutil.rmtree(folder)


def steps_done(csv: Path) -> int | None:
    """The steps done by the job that is making `csv`; None before its first step and after its end."""
    return progress.read(_workplace_of(csv) / _STEPS)


def _workplace_of(csv: Path) -> Path:
    return csv.absolute().with_name(f".{csv.name}.work")
