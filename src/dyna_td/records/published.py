"""The published results, `reference/`, all of the paper's scale; `reference/README.md` lists the files."""

import io
from functools import cache
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.records import results
from dyna_td.records.files import ROOT

DIRECTORY = ROOT / "reference"
HERE = Path("reference")  # below the current folder, where commands write
SCALE = "paper"  # the only one that is evidence


def require_published(directory: Path = HERE) -> None:
    """Raises UserError if nothing is published in `directory`."""
    if not Path(directory).is_dir():
        raise UserError(
            f"{directory} holds no published results: run this in the project's root folder, or get them with "
            "`git checkout reference`."
        )


def figures(directory: Path = DIRECTORY) -> set[str]:
    """The names of all published figures and studies."""
    return {path.parent.name for path in Path(directory).glob("*/curves.csv")}


def runs() -> set[str]:
    """The names of all published runs and sweeps."""
    folder = DIRECTORY / "runs"
    return {path.relative_to(folder).as_posix().removesuffix(".json") for path in folder.rglob("*.json")}


def curves_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The curves of a published figure."""
    return Path(directory) / figure / "curves.csv"


def states_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The sampled states of a published figure, compressed, if it shows any."""
    return Path(directory) / figure / "states.csv.xz"


def stored(job: str, kind: str, directory: Path = DIRECTORY) -> Path:
    """The place of a file of a run or sweep, of the kind json, policy.npz, csv or states.csv; tables are compressed."""
    return Path(directory) / "runs" / f"{job}.{kind}{'.xz' if kind.endswith('csv') else ''}"


def remedy(path: Path) -> str:
    """The remedy for a damaged file."""
    return f"get it again with `git checkout {path}`, or publish it with `make reference`"


def table(path: Path) -> pd.DataFrame:
    """A published table, such as `curves_csv`; a UserError if it is missing or damaged."""
    with results.naming_damage(path, remedy(path)):
        results.require_whole(path)
        return pd.read_csv(path)


def read_details(job: str, directory: Path = DIRECTORY) -> dict | None:
    """The contents of the JSON file of a run or of a sweep, `<run>.selection`; None if it is not published."""
    path = stored(job, "json", directory)
    return _read_details(path, path.stat().st_mtime_ns) if path.exists() else None


@cache
def _read_details(path: Path, time: int) -> dict:
    return results.read_details(path.with_suffix(".csv"), f"git checkout {path}")


def read(job: str, kind: str, directory: Path = DIRECTORY) -> bytes:
    """A file (see `stored`); a UserError if a table or policy is missing, damaged or does not fit its JSON file."""
    path = stored(job, kind, directory)
    if kind == "json":
        return path.read_bytes()
    expected = (read_details(job, directory) or {}).get(results.checksum_key(kind))
    return results.read_bytes(path, expected, f"git checkout {path}")


def read_records(run: str, directory: Path = DIRECTORY, last_seed: int | None = None) -> pd.DataFrame:
    """The records of a published run: seed, step, metric, value; raises UserError as `read`.

    With `last_seed`, later seeds are left out, because some runs have a thousand.
    """
    content = read(run, "csv", directory)
    end = -1 if last_seed is None else content.find(f"\n{last_seed + 1},".encode())  # rows are sorted by seed
    return pd.read_csv(io.BytesIO(content if end < 0 else content[: end + 1]))
