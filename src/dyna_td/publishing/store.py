"""Finished runs in `reference/runs/`, of complete figures and of others: so that nobody need train them again.

<run>.csv.xz, <run>.json                  every evaluation of every seed, and what it comes from
<run>.selection.csv.xz, .selection.json   the sweep of its learning rates, if there was one
<run>.states.csv.xz                       the sampled states, if a figure shows them
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import finished, results
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.finished import Finished
from dyna_td.pipeline.plans import Plan
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.publishing import reference, restamp
from dyna_td.settings import Run


@dataclass(frozen=True)
class Restored:
    """What `restore` did.

    Attributes:
      runs: that are back.
      outdated: the names of those that other sources made, which only come back when asked for.
      damaged: a sentence on each whose stored files are damaged.
      left_out: a sentence on each that does not fit the plan, or what is finished already.
    """

    runs: list[Finished]
    outdated: list[str]
    damaged: list[str]
    left_out: list[str]


def keep(plan: Plan, runs: Iterable[Run], source: Path, directory: Path) -> list[Run]:
    """Stores those of `runs` that are finished below `source`, undamaged, and made by the sources that are here.

    Returns:
      The runs that are in the store now.
    """
    kept = []
    for run in runs:
        if not results.run_csv(plan.scale, run.name, source).exists():
            continue
        try:
            made = finished.read(plan, run, source)
        except UserError:
            continue
        if made.is_current:
            for at, stored in _files(plan, run, source, directory).items():
                if at.exists():
                    _store(at, stored)
            kept.append(run)
    return kept


def restore(plan: Plan, directory: Path, target: Path, outdated: bool = False) -> Restored:
    """Brings stored runs of `plan` that are not below `target` back there, and has Snakemake take them over.

    Args:
      plan: of the paper's scale.
      directory: where they are stored.
      target: folder of the results.
      outdated: whether those that other sources made come back too.

    Raises:
      UserError: if nothing is stored, or Snakemake refuses.
    """
    if not (Path(directory) / "runs").is_dir():
        raise UserError(f"{directory} holds no stored runs: get them with `git checkout reference`.")
    back = Restored([], [], [], [])
    for run in plan.all_runs.values():
        csv = results.run_csv(plan.scale, run.name, target)
        if csv.exists() or not _stored(directory, f"{run.name}.json").exists():
            continue
        try:
            files = _files(plan, run, target, directory).items()
            contents = _read({at: stored for at, stored in files if not at.exists()})
        except UserError as error:
            back.damaged.append(str(error))
            continue
        try:
            for at, content in contents.items():
                with write_whole(at, "wb") as file:
                    file.write(content)
            made = finished.read(plan, run, target)
        except UserError as error:
            back.left_out.append(str(error))
        else:
            if made.is_current or outdated:
                back.runs.append(made)
                continue
            back.outdated.append(run.name)
        for at in contents:
            at.unlink(missing_ok=True)
    restamp.tell_snakemake(plan.scale, [made for made in back.runs if made.is_current], target)
    return back


def _files(plan: Plan, run: Run, folder: Path, directory: Path) -> dict[Path, Path]:
    """The files of a run below the results' `folder` and in the store, the sweep's first."""
    csv = results.run_csv(plan.scale, run.name, folder)
    tables = [results.selection_csv(plan.scale, run.name, folder)] if run.sweep else []
    tables += [results.states_csv(csv)] if run.name in plan.sampled_runs else []
    files = {}
    for table in [*tables, csv]:
        name = str(table.relative_to(csv.parents[len(Path(run.name).parts) - 1]))
        files[table] = _stored(directory, f"{name}.xz")
        if table != results.states_csv(csv):
            job = name.removesuffix(".csv")
            files[results.provenance_json(table)] = _stored(directory, f"{job}.json")
    return files


def _stored(directory: Path, name: str) -> Path:
    return Path(directory) / "runs" / name


def _store(at: Path, stored: Path) -> None:
    if stored.suffix == ".xz":
        reference.write_compressed(stored, at.read_bytes())
        return
    content = at.read_text(encoding="utf-8")
    if stored.suffix == ".json":
        details = json.loads(content)
        content = f"{reference.as_json({'date': reference.day_of(at), **details})}\n"
    with write_whole(stored) as file:
        file.write(content)


def _read(files: dict[Path, Path]) -> dict[Path, bytes]:
    """The contents of stored files by where they belong, each table as its JSON file tells of it.

    Raises:
      UserError: for a file that is damaged, or one that is missing and that every run has.
    """
    contents = {}
    for at, stored in files.items():
        if not stored.exists() and at.name.endswith(".states.csv"):
            continue
        if stored.suffix == ".xz":
            contents[at] = reference.read_compressed(stored)
        else:
            with told_if_damaged(stored, reference.again(stored)):
                contents[at] = stored.read_bytes()
    for at in [at for at in contents if at.suffix == ".json"]:
        with told_if_damaged(files[at], reference.again(files[at])):
            told = json.loads(contents[at])
            checksums = {at.with_suffix(".csv"): told["csv_sha256"]}
            checksums[results.states_csv(at.with_suffix(".csv"))] = told.get("states_sha256")
        for path, checksum in checksums.items():
            if path in contents and results.checksum(contents[path]) != checksum:
                stored = files[path]
                raise UserError(f"{stored} is not what the JSON file beside it tells of; {reference.again(stored)}.")
    return contents
