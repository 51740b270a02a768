"""The tables that a figure is drawn from: curves.csv and, if it shows sampled states, states.csv beside it."""

import io
import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dyna_td.errors import UserError

REBUILD = "; delete it and run the same snakemake target again to rebuild it."

_KEYS = ("panel", "curve")
_CURVE_NUMBERS = ("step", "mean", "standard_error", "n")
_STATE_NUMBERS = ("seed", "x", "y")


class Tables(NamedTuple):
    """What a figure shows.

    Attributes:
      curves: panel, curve, step, metric, mean, standard_error, n and more; one row an evaluation of a curve.
      states: panel, curve, seed, x, y; None in a figure that shows no states.
    """

    curves: pd.DataFrame
    states: pd.DataFrame | None = None


def read_curves(path: Path) -> pd.DataFrame:
    """Reads a curves.csv; text in the place of a number becomes NaN.

    Raises:
      UserError: if the file is missing, cut off in a line or damaged, or lacks a column.
    """
    return _read(path, (*_KEYS, "metric"), _CURVE_NUMBERS)


def states_beside(path: Path) -> Path:
    """The path of the states beside the curves.csv `path`; published ones are compressed."""
    packed = path.with_name("states.csv.xz")
    return packed if packed.exists() else path.with_name("states.csv")


def read_states(path: Path) -> pd.DataFrame:
    """Reads a states.csv, like `read_curves`."""
    return _read(path, _KEYS, _STATE_NUMBERS)


def _read(path: Path, texts: tuple[str, ...], numbers: tuple[str, ...]) -> pd.DataFrame:
    try:
        content = path.read_bytes()
        content = lzma.decompress(content) if path.suffix == ".xz" else content
        if not content.endswith(b"\n"):
            raise UserError(f"{path} does not end with a complete line, so it was cut off{REBUILD}")
        table = pd.read_csv(io.BytesIO(content), dtype=dict.fromkeys(texts, str))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): run the figure's snakemake target first."
        ) from error
    except (ValueError, lzma.LZMAError) as error:  # pandas' parser errors and wrong encodings are all ValueErrors
        raise UserError(f"{path} is not a CSV file of {path.stem}{REBUILD}") from error
    missing = [column for column in (*texts, *numbers) if column not in table.columns]
    if missing:
        raise UserError(f"{path} has no column {', '.join(missing)}{REBUILD}")
    return table.assign(**{column: pd.to_numeric(table[column], errors="coerce") for column in numbers})


def curve_rows(curves: pd.DataFrame, panel: str, curve: str, metric: str) -> pd.DataFrame:
    """The rows of one metric of one curve, by step."""
    wanted = (curves["panel"] == panel) & (curves["curve"] == curve) & (curves["metric"] == metric)
    return curves[wanted].sort_values("step")


def require_curve(curves: pd.DataFrame, panel: str, curve: str, metric: str, path: Path) -> pd.DataFrame:
    """The same rows, checked: at least one, all finite. Without seeds there is no mean, with one no standard error.

    Raises:
      UserError: naming `path`, the panel and the curve.
    """
    rows = curve_rows(curves, panel, curve, metric)
    where = f"{path}, panel {panel}, curve {curve}"
    if rows.empty:
        raise UserError(f"{where}: there is no row of the metric {metric}{REBUILD}")
    seeds = rows["n"]  # those that did not diverge
    defined = rows.assign(
        mean=rows["mean"].mask(seeds == 0, 0.0), standard_error=rows["standard_error"].mask(seeds <= 1, 0.0)
    )
    if not np.isfinite(defined[list(_CURVE_NUMBERS)]).all(axis=None):
        raise UserError(f"{where}: {', '.join(_CURVE_NUMBERS)} must be finite numbers in every row{REBUILD}")
    return rows


def state_rows(states: pd.DataFrame, panel: str, curve: str) -> pd.DataFrame:
    """The states of all seeds that one panel may show."""
    return states[(states["panel"] == panel) & (states["curve"] == curve)]


def require_states(states: pd.DataFrame, panel: str, curve: str, shown: int, seeds: int, path: Path) -> None:
    """Checks these rows: seed `shown` among at least `seeds` seeds, equally many states each, in the unit square.

    Raises:
      UserError: naming `path`, the panel and the curve.
    """
    rows = state_rows(states, panel, curve)
    where = f"{path}, panel {panel}, curve {curve}"
    counts = rows.groupby("seed").size()
    if shown not in counts.index:
        raise UserError(f"{where}: there is no state of seed {shown}{REBUILD}")
    if rows["seed"].isna().any() or not (rows["x"].between(0, 1) & rows["y"].between(0, 1)).all():
        raise UserError(f"{where}: seed must be a number, and x and y from 0 to 1, in every row{REBUILD}")
    if counts.nunique() > 1:
        raise UserError(
            f"{where}: its seeds must have equally many states, not {counts.min()} to {counts.max()}{REBUILD}"
        )
    if len(counts) < seeds:
        raise UserError(f"{where}: there are states of {len(counts)} seeds, not of {seeds}{REBUILD}")
