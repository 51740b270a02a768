"""The tables that a figure is drawn from: curves.csv and, if it shows sampled states, states.csv beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.plan.planned import Figure
from dyna_td.records import published
from dyna_td.records.results import naming_damage, require_whole

CURVES = ("step", "mean", "standard_error", "low95", "high95", "iqm", "n")
STATES = ("seed", "x", "y")
REMEDY = "delete it if it is there, then make the figure again"


@dataclass(frozen=True)
class Tables:
    """The tables of a figure.

    Attributes:
      curves: panel, curve, step, metric, mean, standard_error, n and more; one row per evaluation of a curve.
      states: panel, curve, seed, x, y; empty in a figure that shows no states.
      scale: the one that made them.
      published: the published `curves`, if the scale is another one.
      path: the file of `curves`.
      remedy: how to get a missing row back.
    """

    curves: pd.DataFrame = field(default_factory=pd.DataFrame)
    states: pd.DataFrame = field(default_factory=pd.DataFrame)
    scale: str = published.SCALE
    published: pd.DataFrame | None = None
    path: Path = Path("curves.csv")
    remedy: str = REMEDY

    def rows(self, panel: str, curve: str, metric: str) -> pd.DataFrame:
        """The rows of one metric of one curve, by step; a UserError if there are none."""
        rows = curve_rows(self.curves, panel, curve, metric)
        if rows.empty:
            compares = OVER_LEARNING in metric or LESS in metric
            first = f"name `baselines` of panel {panel} in its YAML file, or " if compares else ""
            where = f"{self.path}, panel {panel}, curve {curve}"
            raise UserError(f"{where}: there is no row of the metric {metric}; {first}{self.remedy}.")
        return rows

    def last(self, panel: str, curve: str, metric: str) -> pd.Series:
        """The last of `rows`."""
        return self.rows(panel, curve, metric).iloc[-1]

    def states_of(self, panel: str, curve: str) -> pd.DataFrame:
        """The states of all seeds that one panel may show."""
        return self.states[(self.states["panel"] == panel) & (self.states["curve"] == curve)]


def curve_rows(curves: pd.DataFrame, panel: str, curve: str, metric: str) -> pd.DataFrame:
    """The rows of one metric of one curve, by step."""
    wanted = (curves["panel"] == panel) & (curves["curve"] == curve) & (curves["metric"] == metric)
    return curves[wanted].sort_values("step")


def read_tables(figure: Figure, path: Path, scale: str, remedy: str = REMEDY) -> Tables:
    """Reads the curves.csv of `figure` at `path`, and states.csv if it shows states; published ones are compressed.

    Raises:
      UserError: a file is missing or damaged.
    """
    curves, states = read_table(path, remedy), pd.DataFrame()
    if figure.runs_with_states:
        packed = path.with_name("states.csv.xz")
        states = read_table(packed if packed.exists() else path.with_name("states.csv"), remedy, STATES)
    behind = published.curves_csv(figure.name)
    faint = read_table(behind, published.remedy(behind)) if scale != published.SCALE and behind.exists() else None
    return Tables(curves, states, scale, faint, path, remedy)


def read_table(path: Path, remedy: str = REMEDY, numbers: Sequence[str] = CURVES) -> pd.DataFrame:
    """Reads a curves.csv or states.csv with columns of `numbers`; raises UserError if it is missing or damaged."""
    with naming_damage(path, remedy):
        require_whole(path)
        table = pd.read_csv(path, dtype=dict.fromkeys(("panel", "curve", "metric"), str))
        table[["panel", "curve", *numbers]].astype(dict.fromkeys(numbers, float))  # none is lost, none has words
        return table
