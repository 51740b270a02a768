"""The files that a training owns: it may replace these and no others."""

from collections.abc import Sequence
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.records import results, sources
from dyna_td.records.files import write
from dyna_td.records.unfinished import facts_of
from dyna_td.runs.run import Run

_REMEDY = "name another --output, or delete it first"
_STATES = ".states"  # suffix of the stem of a file of sampled states


def require_own(csv: Path, run: Run, tried: Sequence[Run] = ()) -> bool:
    """Lets a training replace only its own files: those of the same run, trained with the present code.

    Returns whether the results are there, so that there is nothing to train.

    Args:
      csv: the place of the results of `run`.
      run: the run that is trained or swept.
      tried: the runs of that sweep, one per learning rate.

    Raises:
      UserError: one of these files belongs to another training, or `csv` has a name that another training needs.
    """
    if csv.stem.endswith(_STATES):
        owner = csv.with_name(csv.stem.removesuffix(_STATES) + ".csv")
        raise UserError(f"--output is {str(csv)!r}, the place of the sampled states of {owner}: name another.")
    files = {kind: results.beside(csv, kind) for kind in results.KINDS}
    under_way = facts_of(files["checkpoint"]).get("identity")
    begun = under_way["settings"] if under_way else []
    runs = tried or [run]
    if under_way and (len(begun) != len(runs) or not all(map(results.same, runs, begun))):
        pairs = (results.differing(*pair) for pair in zip(runs, begun, strict=False))
        other = next((results.in_words(pair) for pair in pairs if pair), "another number of learning rates")
        raise UserError(f"{files['checkpoint']} holds another unfinished training ({other}): {_REMEDY}.")
    try:
        found = results.read_details(csv, "")
    except UserError:
        found = {}
    if files["json"].exists() and "source_digest" not in found:
        raise UserError(f"{files['json']} was not written by a training: {_REMEDY}.")
    if under_way and not found:  # a kill came between the CSV and its JSON file
        return False
    written = [path for kind, path in files.items() if kind != "checkpoint" and path.is_file()]
    if not written:
        return False
    if "run" not in found:
        raise UserError(f"{written[0]} was not written by a training: {_REMEDY}.")
    if differing := results.differing(run, found):
        raise UserError(f"{written[0]} holds another training ({results.in_words(differing)}): {_REMEDY}.")
    if found["source_digest"] != sources.run_digest(run):
        raise UserError(f"{written[0]} was trained with an earlier version of the code: {_REMEDY}.")
    if under_way:  # a kill may have come between the first file of a new writing and its JSON file
        return False
    for kind in ("states.csv", "policy.npz"):
        path = files[kind]
        if path.is_file() and results.checksum(path.read_bytes()) != found.get(results.checksum_key(kind)):
            raise UserError(f"{path} was not written by the training of {csv}: {_REMEDY}.")
    return csv.is_file() and results.checksum(csv.read_bytes()) == found.get("csv_sha256")


def events_of(folder: Path, csv: Path) -> Path:
    """The folder below `folder` for the events of the training of `csv`; it names the CSV in the file `training`.

    Raises:
      UserError: it holds those of another CSV's training.
    """
    place, owner = folder / csv.stem, str(csv.absolute())
    note = place / "training"
    found = note.read_text(encoding="utf-8", errors="replace") if note.is_file() else "another training"
    if found != owner and any(place.glob("*/events*")):
        raise UserError(f"{place} holds the events of {found}: name another --tensorboard, or delete it first.")
    write(note, owner)
    return place
