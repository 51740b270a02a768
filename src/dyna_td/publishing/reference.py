"""The published results, `reference/`, all of the paper's scale, and how they are read.

runs/<run>.csv.xz, <run>.json             every evaluation of every seed, and what made them
runs/<run>.selection.csv.xz and .json     the sweep of the run's learning rates, if there was one
runs/<run>.states.csv.xz                  the sampled states, if a figure shows them
<figure>/curves.csv, states.csv.xz        the tables of a figure, and its picture (.png, .pdf)
claims.csv, claims.md, readings.csv       the verdicts on the paper's claims by these runs
"""

import io
import json
import lzma
import re
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.scores import Measured
from dyna_td.pipeline import finished, results
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.settings import Run

DIRECTORY = Path("reference")


def curves_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The curves of a published figure."""
    return Path(directory) / figure / "curves.csv"


def states_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The sampled states of a published figure, compressed, if it shows any."""
    return Path(directory) / figure / "states.csv.xz"


def claims_csv(directory: Path = DIRECTORY) -> Path:
    """The verdicts on the paper's claims by the published runs; `claims.md` beside it is the same to read."""
    return Path(directory) / "claims.csv"


def stored(name: str, directory: Path = DIRECTORY) -> Path:
    """The place of a file of a run: `<run>.json`, or `<run>.csv`, which is compressed."""
    return Path(directory) / "runs" / f"{name}{'.xz' if name.endswith('.csv') else ''}"


def published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the figures that are there, in the paper's order; studies come last."""
    names = {path.parent.name for path in Path(directory).glob("*/curves.csv")}
    return sorted(names, key=lambda name: (int(re.sub(r"\D", "", name) or sys.maxsize), name))


def require_published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the figures that are there; a UserError if there are none."""
    there = published(directory)
    if not there:
        raise UserError(f"{directory} holds no published figure: get them with `git checkout reference`.")
    return there


def require_runs(directory: Path = DIRECTORY) -> None:
    """Raises UserError if no run is published."""
    if not (Path(directory) / "runs").is_dir():
        raise UserError(f"{directory} holds no published runs: get them with `git checkout reference`.")


def again(path: Path) -> str:
    """The remedy for a damaged file."""
    return f"get it again with `git checkout {path}`, or publish it with `make reference`"


def read_compressed(path: Path) -> bytes:
    """The contents of a compressed table; a UserError if it is missing or damaged."""
    with told_if_damaged(path, again(path)):
        return lzma.decompress(path.read_bytes())


def read_details(run: str, directory: Path = DIRECTORY) -> dict | None:
    """The contents of the JSON file of a run, or of a sweep; None if it is not published."""
    path = stored(f"{run}.json", directory)
    if not path.exists():
        return None
    with told_if_damaged(path, again(path)):
        details = json.loads(path.read_bytes())
        if not isinstance(details["settings"], dict):
            raise ValueError("no settings")
        return details


def read_files(names: Iterable[str], directory: Path = DIRECTORY) -> dict[str, bytes]:
    """The contents of a run's files by name (see `stored`), the tables as their JSON files tell of them.

    Raises:
      UserError: for a file that is missing or damaged.
    """
    contents = {}
    for name in names:
        path = stored(name, directory)
        with told_if_damaged(path, again(path)):
            contents[name] = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    checksums = {}
    for name in [name for name in contents if name.endswith(".json")]:
        path = stored(name, directory)
        with told_if_damaged(path, again(path)):
            details, stem = json.loads(contents[name]), name.removesuffix(".json")
            checksums |= {f"{stem}.csv": details["csv_sha256"], f"{stem}.states.csv": details.get("states_sha256")}
    for name in contents.keys() & checksums.keys():
        if results.checksum(contents[name]) != checksums[name]:
            path = stored(name, directory)
            raise UserError(f"{path} is not what the JSON file beside it tells of; {again(path)}.")
    return contents


def reader(directory: Path = DIRECTORY) -> Callable[[Run], Measured | None]:
    """A function that reads the published results of a run, None where it is not published; each is read once.

    It raises UserError for results that are damaged, or that lack what the plan asks.
    """
    require_runs(directory)

    @cache
    def read(run: Run) -> Measured | None:
        details = read_details(run.name, directory)
        if details is None:
            return None
        csv = f"{run.name}.csv"
        records = pd.read_csv(io.BytesIO(read_files([f"{run.name}.json", csv], directory)[csv]))
        results.require_complete(stored(csv, directory), records, run, "make reference")
        differing = finished.differences(run, details, finished.asked_of(run, details))
        return Measured(run, records, details, "make reference", "other" if differing else "published")

    return read


def write_compressed(path: Path, content: bytes) -> None:
    """Compresses `content`, unless it is there already: another version of the library may make other bytes of it."""
    if path.exists():
        try:
            if read_compressed(path) == content:
                return
        except UserError:
            pass  # damaged: it is written anew
    with write_whole(path, "wb") as file:
        file.write(lzma.compress(content, preset=9))
