"""Panels of dots in rows, for one number per row."""

from dataclasses import dataclass, field
from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from drawing.panels import METRIC_LABELS, Panel, seeds_words
from drawing.style import GREY, CurveStyle, Look
from drawing.tables import Tables, curve_rows
from dyna_td.evidence.aggregate import OVER_LEARNING

RATES = ("learning rate 0.001", "the rate that a sweep chose")  # meanings of full and hollow dots
SCORES = "Dots: means over seeds of the mean over learning. Bars: 95% intervals over seeds."


@dataclass
class Dots(Panel):
    """One dot per metric of the panel's one curve: its mean over seeds at the end, plus and minus a standard error.

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

    metric_axis: ClassVar[str] = "x"
    margins: ClassVar[tuple[float, float]] = (0.4, 0.6)  # rows, below the last one and above the first one

    @property
    def shown(self) -> list[str]:
        """The keys of the rows that have a dot in this panel."""
        return list(self.rows)

    def place(self, key: str) -> tuple[str, str]:
        """The curve and the metric of a row."""
        return self.curves[0], key

    def needs(self) -> list[tuple[str, str, str]]:
        return [(self.letter, *self.place(key)) for key in self.shown]

    def row(self, tables: Tables, key: str) -> pd.Series:
        """The last row of curves.csv for the row `key`."""
        return curve_rows(tables.curves, self.letter, *self.place(key)).iloc[-1]

    def half_width(self, row: pd.Series) -> float:
        """The length of a dot's bar to either side, with at least two seeds."""
        return row["standard_error"]

    def labels(self, tables: Tables) -> list[str]:
        """The rows' names, with the number of seeds where not all have a number."""
        seeds = {key: self.row(tables, key)["n"] for key in self.rows}
        fewer = {key: f" ({count:.0f} seeds)" for key, count in seeds.items() if count < max(seeds.values())}
        return [style.label + fewer.get(key, "") for key, style in self.rows.items()]

    def draw(self, axes: Axes, tables: Tables) -> None:
        heights = {key: -place for place, key in enumerate(self.rows)}
        for key in self.shown:
            row = self.row(tables, key)
            look: Look = {"color": self.rows[key].colour, "label": self.rows[key].label}
            bar = self.half_width(row) if row["n"] > 1 else 0.0
            axes.errorbar(row["mean"], heights[key], xerr=bar, fmt="o", markersize=4, **look)
        if self.line is not None:
            axes.axvline(self.line, color="black", linewidth=0.6, linestyle=":")
        axes.set_xscale(self.x_scale)
        axes.set_yticks(list(heights.values()), self.labels(tables))
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(1 - len(self.rows) - self.margins[0], self.margins[1])
        axes.set_xlabel(self.x_label)

    def notes(self) -> tuple[str, ...]:
        return ("Dots: means over seeds. Bars: one standard error to either side.",)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        row = self.row(tables, next(iter(self.rows)))
        return f"{row['n']:.0f} seed{'s' if row['n'] > 1 else ''}", f"after {row['step']:,.0f} environment steps"


def few_ticks(axes: Axes, metric: str) -> None:
    """Four ticks or so; distances, which are small, in ten-thousandths, as 4.0 x 10^-4."""
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if metric.startswith("distance_"):
        axes.xaxis.set_major_formatter(lambda value, _: f"{1e4 * value:.3g}")
        axes.set_xlabel(rf"{axes.get_xlabel()}, $\times 10^{{-4}}$", fontsize=axes.xaxis.label.get_fontsize())


@dataclass
class Levels(Dots):
    """One dot per curve, its mean over learning with a 95% interval over seeds; curves may share a row.

    For crashes, the dot is their number at the last step of the shortest curve.

    Attributes:
      places: by curve, the key of its row and whether its dot is hollow; by default each curve has its own row.
      meanings: those of full and of hollow dots; empty if the panel has full dots alone.
      is_named: whether the rows have names.
    """

    places: dict[str, tuple[str, bool]] = field(default_factory=dict, kw_only=True)
    meanings: tuple[str, ...] = field(default=(), kw_only=True)
    is_named: bool = field(default=True, kw_only=True)

    @property
    def height(self) -> float:
        return 0.75 + 0.19 * len(self.rows)

    @property
    def shown(self) -> list[str]:
        return list(self.curves)

    @property
    def is_total(self) -> bool:
        """Whether the metric counts up, and so has no mean over learning."""
        return self.metric == "crashes"

    def place(self, key: str) -> tuple[str, str]:
        return key, self.metric if self.is_total else self.metric + OVER_LEARNING

    def last_rows(self, tables: Tables) -> dict[str, pd.Series]:
        """The row of each curve at the last step of the shortest one, by its key."""
        rows = {curve: curve_rows(tables.curves, self.letter, *self.place(curve)) for curve in self.curves}
        end = min(of_curve["step"].max() for of_curve in rows.values())
        return {curve: of_curve[of_curve["step"] <= end].iloc[-1] for curve, of_curve in rows.items()}

    def half_width(self, row: pd.Series) -> float:
        return row["high95"] - row["mean"]

    def draw(self, axes: Axes, tables: Tables) -> None:
        heights = {key: -place for place, key in enumerate(self.rows)}
        last = self.last_rows(tables)
        for curve, row in last.items():
            key, is_hollow = self.places.get(curve, (curve, False))
            mates = [other for other in self.curves if self.places.get(other, (other, False))[0] == key]
            height = heights[key] + (0.17 * (len(mates) - 1) - 0.34 * mates.index(curve))
            colour = self.rows[key].colour
            bar = self.half_width(row) if row["n"] > 1 else 0.0
            look: Look = {"color": colour, "mfc": "white" if is_hollow else colour, "markersize": 4, "fmt": "o"}
            axes.errorbar(row["mean"], height, xerr=bar, **look)
        for height in heights.values():
            axes.axhline(height, color="#EEEEEE", linewidth=0.8, zorder=0)
        axes.set_yticks(list(heights.values()), [style.label if self.is_named else "" for style in self.rows.values()])
        axes.tick_params(axis="y", labelsize=7, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_ylim(0.4 - len(self.rows), 0.6)
        label = METRIC_LABELS.get(self.metric, self.metric.replace("_", " "))
        end = max(row["step"] for row in last.values())  # the last of the shortest curve
        axes.set_xlabel(f"crashes in {end:,.0f} driving steps" if self.is_total else label, fontsize=8)
        few_ticks(axes, self.metric)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        return (seeds_words(pd.DataFrame(self.last_rows(tables).values())["n"]),)

    def legend(self) -> tuple[CurveStyle, ...]:
        return full_and_hollow(*self.meanings) if self.meanings else ()

    def notes(self) -> tuple[str, ...]:
        return ("Crashes: means over seeds with 95% intervals.",) if self.is_total else (SCORES,)


def full_and_hollow(full: str, hollow: str) -> tuple[CurveStyle, CurveStyle]:
    """A legend for dots of both kinds."""
    return CurveStyle(full, GREY, marker="o"), CurveStyle(hollow, GREY, marker="o", is_hollow=True)
