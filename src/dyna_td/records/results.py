"""Results as files: a tidy CSV for each run and, beside it, a JSON file that says where the numbers come from.

A CSV has one row per number, `seed,step,metric,value`, unsmoothed and sorted. Files are written whole or not at all.
"""

import hashlib
import io
import json
import lzma
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.records import files, sources
from dyna_td.records.policy import Policy
from dyna_td.runs.run import Run, describes_run

DIRECTORY = Path("results")
KINDS = ("csv", "states.csv", "policy.npz", "json", "checkpoint")  # all files that a training writes or deletes
SWEEP = ".selection"  # suffix of a job that tries learning rates
COLUMNS = ["seed", "step", "metric", "value"]
_KINDS = {"seed": "iu", "step": "iu", "value": "fiu"}  # kinds of NumPy's types
SWEEP_COLUMNS = ["learning_rate", *COLUMNS]
_OWN, _ZEROS = "json_sha256", "0" * 64  # a JSON file's checksum of itself, and what it covers in its place
# The errors that reading a damaged file raises.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, EOFError, lzma.LZMAError)


def run_csv(scale: str, job: str, directory: Path = DIRECTORY) -> Path:
    """The CSV of a run of the plan, or of its sweep, `<run>.selection`; the sweep's JSON file names the winner."""
    return Path(directory) / scale / "runs" / f"{job}.csv"


def jobs_of(run: Run, is_swept: bool = True) -> list[str]:
    """The names of the jobs that train `run`: any sweep, unless its rate is chosen already, and the run."""
    return [*([run.name + SWEEP] if run.sweep and is_swept else []), run.name]


def beside(csv: Path, kind: str) -> Path:
    """The file of one of `KINDS` that belongs to `csv`, which may be compressed as published ones are."""
    return csv.with_name(f"{stem(csv)}.{kind}")


def stem(csv: Path) -> str:
    """The name of a CSV, which may be compressed, without its endings."""
    return csv.name.removesuffix(".xz").removesuffix(".csv")


def curves_csv(scale: str, figure: str) -> Path:
    """The CSV from which a figure is drawn."""
    return DIRECTORY / scale / figure / "curves.csv"


def repeats_csv(curves: Path) -> Path:
    """The table beside a figure's curves that says how far its runs repeat the published ones."""
    return curves.with_name("repeats.csv")


def to_csv_text(records: pd.DataFrame) -> str:
    """`records` sorted by all columns but `value`, with numbers that survive a round trip.

    Nine digits are enough for a float32. A value that only float64 holds, such as a count beyond 2^24, has more, and so
    has a whole number of more digits.
    """
    keys = [column for column in SWEEP_COLUMNS[:-1] if column in records]
    ordered = records.sort_values(keys, kind="stable")[[*keys, "value"]]
    if "learning_rate" in keys:
        ordered = ordered.assign(learning_rate=ordered["learning_rate"].map(lambda rate: repr(float(rate))))
    values = ordered["value"].to_numpy(np.float64)
    with np.errstate(over="ignore"):
        is_single = (values.astype(np.float32) == values) & ~((np.abs(values) >= 1e9) & (np.abs(values) < 2.0**53))
    texts = [
        f"{value:.9g}" if single else repr(value).removesuffix(".0")
        for value, single in zip(values.tolist(), is_single, strict=True)
    ]
    return ordered.assign(value=texts).to_csv(index=False, lineterminator="\n")


def write(
    csv: Path, records: pd.DataFrame, details: dict, states: pd.DataFrame | None = None, policy: Policy | None = None
) -> None:
    """Writes `records`, any `states` and `policy`, last the JSON file: `details` and checksums that bind the files."""
    contents = {"csv": to_csv_text(records).encode()}
    if states is not None and len(states):
        contents["states.csv"] = states.to_csv(index=False, float_format="%.5g", lineterminator="\n").encode()
    if policy:
        contents["policy.npz"] = policy.as_bytes()
    for kind in ("states.csv", "policy.npz"):  # files of an earlier run
        beside(csv, kind).unlink(missing_ok=True)
    checksums = {checksum_key(kind): checksum(content) for kind, content in contents.items()}
    text = sealed({**details, **checksums}, partial(json.dumps, indent=2, allow_nan=False))
    written: list[Path] = []
    try:
        for kind, content in contents.items():
            files.write(beside(csv, kind), content)
            written.append(beside(csv, kind))
        files.write(beside(csv, "json"), text)
    except BaseException:  # a full disk, an interrupt: the same command would refuse files without their JSON file
        for path in written:
            path.unlink()
        raise


def sealed(details: dict, as_text: Callable[[dict], str]) -> str:
    """The text of a JSON file with `details` and its own checksum: SHA-256 of the text with zeros in its place."""
    text = f"{as_text({**details, _OWN: _ZEROS})}\n"
    return text.replace(_ZEROS, checksum(text.encode()))


def is_intact(content: bytes) -> bool:
    """Whether a JSON file of `sealed` is as it was written; those of earlier versions have no checksum of their own."""
    own = json.loads(content).get(_OWN)
    return own is None or checksum(content.replace(own.encode(), _ZEROS.encode())) == own


def checksum_key(kind: str) -> str:
    """The JSON file's key of the checksum of a file of this kind: csv, states.csv or policy.npz."""
    return f"{kind.partition('.')[0]}_sha256"


def checksum(content: bytes) -> str:
    """SHA-256, which binds a file to its JSON file."""
    return hashlib.sha256(content).hexdigest()


def describe(run: Run) -> dict:
    """The settings of a run, and the digest of the code that trains it, as its JSON file has them."""
    facts = asdict(run)
    for name in ("of_steps", "apart"):
        if not facts[name]:  # most runs are whole, and alone with their settings
            del facts[name]
    return {"run": run.name, **facts, "source_digest": sources.run_digest(run)}


def same(run: Run, details: dict) -> bool:
    """Whether the results with the JSON file `details` are of `run`, made by any code; see `differing`."""
    return not differing(run, details)


def differing(run: Run, details: dict) -> dict[str, tuple[Any, Any]]:
    """The facts of `run` that the JSON file `details` states otherwise: by name, the file's and those of `run`.

    The code's digest does not count.

    A setting that `details` does not know had its default. If `run` is swept, any learning rate will do. The file may
    be of a longer run, whose beginning `run` is.
    """
    defaults = {setting.name: setting.default for setting in fields(run.settings)}
    settings: Any = details.get("settings")
    settings = {**json.loads(json.dumps(defaults)), **settings} if isinstance(settings, dict) else settings
    is_chosen = run.sweep and isinstance(settings, dict) and not details.get("sweep")
    chosen = run.with_learning_rate(settings["learning_rate"]) if is_chosen else run
    asked = json.loads(json.dumps({**asdict(chosen), "run": run.name}))
    written = {"of_steps": 0, **details, "settings": settings, "apart": run.apart}
    length = written.get("of_steps") or written.get("steps")
    if run.of_steps and length == run.length and written["steps"] >= run.steps:
        written |= {"steps": run.steps, "of_steps": run.of_steps}
    return {key: (written.get(key), fact) for key, fact in asked.items() if written.get(key) != fact}


def in_words(differing: dict[str, tuple[Any, Any]]) -> str:
    """Differing facts, as in "steps: 20000, not 30000"; a run's name repeats them."""
    facts = {key: pair for key, pair in differing.items() if key != "run"}
    there, asked = facts.pop("settings", ({}, {}))
    found = there if isinstance(there, dict) else {}
    facts |= {key: (found.get(key), asked.get(key)) for key in {**asked, **found} if found.get(key) != asked.get(key)}
    return "; ".join(f"{key}: {json.dumps(old)}, not {json.dumps(new)}" for key, (old, new) in facts.items())


def require_planned(csv: Path, details: dict, run: Run, rebuild: str) -> None:
    """Raises UserError unless the JSON file `details` beside `csv` is of `run`; see `differing`."""
    if facts := differing(run, details):
        raise unplanned(csv, facts, rebuild)


def unplanned(csv: Path, differing: dict[str, tuple[Any, Any]], rebuild: str) -> UserError:
    """The error that the JSON file of `csv` has `differing` facts, with the remedy."""
    return UserError(f"{beside(csv, 'json')} is not as planned ({in_words(differing)}); rebuild it with `{rebuild}`.")


def read_run(csv: Path, run: Run, rebuild: str) -> tuple[pd.DataFrame, dict]:
    """The records of `run` from `csv`, complete, and its JSON file's contents; raises UserError as `read`.

    The file may be of a longer run, whose beginning `run` is.
    """
    records, details = beginning(run, *read(csv, rebuild))
    require_complete(csv, records, run, rebuild)
    return records, details


def beginning(run: Run, records: pd.DataFrame, details: dict) -> tuple[pd.DataFrame, dict]:
    """The records and details of a run without those after the last step of `run`."""
    if not run.of_steps:
        return records, details
    diverged = {seed: step for seed, step in details.get("diverged_seeds", {}).items() if step <= run.steps}
    seconds = [point for point in details.get("train_seconds_at", ()) if point[0] <= run.steps]
    cut = {"train_seconds_at": seconds, "train_seconds": seconds[-1][1]} if seconds else {}
    return records[records["step"] <= run.steps], details | cut | {"diverged_seeds": diverged}


def require_complete(csv: Path, records: pd.DataFrame, run: Run, rebuild: str) -> None:
    """Raises UserError unless `records`, of the file `csv`, have the seeds of `run` and reach its last step."""
    seeds, by_seed = set(records["seed"]), records.groupby("seed")["step"]
    fault = ""
    if missing := sorted(set(run.seeds) - seeds):
        fault = f"lacks {len(missing)} of {len(run.seeds)} seeds, the first is {missing[0]}"
    elif seeds != set(run.seeds):
        fault = "has seeds that the plan does not ask for"
    elif by_seed.size().nunique() > 1 or not (by_seed.max() == run.steps).all():
        fault = f"does not reach step {run.steps} for every seed"
    if fault:
        raise UserError(f"{csv} {fault}; rebuild it with `{rebuild}`.")


def read_states(csv: Path, rebuild: str) -> pd.DataFrame:
    """The sampled states of the run of `csv`: seed, step, source, x, y; raises UserError as `read`."""
    content = read_bytes(beside(csv, "states.csv"), read_details(csv, rebuild).get("states_sha256"), rebuild)
    return pd.read_csv(io.BytesIO(content))


def require_policy(csv: Path, rebuild: str) -> bool:
    """Whether there is a policy beside `csv`, a by-product that nothing asks for; raises UserError if it is damaged."""
    path = beside(csv, "policy.npz")
    if path.exists() and checksum(path.read_bytes()) != read_details(csv, rebuild).get("policy_sha256"):
        raise UserError(f"{path} is not the policy of this run; delete it, or rebuild it with `{rebuild}`.")
    return path.exists()


def read(csv: Path, rebuild: str) -> tuple[pd.DataFrame, dict]:
    """The records of `csv`, and the contents of its JSON file.

    Raises:
      UserError: naming a file that is missing or damaged, and `rebuild`, the command that rebuilds it.
    """
    details = read_details(csv, rebuild)
    return pd.read_csv(io.BytesIO(read_bytes(csv, details["csv_sha256"], rebuild))), details


def read_training(csv: Path) -> tuple[pd.DataFrame, dict]:
    """As `read`, of a run that was trained by hand or published; raises UserError for any other file."""
    remedy = "name a CSV that `python -m dyna_td train` wrote"
    if not csv.exists():
        raise UserError(f"there is no {csv}: {remedy}.")
    with naming_damage(csv, remedy):
        records, details = read(csv, "python -m dyna_td train")
    is_tidy = list(records.columns) == COLUMNS and not records.duplicated(COLUMNS[:3]).any()
    is_tidy = is_tidy and all(records[name].dtype.kind in kinds for name, kinds in _KINDS.items())
    if not is_tidy or not describes_run(details) or not isinstance(details.get("run"), str):
        raise UserError(f"{csv} is not the results of one run: name a CSV that `python -m dyna_td train` wrote.")
    return records, details


def read_bytes(path: Path, expected: str | None, rebuild: str) -> bytes:
    """The contents of a file, unpacked, if its checksum is the `expected` one; raises UserError as `read`."""
    content = _read_bytes(path, rebuild)
    if path.suffix == ".xz":
        try:
            content = lzma.decompress(content)
        except DAMAGE:
            content = b""  # fits no checksum
    if checksum(content) != expected:
        raise UserError(f"{path} is truncated or was changed after it was written; rebuild it with `{rebuild}`.")
    return content


def read_details(csv: Path, rebuild: str) -> dict:
    """The contents of the JSON file beside `csv`; raises UserError as `read`."""
    path = beside(csv, "json")
    try:
        content = _read_bytes(path, rebuild)
        details = json.loads(content)
        details["csv_sha256"].encode()
        if not is_intact(content):
            raise ValueError("its checksum differs")
    except DAMAGE as error:
        raise UserError(f"{path} is damaged; rebuild it with `{rebuild}`.") from error
    return details


def _read_bytes(path: Path, rebuild: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; make it with `{rebuild}`.") from error


@contextmanager
def naming_damage(path: Path, remedy: str) -> Iterator[None]:
    """Turns any damage that the block finds in `path` into one sentence, a UserError, that ends with `remedy`."""
    try:
        yield
    except OSError as error:
        # For a damaged file, too, libraries may raise an OSError, without a number.
        fault = f"cannot read {path}: {error.strerror}" if error.strerror else f"{path} is damaged"
        raise UserError(f"{fault}; {remedy}.") from error
    except DAMAGE as error:
        raise UserError(f"{path} is damaged; {remedy}.") from error


def require_whole(csv: Path) -> None:
    """Raises ValueError if a table was cut within its last row, as by a full disk; for `naming_damage`."""
    if csv.suffix == ".csv" and not csv.read_bytes().endswith(b"\n"):
        raise ValueError(f"{csv} ends within a row")


def pipeline_command(job: str, scale: str) -> str:
    """The command that makes the pipeline rebuild the CSV of a run or sweep, even if it seems up to date."""
    return f"snakemake --force {run_csv(scale, job)} --config scale={scale}"
