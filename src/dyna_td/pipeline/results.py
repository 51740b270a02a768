"""How numbers are kept: a tidy CSV per run and, beside it, a JSON file that says where it comes from.

A CSV has one row per number, `seed,step,metric,value`, unsmoothed and sorted. Files are written whole or not at all.
"""

import errno
import hashlib
import io
import json
import tempfile
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline import provenance
from dyna_td.pipeline.files import write_whole
from dyna_td.settings import Run

DIRECTORY = Path("results")
COLUMNS = ["seed", "step", "metric", "value"]
SWEEP_COLUMNS = ["learning_rate", *COLUMNS]


def run_csv(scale: str, run_name: str, directory: Path = DIRECTORY) -> Path:
    """The CSV of a run of the plan; its JSON file has the same stem."""
    return Path(directory) / scale / "runs" / f"{run_name}.csv"


def selection_csv(scale: str, run_name: str, directory: Path = DIRECTORY) -> Path:
    """The CSV of a run's learning-rate sweep on selection seeds; its JSON file names the winner."""
    return Path(directory) / scale / "runs" / f"{run_name}.selection.csv"


def states_csv(csv: Path) -> Path:
    """The states that were sampled from the run of `csv`, or that go with a figure's curves.csv."""
    return csv.with_name("states.csv" if csv.name == "curves.csv" else f"{csv.stem}.states.csv")


def curves_csv(scale: str, figure: str, directory: Path = DIRECTORY) -> Path:
    """The CSV from which a figure is drawn."""
    return Path(directory) / scale / figure / "curves.csv"


def claims_csv(scale: str, directory: Path = DIRECTORY) -> Path:
    """The verdicts on the paper's claims; `claims.md` beside it is the same to read."""
    return Path(directory) / scale / "claims.csv"


def report_html(scale: str, directory: Path = DIRECTORY) -> Path:
    """All figures, verdicts, costs and sources of a scale on one page."""
    return Path(directory) / scale / "report.html"


def benchmark_tsv(scale: str, job: str, directory: Path = DIRECTORY) -> Path:
    """What Snakemake measured of a job: a run's name, `<run>.selection`, `figure_N.aggregate` or `figure_N.plot`."""
    return Path(directory) / scale / "benchmarks" / f"{job}.tsv"


def compare_csv(scale: str, directory: Path = DIRECTORY) -> Path:
    """How the curves of a scale lie to the published ones."""
    return Path(directory) / scale / "compare.csv"


def provenance_json(csv: Path) -> Path:
    """The JSON file beside `csv`."""
    return csv.with_suffix(".json")


def checkpoint_of(csv: Path) -> Path:
    """Where a training keeps what it goes on from until `csv` is written."""
    return csv.with_suffix(".checkpoint")


def require_writable(path: Path) -> None:
    """Makes the folder of `path`, and tries it before hours are spent on what would be written there.

    Raises:
      UserError: if nothing can be written at `path`.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except FileExistsError as error:
        raise UserError(f"cannot write {path}: {error.filename} is not a folder; choose another place.") from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another place.") from error


def to_csv_text(records: pd.DataFrame) -> str:
    """`records` sorted by all columns but `value`, with numbers that survive a round trip through float32."""
    keys = [column for column in SWEEP_COLUMNS[:-1] if column in records]
    ordered = records.sort_values(keys, kind="stable")[[*keys, "value"]]
    if "learning_rate" in keys:
        ordered = ordered.assign(learning_rate=ordered["learning_rate"].map("{:g}".format))
    return ordered.assign(value=ordered["value"].map("{:.9g}".format)).to_csv(index=False, lineterminator="\n")


def write(csv: Path, records: pd.DataFrame, details: dict, states: pd.DataFrame | None = None) -> None:
    """Writes `records` to `csv`, and `details`, with the checksums that bind the files, beside it.

    States, if there are any, go to `states_csv(csv)`.
    """
    texts = {csv: to_csv_text(records)}
    checksums = {"csv_sha256": checksum(texts[csv].encode())}
    if states is not None and len(states):
        texts[states_csv(csv)] = states.to_csv(index=False, float_format="%.5g", lineterminator="\n")
        checksums["states_sha256"] = checksum(texts[states_csv(csv)].encode())
    for path, text in texts.items():
        with write_whole(path) as file:
            file.write(text)
    write_details(csv, {**details, **checksums})


def write_details(csv: Path, details: dict) -> None:
    """Writes the JSON file beside `csv`."""
    with write_whole(provenance_json(csv)) as file:
        json.dump(details, file, indent=2, allow_nan=False)
        file.write("\n")


def checksum(text: bytes) -> str:
    """What binds a file to the JSON file that tells of it: SHA-256."""
    return hashlib.sha256(text).hexdigest()


def describe(run: Run) -> dict:
    """What `run` is, as plain data: everything that it was asked to do and the digest of the code that does it."""
    return {"run": run.name, **asdict(run), "source_digest": provenance.run_digest(run)}


def agrees(details: dict, asked: dict) -> bool:
    """Whether the JSON file with these contents tells of what was asked, as `describe` puts it."""
    return all(details.get(key) == value for key, value in json.loads(json.dumps(asked)).items())


def read_run(csv: Path, run: Run, rebuild: str) -> tuple[pd.DataFrame, dict]:
    """The records of `run` from `csv`, with the seeds and steps that it was asked for, and its JSON file's contents.

    Raises:
      UserError: naming the file and `rebuild`, the command that makes it anew.
    """
    records, details = read(csv, rebuild)
    require_complete(csv, records, run, rebuild)
    return records, details


def read_states(csv: Path, rebuild: str) -> pd.DataFrame:
    """The states that were sampled from the run of `csv`: seed, step, source, x, y.

    Raises:
      UserError: if they are missing or damaged.
    """
    _, details = read(csv, rebuild)
    path = states_csv(csv)
    text = _read_bytes(path, rebuild)
    if checksum(text) != details.get("states_sha256"):
        raise UserError(f"{path} is truncated or was changed after it was written; rebuild it with `{rebuild}`.")
    return pd.read_csv(io.BytesIO(text))


def read(csv: Path, rebuild: str) -> tuple[pd.DataFrame, dict]:
    """The records of `csv` and the contents of its JSON file, the former as they were written.

    Raises:
      UserError: if one of the two is missing or damaged.
    """
    text = _read_bytes(csv, rebuild)
    details = read_details(csv, rebuild)
    if checksum(text) != details["csv_sha256"]:
        raise UserError(f"{csv} is truncated or was changed after it was written; rebuild it with `{rebuild}`.")
    return pd.read_csv(io.BytesIO(text)), details


def read_details(csv: Path, rebuild: str) -> dict:
    """The contents of the JSON file beside `csv`.

    Raises:
      UserError: if it is missing or damaged.
    """
    path = provenance_json(csv)
    text = _read_bytes(path, rebuild)
    try:
        details = json.loads(text)
        details["csv_sha256"].encode()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged; rebuild it with `{rebuild}`.") from error
    return details


def _read_bytes(path: Path, rebuild: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; make it with `{rebuild}`.") from error


def require_complete(csv: Path, records: pd.DataFrame, run: Run, rebuild: str) -> None:
    """Checks that `records`, of the file `csv`, have the seeds of `run` and reach its last step.

    Raises:
      UserError: if they do not.
    """
    missing = sorted(set(run.seeds) - set(records["seed"]))
    if missing:
        raise UserError(f"{csv} lacks seed {', '.join(map(str, missing))}; rebuild it with `{rebuild}`.")
    if set(records["seed"]) != set(run.seeds):
        raise UserError(f"{csv} has seeds that the plan does not ask for; rebuild it with `{rebuild}`.")
    rows = records.groupby("seed").size()
    if rows.nunique() > 1 or not (records.groupby("seed")["step"].max() == run.steps).all():
        raise UserError(f"{csv} does not reach step {run.steps} for every seed; rebuild it with `{rebuild}`.")
