"""Shared by both benchmarks: a table is written whole or not at all."""

from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.records.files import require_writable, write


def require_table(path: Path | None, repeats: int) -> None:
    """Checks the options before anything is measured.

    Raises:
      UserError: if nothing would be measured, or if nothing can be written at `path`.
    """
    if repeats < 1:
        raise UserError(f"--repeats is {repeats}, expected at least 1.")
    if path:
        require_writable(path)


def write_table(path: Path | None, rows: list[dict] | pd.DataFrame) -> None:
    """Writes a CSV of `rows`, if a path is given."""
    if path:
        write(path, pd.DataFrame(rows).to_csv(index=False, float_format="%.4g", lineterminator="\n"))
