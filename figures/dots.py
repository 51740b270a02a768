"""Panels of dots in rows, for numbers that training ends with."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from panels import Panel
from style import CurveStyle
from tables import Tables, curve_rows, require_curve


@dataclass
class Dots(Panel):
    """One dot a metric of the panel's one curve: its mean over seeds at the end, with a standard error either way.

    Attributes:
      x_label: meaning and unit of the x-axis.
      rows: label and colour of each row, from top to bottom; the keys are metrics unless a subclass says otherwise.
      line: the place of a thin line across all rows, if there is one.
      x_scale: matplotlib's name of the axis' scale.
    """

    x_label: str = ""
    rows: dict[str, CurveStyle] = field(default_factory=dict)
    line: float | None = None
    x_scale: str = "linear"

    margins: ClassVar[tuple[float, float]] = (0.4, 0.6)  # rows, below the last one and above the first one

    @property
    def shown(self) -> list[str]:
        """The keys of the rows that have a dot in this panel."""
        return list(self.rows)

    def place(self, key: str) -> tuple[str, str]:
        """The curve and the metric of a row."""
        return self.curves[0], key

    def check(self, tables: Tables, path: Path) -> None:
        super().check(tables, path)
        for key in self.shown:
            require_curve(tables.curves, self.letter, *self.place(key), path)

    def row(self, tables: Tables, key: str) -> pd.Series:
        """The last row of curves.csv for the row `key`."""
        return curve_rows(tables.curves, self.letter, *self.place(key)).iloc[-1]

    def half_width(self, row: pd.Series) -> float:
        """The length of a dot's bar to either side, of at least two seeds."""
        return row["standard_error"]

    def labels(self, tables: Tables) -> list[str]:
        """The rows' names, with the number of seeds where not all have a number."""
        seeds = {key: self.row(tables, key)["n"] for key in self.rows}
        fewer = {key: f" ({count:.0f} seeds)" for key, count in seeds.items() if count < max(seeds.values())}
        return [style.label + fewer.get(key, "") for key, style in self.rows.items()]

    def draw(self, axes: Axes, tables: Tables) -> None:
        heights = {key: -place for place, key in enumerate(self.rows)}
        for key in self.shown:
            row, look = self.row(tables, key), {"color": self.rows[key].colour, "label": self.rows[key].label}
            bar = self.half_width(row) if row["n"] > 1 else 0.0
            axes.errorbar(row["mean"], heights[key], xerr=bar, fmt="o", markersize=4, **look)
        if self.line is not None:
            axes.axvline(self.line, color="black", linewidth=0.6, linestyle=":")
        axes.set_xscale(self.x_scale)
        axes.set_yticks(list(heights.values()), self.labels(tables))
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(1 - len(self.rows) - self.margins[0], self.margins[1])
        axes.set_xlabel(self.x_label)

    def describe(self, tables: Tables) -> str:
        row = self.row(tables, next(iter(self.rows)))
        return f"{row['n']:.0f} seed{'s' if row['n'] > 1 else ''}, after {row['step']:,.0f} environment steps"
