"""The published results, `reference/`, all of the paper's scale, and how they are read.

`reference/README.md` lists the files.
"""

import io
import re
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence import finished
from dyna_td.evidence.scores import Measured
from dyna_td.pipeline import results
from dyna_td.pipeline.published import (
    again,
    curves_csv,
    read,
    read_compressed,
    read_details,
    read_records,
    states_csv,
    stored,
)
from dyna_td.settings import Run

__all__ = ["again", "curves_csv", "read", "read_compressed", "read_details", "states_csv", "stored"]

DIRECTORY = Path("reference")


def require_published(directory: Path = DIRECTORY) -> list[str]:
    """The names of the published figures, in the paper's order, studies last; a UserError if nothing is published."""
    if not Path(directory).is_dir():
        raise UserError(
            f"{directory} holds no published results: run this in the project's root folder, or get them with "
            "`git checkout reference`."
        )
    names = {path.parent.name for path in Path(directory).glob("*/curves.csv")}
    return sorted(names, key=lambda name: (int(re.sub(r"\D", "", name) or sys.maxsize), name))


def reader(directory: Path = DIRECTORY) -> Callable[[Run], Measured | None]:
    """A function that reads the published results of a run once, None where there are none; see `scores.reader`."""
    require_published(directory)

    @cache
    def read_run(run: Run) -> Measured | None:
        details = read_details(run.name, directory)
        if details is None:
            return None
        records = read_records(run.name, directory)
        results.require_complete(stored(f"{run.name}.csv", directory), records, run, "make reference")
        sources = "published" if finished.is_as_planned(run, details) else "other"
        states = f"{run.name}.states.csv" if "states_sha256" in details else None
        read_states = (lambda: pd.read_csv(io.BytesIO(read(states, directory)))) if states else None
        return Measured(run, records, details, "make reference", sources, read_states)

    return read_run
