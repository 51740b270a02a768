"""Finished runs in `reference/runs/`, of complete figures and of others: so that nobody need train them again.

<run>.csv.xz, <run>.json                  every evaluation of every seed, and what it comes from
<run>.selection.csv.xz, .selection.json   the sweep of its learning rates, if there was one
<run>.states.csv.xz                       the sampled states, if a figure shows them
<run>.tsv, <run>.selection.tsv            what Snakemake measured of its jobs
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dyna_td import results
from dyna_td.errors import UserError
from dyna_td.experiments import Plan
from dyna_td.files import write_whole
from dyna_td.publishing import finished, reference, restamp
from dyna_td.publishing.finished import Finished
from dyna_td.runs import Run


@dataclass(frozen=True)
class Restored:
    """What `restore` did: the runs that are back, and sentences on those that are not."""

    runs: list[Finished]
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
    back = Restored([], [])
    for run in plan.all_runs.values():
        csv = results.run_csv(plan.scale, run.name, target)
        if csv.exists() or not _stored(directory, f"{run.name}.json").exists():
            continue
        stored_files = _files(plan, run, target, directory).items()
        files = {at: stored for at, stored in stored_files if stored.exists() and not at.exists()}
        try:
            _unpack(files)
            made = finished.read(plan, run, target)
            if not made.is_current and not outdated:
                raise UserError(f"{run.name} was made by other sources than those that are here.")
        except UserError as error:
            for at in files:
                at.unlink(missing_ok=True)
            back.left_out.append(str(error))
        else:
            back.runs.append(made)
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
            files[results.benchmark_tsv(plan.scale, job, folder)] = _stored(directory, f"{job}.tsv")
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


def _unpack(files: dict[Path, Path]) -> None:
    for at, stored in files.items():
        content = reference.read_compressed(stored) if stored.suffix == ".xz" else stored.read_bytes()
        with write_whole(at, "wb") as file:
            file.write(content)
