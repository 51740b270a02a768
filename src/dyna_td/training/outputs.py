"""The files that a training owns: it may replace these and no others."""

import json
from collections.abc import Sequence
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence import finished
from dyna_td.pipeline import results
from dyna_td.pipeline.policy import path_beside
from dyna_td.settings import Run
from dyna_td.training.checkpoint import identity_of

_REMEDY = "name another --output, or delete it first"
_OWNER = "training.txt"  # in a folder of events: whose they are
_STATES = ".states"  # ends the stem of a file of sampled states


def checkpoint_of(csv: Path) -> Path:
    """The file from which the training of `csv` goes on."""
    return csv.with_suffix(".checkpoint")


def files_of(csv: Path) -> dict[str, Path]:
    """All files that the training of `csv` writes or deletes, by the word for their checksum in the JSON file."""
    return {
        "csv": csv,
        "states": results.states_csv(csv),
        "policy": path_beside(csv),
        "json": results.provenance_json(csv),
        "checkpoint": checkpoint_of(csv),
    }


def require_own(csv: Path, run: Run, tried: Sequence[Run] = ()) -> None:
    """Lets a training replace only its own files: those of the same run, trained with the present code.

    Args:
      csv: where the results of `run` go.
      run: what is trained, or a sweep.
      tried: the runs of that sweep, one a learning rate.

    Raises:
      UserError: one of `files_of` is another's, or `csv` has a name that another training needs.
    """
    if csv.stem.endswith(_STATES):
        owner = csv.with_name(csv.stem.removesuffix(_STATES) + ".csv")
        raise UserError(f"--output is {str(csv)!r}, the place of the sampled states of {owner}: name another.")
    asked = json.loads(json.dumps(results.describe(run)))
    files = files_of(csv)
    under_way = identity_of(files["checkpoint"])
    described = [json.loads(json.dumps(results.describe(each))) for each in tried] or [asked]
    if under_way and under_way["settings"] != settings_of(described):
        other = under_way["settings"][0]["run"]
        words = f"holds an unfinished training with other settings, {other}"
        raise UserError(f"{files['checkpoint']} {words}: {_REMEDY}.")
    try:
        found = results.read_details(csv, "")
    except UserError:
        found = {}
    if files["json"].exists() and "source_digest" not in found:
        raise UserError(f"{files['json']} was not written by a training: {_REMEDY}.")
    if under_way and not found:  # a kill came between the CSV and its JSON file
        return
    written = [files[kind] for kind in ("csv", "states", "policy", "json") if files[kind].is_file()]
    if not written:
        return
    differing = finished.differences(run, found, asked)
    differing += ["source_digest"] if found.get("source_digest") != asked["source_digest"] else []
    if differing:
        what = f"those of {found['run']}" if "run" in found else "not written by a training"
        code = ", trained with an earlier version of the code" if differing == ["source_digest"] else ""
        raise UserError(f"{written[0]} holds other results, {what}{code}: {_REMEDY}.")
    if under_way:  # a kill may have come between the first file of a new writing and its JSON file
        return
    for kind in ("states", "policy"):
        path = files[kind]
        if path.is_file() and results.checksum(path.read_bytes()) != found.get(f"{kind}_sha256"):
            raise UserError(f"{path} was not written by the training of {csv}: {_REMEDY}.")


def settings_of(described: list[dict]) -> list[dict]:
    """Runs as `results.describe` gives them, without the digest of their code."""
    return [{**run, "source_digest": None} for run in described]


def events_folder(tensorboard: Path, csv: Path) -> Path:
    """Takes the folder below `tensorboard` for the events of `csv`, and writes into it whose it is.

    Raises:
      UserError: it cannot be written, or holds the events of another training.
    """
    folder, mine = tensorboard / csv.stem, str(csv.resolve())
    owner = folder / _OWNER
    results_there = [] if owner.exists() else sorted(folder.glob("*")) if folder.is_dir() else []
    try:
        theirs = owner.read_text(encoding="utf-8", errors="replace").strip() if owner.exists() else mine
        if theirs == mine and not results_there:
            folder.mkdir(parents=True, exist_ok=True)
            owner.write_text(f"{mine}\n", encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise UserError(f"cannot write {folder}: {error.strerror}; choose another --tensorboard.") from error
    if theirs != mine or results_there:
        whose = f"the evaluations of {theirs}" if owner.exists() else "files of other programs"
        raise UserError(f"{folder} holds {whose}: name another --tensorboard or --output, or delete it first.")
    return folder
