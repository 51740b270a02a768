"""The published results, `reference/`: what `make reference` copies there, and how it is read again.

<figure>/curves.csv, states.csv.xz            what the picture shows
<figure>/<figure>.png, .pdf                   the picture
<figure>/provenance.json                      which run is which curve; of each run all that its JSON file tells,
                                              its cost, and where its evaluations are
runs/<run>.csv.xz                             every evaluation of every seed; figures share it as they share the run
claims.csv, claims.md                         the verdicts on the paper's claims by these runs
readings.csv                                  the same claims by other runs, or by another part of training
"""

import io
import json
import lzma
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.scores import Measured
from dyna_td.pipeline import aggregate, finished, provenance, results
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.finished import Finished
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.settings import Run

DIRECTORY = Path("reference")
SOURCES = ("src", "envs", "experiments", "figures")  # what makes numbers and pictures
_SECONDS = ("train_seconds", "compile_seconds", "evaluate_seconds")
_DRAWING = ("matplotlib", "pillow", "numpy", "pandas", "scipy")


def provenance_json(figure: str, directory: Path = DIRECTORY) -> Path:
    """Where a published figure says what it comes from."""
    return Path(directory) / figure / "provenance.json"


def curves_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The curves of a published figure."""
    return Path(directory) / figure / "curves.csv"


def states_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The sampled states of a published figure, compressed, if it shows any."""
    return Path(directory) / figure / "states.csv.xz"


def run_csv(run: str, directory: Path = DIRECTORY) -> Path:
    """The evaluations of a published run, compressed."""
    return Path(directory) / "runs" / f"{run}.csv.xz"


def claims_csv(directory: Path = DIRECTORY) -> Path:
    """The verdicts on the paper's claims by the published runs; `claims.md` beside it is the same to read."""
    return Path(directory) / "claims.csv"


def published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the figures that are there, in the paper's order; studies, which are beyond it, come last."""
    names = {path.parent.name for path in Path(directory).glob("*/provenance.json")}
    return sorted(names, key=lambda name: (int(re.sub(r"\D", "", name) or sys.maxsize), name))


def require_published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the figures that are there, in the paper's order.

    Raises:
      UserError: if there are none.
    """
    there = published(directory)
    if not there:
        raise UserError(f"{directory} holds no published figure: get them with `git checkout reference`.")
    return there


def read_provenance(figure: str, directory: Path = DIRECTORY) -> dict:
    """What a published figure comes from.

    Raises:
      UserError: if it is not there, or damaged.
    """
    path = provenance_json(figure, directory)
    with told_if_damaged(path, again(path)):
        told = json.loads(path.read_text(encoding="utf-8"))
        _require_whole(told)
        return told


def again(path: Path) -> str:
    """What brings a published file back."""
    return f"get it again with `git checkout {path}`, or publish it with `make reference`"


def _require_whole(told: object) -> None:
    """Raises ValueError if a provenance.json that says this lacks what is taken from it."""
    match told:
        case {"scale": str(), "panels": dict() as panels, "runs": dict() as runs}:
            parts = [*panels.values(), *runs.values(), *(run["settings"] for run in runs.values())]
            if all(isinstance(part, dict) for part in parts):
                return
    raise ValueError("scale, panels, runs or their settings are missing")


def read_compressed(path: Path) -> bytes:
    """The contents of a compressed table.

    Raises:
      UserError: if it is not there, or damaged.
    """
    with told_if_damaged(path, again(path)):
        return lzma.decompress(path.read_bytes())


def reader(directory: Path = DIRECTORY) -> Callable[[Run], Measured | None]:
    """What gives the published results of a run, None where it is not published; each is read once.

    It raises UserError for results that are damaged, not what is told of them, or that lack what the plan asks.

    Raises:
      UserError: if no figure is published.
    """
    require_published(directory)
    told: dict[str, list[tuple[str, dict]]] = {}  # by run: each figure that shows it, and what was told of it there
    for path in sorted(Path(directory).glob("*/provenance.json")):
        for name, details in read_provenance(path.parent.name, directory).get("runs", {}).items():
            told.setdefault(name, []).append((path.parent.name, details))

    @cache
    def read(run: Run) -> Measured | None:
        found = told.get(run.name) or _told_by_store(run, directory)
        return _read_run(run, found, directory) if found else None

    return read


def _told_by_store(run: Run, directory: Path) -> list[tuple[str, dict]]:
    """What was told of a stored run that no published figure shows, see `store`; empty if it is not stored."""
    path = Path(directory) / "runs" / f"{run.name}.json"
    if not path.exists():
        return []
    with told_if_damaged(path, again(path)):
        told = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(told["settings"], dict):
            raise ValueError("no settings")
        return [(path.name, told)]


def _read_run(run: Run, told: list[tuple[str, dict]], directory: Path) -> Measured:
    """The results of `run`, bound by their checksum to one of those that `told` has: of a figure, or of the store."""
    path = run_csv(run.name, directory)
    content = read_compressed(path)
    checksum = results.checksum(content)
    details = next((details for _, details in told if details.get("csv_sha256") == checksum), None)
    figure = told[0][0]
    publish_again = "make reference" + ("" if figure.endswith(".json") else f" FIGURES={figure}")
    if details is None:
        raise UserError(f"{path} is not what {figure} tells of; publish it again with `{publish_again}`.")
    records = pd.read_csv(io.BytesIO(content))
    results.require_complete(path, records, run, publish_again)
    trained = run.with_learning_rate(details["settings"].get("learning_rate")) if run.sweep else run
    differing = finished.differences(run, details, {**results.describe(trained), "run": run.name})
    return Measured(run, records, details, publish_again, "other" if differing else "published")


def require_committed() -> None:
    """Checks that the sources are as committed, so that what is published can be made again.

    Raises:
      UserError: if they are not.
    """
    changed = provenance.uncommitted(*SOURCES)
    if changed is None:
        raise UserError("this is no git repository, so nobody could tell from which sources the results come.")
    if changed:
        raise UserError(f"{changed[0]} is not committed: commit it first, then publish what it makes.")


def publish(plan: Plan, figure: Figure, source: Path = results.DIRECTORY, directory: Path = DIRECTORY) -> None:
    """Writes all of a finished figure but its picture to `directory`.

    Raises:
      UserError: if one of its runs is not there, not complete, damaged, or not made by these sources; then nothing is
        written.
    """
    runs = {run: _require_current(plan, figure, finished.read(plan, run, source)) for run in figure.runs}
    tables = {run: (made.table.records, made.table.details) for run, made in runs.items()}
    curves = aggregate.curves_text(figure, tables.__getitem__)
    states = None
    if figure.shows_states:
        rebuild = f"make {figure.name} SCALE={plan.scale}"
        states = aggregate.states_text(figure, lambda run: results.read_states(runs[run].table.csv, rebuild))
    for run, made in runs.items():
        write_compressed(run_csv(run.name, directory), made.table.csv.read_bytes())
    if states:
        write_compressed(states_csv(figure.name, directory), states.encode())
    _write(curves_csv(figure.name, directory), curves)
    told = {
        "figure": figure.name,
        "title": figure.title,
        "scale": plan.scale,
        "drawn_with": provenance.versions(*_DRAWING),
        "panels": figure.as_plain_data(),
        "runs": {run.name: _tell(plan, run, made, source) for run, made in runs.items()},
    }
    _write(provenance_json(figure.name, directory), f"{as_json(told)}\n")


def as_json(told: object, indent: str = "") -> str:
    """`told` as JSON, with a line for each entry of a mapping, and lists on one line."""
    if not isinstance(told, dict) or not told:
        return json.dumps(told, allow_nan=False)
    inner = f"{indent} "
    entries = [f"{inner}{json.dumps(key)}: {as_json(value, inner)}" for key, value in told.items()]
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def _require_current(plan: Plan, figure: Figure, made: Finished) -> Finished:
    if not made.is_current:
        raise UserError(
            f"{made.table.csv} was made by other sources than those that are here: if they make the same numbers, "
            f"`make restamp SCALE={plan.scale}` shows it, else `make {figure.name} SCALE={plan.scale}` trains it anew."
        )
    return made


def _tell(plan: Plan, run: Run, made: Finished, source: Path) -> dict:
    """All that is known of a run, with its cost and the day of its training."""
    details = dict(made.table.details)
    told = {"date": day_of(made.table.csv), **details}
    told["cost"] = _cost(plan, run.name, details, source)
    if made.sweep:
        told["selection_cost"] = _cost(plan, f"{run.name}.selection", made.sweep.details, source)
    return told | {"evaluations": f"runs/{run.name}.csv.xz"}


def day_of(path: Path) -> str:
    """The day on which a file was written, for runs that did not note their date."""
    return f"{datetime.fromtimestamp(path.stat().st_mtime, UTC):%Y-%m-%d}"


def _cost(plan: Plan, job: str, details: dict, source: Path) -> dict:
    """Seconds of a job, None where they are not known.

    By the clock, those of training, compilation and evaluation; core-seconds are those of the whole job.
    """
    wall = round(sum(details[name] for name in _SECONDS), 1) if set(_SECONDS) <= set(details) else None
    return {"wall_seconds": wall, "core_seconds": details.get("core_seconds")}


def _write(path: Path, text: str) -> None:
    with write_whole(path) as file:
        file.write(text)


def write_compressed(path: Path, content: bytes) -> None:
    """Compresses `content`, unless it is there already: another version of the library may make other bytes of it."""
    try:
        if read_compressed(path) == content:
            return
    except UserError:
        pass  # not there, or damaged: either way it is written now
    with write_whole(path, "wb") as file:
        file.write(lzma.compress(content, preset=9))
