"""The published results, `reference/`, all of the paper's scale, and how they are read.

`reference/README.md` lists the files.
"""

import io
import json
import lzma
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline import finished, results
from dyna_td.pipeline.remedies import naming_damage
from dyna_td.pipeline.scores import Measured
from dyna_td.settings import Run

DIRECTORY = Path("reference")


def curves_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The curves of a published figure."""
    return Path(directory) / figure / "curves.csv"


def states_csv(figure: str, directory: Path = DIRECTORY) -> Path:
    """The sampled states of a published figure, compressed, if it shows any."""
    return Path(directory) / figure / "states.csv.xz"


def stored(name: str, directory: Path = DIRECTORY) -> Path:
    """The place of a run's file: `<run>.json`, or a table such as `<run>.csv`, which is compressed."""
    return Path(directory) / "runs" / (f"{name}.xz" if name.endswith(".csv") else name)


def require_published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the published figures, in the paper's order, studies last; a UserError if nothing is published."""
    if not Path(directory).is_dir():
        raise UserError(
            f"{directory} holds no published results: run this in the project's root folder, or get them with "
            "`git checkout reference`."
        )
    names = {path.parent.name for path in Path(directory).glob("*/curves.csv")}
    return sorted(names, key=lambda name: (int(re.sub(r"\D", "", name) or sys.maxsize), name))


def again(path: Path) -> str:
    """The remedy for a damaged file."""
    return f"get it again with `git checkout {path}`, or publish it with `make reference`"


def read_compressed(path: Path) -> bytes:
    """The contents of a compressed table; a UserError if it is missing or damaged."""
    with naming_damage(path, again(path)):
        return lzma.decompress(path.read_bytes())


def read_details(job: str, directory: Path = DIRECTORY) -> dict | None:
    """The contents of the JSON file of a run or of a sweep, `<run>.selection`; None if it is not published."""
    path = stored(f"{job}.json", directory)
    if not path.exists():
        return None
    with naming_damage(path, again(path)):
        details = json.loads(path.read_bytes())
        if not isinstance(details["settings"], dict):
            raise ValueError("no settings")
        return details


def read(name: str, directory: Path = DIRECTORY) -> bytes:
    """A run's table or policy (see `stored`); a UserError if it is missing, damaged or not its JSON file's."""
    path = stored(name, directory)
    job, kind = re.split(r"\.(states\.csv|csv|policy\.npz)$", name)[:2]
    with naming_damage(path, again(path)):
        content = path.read_bytes() if kind == "policy.npz" else read_compressed(path)
    key = f"{kind.partition('.')[0]}_sha256"
    if results.checksum(content) != (read_details(job, directory) or {}).get(key):
        raise UserError(f"{path} is not what the JSON file beside it tells of; {again(path)}.")
    return content


def reader(directory: Path = DIRECTORY) -> Callable[[Run], Measured | None]:
    """A function that reads the published results of a run once, None where there are none; see `scores.reader`."""
    require_published(directory)

    @cache
    def read_run(run: Run) -> Measured | None:
        details = read_details(run.name, directory)
        if details is None:
            return None
        csv = f"{run.name}.csv"
        records = pd.read_csv(io.BytesIO(read(csv, directory)))
        results.require_complete(stored(csv, directory), records, run, "make reference")
        sources = "published" if finished.agrees(run, details, code=False) else "other"
        states = f"{run.name}.states.csv" if "states_sha256" in details else None
        read_states = (lambda: pd.read_csv(io.BytesIO(read(states, directory)))) if states else None
        return Measured(run, records, details, "make reference", sources, read_states)

    return read_run
