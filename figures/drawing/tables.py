"""The tables that a figure is drawn from: curves.csv and, if it shows sampled states, states.csv beside it."""

from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dyna_td.records.results import naming_damage, require_intact

Place = tuple[str, str, str]  # panel, curve and metric of rows in curves.csv
REMEDY = "delete it if it is there, then make the figure again"


class Tables(NamedTuple):
    """The tables of a figure.

    Attributes:
      curves: panel, curve, step, metric, mean, standard_error, n and more; one row per evaluation of a curve.
      states: panel, curve, seed, x, y; None in a figure that shows no states.
    """

    curves: pd.DataFrame
    states: pd.DataFrame | None = None


def read_table(path: Path, remedy: str = REMEDY) -> pd.DataFrame:
    """Reads a curves.csv or states.csv; raises UserError if it is missing or damaged."""
    require_intact(path, remedy)
    with naming_damage(path, remedy):
        return pd.read_csv(path, dtype=dict.fromkeys(("panel", "curve", "metric"), str))


def states_beside(path: Path) -> Path:
    """The path of the states beside the curves.csv `path`; published ones are compressed."""
    packed = path.with_name("states.csv.xz")
    return packed if packed.exists() else path.with_name("states.csv")


def curve_rows(curves: pd.DataFrame, panel: str, curve: str, metric: str) -> pd.DataFrame:
    """The rows of one metric of one curve, by step."""
    wanted = (curves["panel"] == panel) & (curves["curve"] == curve) & (curves["metric"] == metric)
    return curves[wanted].sort_values("step")


def state_rows(states: pd.DataFrame, panel: str, curve: str) -> pd.DataFrame:
    """The states of all seeds that one panel may show."""
    return states[(states["panel"] == panel) & (states["curve"] == curve)]
