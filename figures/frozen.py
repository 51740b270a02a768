"""Frozen Q, beyond the paper: where long chains go, what a constant y costs, and how loose Theorem 3 is."""

import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pandas as pd
from maps import Heatmap, share_colours
from matplotlib.axes import Axes
from panels import AnyPanel
from rendering import render
from style import CURVES, FOREST_GREEN, CurveStyle
from tables import Tables, curve_rows, require_curve

from envs.grid_world import GRID_WALLS

AGENT = "dyna_td_frozen"

# From top to bottom: what is drawn, by the end of its metric's name.
KINDS = {
    "ideal": CurveStyle(r"draws from $|\delta|$", FOREST_GREEN),
    "langevin": CurveStyle("Langevin rule", "black"),
    "langevin_constant_y": CurveStyle("the same, y constant", "gray"),
    "langevin_small_steps": CurveStyle("Langevin, a / 100", "black"),
    "algorithm_4": CurveStyle("Algorithm 4", "blue"),
    "released": CurveStyle("released rule", "darkorange"),
}
UNIFORM = {"uniform": CurveStyle("uniform", "slategray")}
COSINES = {
    "cosine_uniform": CurveStyle("mean, uniform states", "black"),
    "cosine_queue": CurveStyle("mean, queue's states", "blue"),
    "cosine_positive_uniform": CurveStyle("above 0, uniform", "black"),
    "cosine_positive_queue": CurveStyle("above 0, queue", "blue"),
    "cosine_close_uniform": CurveStyle("above 0.9, uniform", "black"),
    "cosine_close_queue": CurveStyle("above 0.9, queue", "blue"),
}
SIDES = {
    "bound_left": CurveStyle(r"$|p - \hat p|$", "black"),
    "bound_right": CurveStyle("Theorem 3", "blue"),
}


def with_prefix(prefix: str, styles: dict[str, CurveStyle]) -> dict[str, CurveStyle]:
    """The same styles, by metric."""
    return {prefix + kind: style for kind, style in styles.items()}


@dataclass(frozen=True)
class Readings(AnyPanel):
    """One dot a metric: its mean over seeds when training ends, with a standard error either way.

    Attributes:
      letter: the panel's key in curves.csv, also printed before the title.
      title: what is measured.
      label: meaning and unit of the x-axis.
      readings: label and colour of each metric, from top to bottom.
      wanted: a thin line at the value that the paper's claim has, if there is one.
      x_scale: matplotlib's name of the axis' scale.
      quoted: a metric that the heading quotes, with {} for it.
    """

    letter: str
    title: str
    label: str
    readings: dict[str, CurveStyle]
    wanted: float | None = None
    x_scale: str = "linear"
    quoted: str = ""

    curves: ClassVar[tuple[str, ...]] = (AGENT,)

    @property
    def metric(self) -> str:
        """The panel's own, which is the first."""
        return next(iter(self.readings))

    def style_table(self) -> dict[str, CurveStyle]:
        return CURVES | {AGENT: CurveStyle("Dyna-TD, learned model", "black")}

    def check(self, tables: Tables, path: Path) -> None:
        super().check(tables, path)
        for metric in filter(None, (*self.readings, self.quoted)):
            require_curve(tables.curves, self.letter, AGENT, metric, path)

    def heading(self, tables: Tables) -> str:
        return self.title.format(f"{self.row(tables, self.quoted)['mean']:,.0f}") if self.quoted else self.title

    def row(self, tables: Tables, metric: str) -> pd.Series:
        """The row of curves.csv at the last step."""
        return curve_rows(tables.curves, self.letter, AGENT, metric).iloc[-1]

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Dots with bars in rows, with how many seeds have a number if not all, and what is claimed as a line."""
        labels, seeds = [], max(self.row(tables, metric)["n"] for metric in self.readings)
        for place, (metric, style) in enumerate(self.readings.items()):
            row = self.row(tables, metric)
            bar = row["standard_error"] if row["n"] > 1 else 0.0
            labels.append(style.label if row["n"] == seeds else f"{style.label} ({row['n']:.0f} seeds)")
            axes.errorbar(row["mean"], -place, xerr=bar, fmt="o", markersize=4, color=style.colour, label=style.label)
        if self.wanted is not None:
            axes.axvline(self.wanted, color="black", linewidth=0.6, linestyle=":")
        axes.set_xscale(self.x_scale)
        axes.set_yticks([-place for place in range(len(self.readings))], labels)
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(0.6 - len(self.readings), 0.6)
        axes.set_xlabel(self.label)

    def describe(self, tables: Tables) -> str:
        row = self.row(tables, self.metric)
        return f"{row['n']:.0f} seed{'s' if row['n'] > 1 else ''}, after {row['step']:,.0f} environment steps"


states_of = partial(Heatmap, curve=AGENT, walls=GRID_WALLS, summary=r"fits $|\delta|^\beta$, $\beta$ = {}")
PANELS = (
    states_of("a", r"draws from $|\delta|$", "beta_ideal"),
    states_of("b", "Langevin rule", "beta_langevin"),
    states_of("c", "Algorithm 4", "beta_algorithm_4"),
    states_of("d", "released rule", "beta_released"),
    Readings("e", r"exponent of $|\delta|^\beta$", r"$\beta$ that fits best", with_prefix("beta_", KINDS), 1.0),
    Readings("f", r"distance to $|\delta|$", "total variation", with_prefix("variation_", KINDS | UNIFORM)),
    Readings("g", "gradient with y constant", "cosine, or share of states", COSINES, 1.0),
    Readings("h", "bound {} times as large", "mean over 50x50 states", SIDES, x_scale="log", quoted="bound_ratio"),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=4, finish=share_colours)


if __name__ == "__main__":
    sys.exit(main())
