"""Forest plots: rows of dots with bars. All pictures of this kind are drawn here."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from drawing.panels import METRIC_LABELS, Drawing, seeds_words
from drawing.style import GREY, LOOKS, Colour, CurveStyle
from drawing.tables import Place, Tables, curve_rows
from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.plan.planned import Panel

SCORES = "Dots: means over seeds of the mean over learning. Bars: 95% intervals over seeds."


@dataclass(frozen=True)
class Dot:
    """A dot of the row with the key `row`: the place of its number in curves.csv, or None for 0, and its look.

    `offset` is the height above the row's middle, in rows.
    """

    row: Any
    place: Place | None
    colour: Colour
    offset: float = 0.0
    marker: str = "o"
    is_hollow: bool = False


def draw_dot(
    axes: Axes, y: float, bar: tuple[float, float, float], colour: Colour, is_hollow: bool = False, **look
) -> None:
    """Draws a dot with its bar: the mean and both ends."""
    mean, low, high = bar
    face = "white" if is_hollow else colour
    look = {"fmt": "o", "color": colour, "mfc": face, "markersize": 4, **look}
    axes.errorbar(mean, y, xerr=[[mean - low], [high - mean]], **look)


@dataclass
class Forest(Drawing):
    """Rows of dots. A bar is a 95% interval; a single seed has none.

    Attributes:
      x_label: meaning and unit of the x-axis; by default the metric's.
      rows: label and colour of each row, from top to bottom, by its key.
      dots: in the order of drawing.
      line: the position of a thin line across all rows, or the key of a row through whose dot it goes.
      x_scale: matplotlib's name of the axis' scale.
      ticks: how many there are at most; matplotlib decides if 0.
      key: a legend, for example `full_and_hollow`.
      inches: the height of the panel; by default it follows from the number of rows.
      heights: of the rows' middles, by key; by default 0, -1, -2, ...
      margins: rows below the last one and above the first one.
      guide: grey lines have this distance below each row; None for no lines.
      width: of the bars, in points.
      unit: what numbers of curves.csv are divided by.
      is_hollow_at_zero: whether a bar that holds 0 makes its dot hollow.
      quoted: places in curves.csv of the numbers that replace {} in title and label.
      steps: words for the line under the picture, with {} for the last step.
      words: what dots and bars are.
      shares_names: whether its rows have no names if those at its left are the same.
    """

    x_label: str = ""
    rows: dict[Any, CurveStyle] = field(default_factory=dict)
    dots: list[Dot] = field(default_factory=list)
    line: float | str | None = field(default=None, kw_only=True)
    x_scale: str = field(default="linear", kw_only=True)
    ticks: int = field(default=0, kw_only=True)
    key: tuple[CurveStyle, ...] = field(default=(), kw_only=True)
    inches: float = field(default=0.0, kw_only=True)
    heights: dict[Any, float] = field(default_factory=dict, kw_only=True)
    margins: tuple[float, float] = field(default=(0.6, 0.6), kw_only=True)
    guide: float | None = field(default=0.0, kw_only=True)
    width: float | None = field(default=None, kw_only=True)
    unit: float = field(default=1.0, kw_only=True)
    is_hollow_at_zero: bool = field(default=False, kw_only=True)
    quoted: tuple[Place, ...] = field(default=(), kw_only=True)
    steps: str = field(default="", kw_only=True)
    words: tuple[str, ...] = field(default=(SCORES,), kw_only=True)
    shares_names: bool = field(default=True, kw_only=True)
    is_named: bool = field(default=True, init=False)

    metric_axis: ClassVar[str] = "x"

    def __post_init__(self):
        """Places rows without heights one below the other."""
        self.heights = self.heights or {key: -float(index) for index, key in enumerate(self.rows)}

    @property
    def height(self) -> float:
        return self.inches or 0.75 + 0.19 * len(self.rows)

    def needs(self) -> list[Place]:
        return [*self.quoted, *(dot.place for dot in self.dots if dot.place)]

    def numbers(self, tables: Tables) -> dict[Dot, pd.Series]:
        """The last row of curves.csv of each dot but those at 0; of a count, at the end of the shortest curve."""
        rows = {dot: curve_rows(tables.curves, *dot.place) for dot in self.dots if dot.place}
        if is_count(self.metric):
            end = min(of_dot["step"].max() for of_dot in rows.values())
            rows = {dot: of_dot[of_dot["step"] <= end] for dot, of_dot in rows.items()}
        return {dot: of_dot.iloc[-1] for dot, of_dot in rows.items()}

    def bar(self, numbers: pd.Series) -> tuple[float, float, float]:
        """The mean and the ends of its bar."""
        mean, low, high = (numbers[name] / self.unit for name in ("mean", "low95", "high95"))
        return (mean, low, high) if numbers["n"] > 1 else (mean, mean, mean)

    def find_names(self, left: Drawing) -> None:
        """Leaves out the rows' names, if the panel at the left has them already."""
        labels = [style.label for style in left.rows.values()] if isinstance(left, Forest) else []
        self.is_named = not self.shares_names or labels != [style.label for style in self.rows.values()]

    def row_labels(self, tables: Tables) -> list[str]:
        """The rows' names."""
        return [style.label if self.is_named else "" for style in self.rows.values()]

    def quote(self, text: str, tables: Tables) -> str:
        """`text` with the quoted numbers."""
        found = [curve_rows(tables.curves, *place)["mean"].iloc[-1] for place in self.quoted]
        return text.replace("{}", ", ".join(f"{mean:,.0f}" for mean in found))

    def heading(self, tables: Tables) -> str:
        return self.quote(self.panel.title, tables)

    def draw(self, axes: Axes, tables: Tables) -> None:
        numbers = self.numbers(tables)
        bars = {dot: self.bar(numbers[dot]) if dot in numbers else (0.0, 0.0, 0.0) for dot in self.dots}
        for dot, bar in bars.items():
            is_hollow = dot.is_hollow or (self.is_hollow_at_zero and bar[1] <= 0 <= bar[2])
            height = self.heights[dot.row] + dot.offset
            draw_dot(axes, height, bar, dot.colour, is_hollow, fmt=dot.marker, elinewidth=self.width)
        if self.guide is not None:
            for height in self.heights.values():
                axes.axhline(height - self.guide, color="#EEEEEE", linewidth=0.8, zorder=0)
        if self.line is not None:
            line = next((bar[0] for dot, bar in bars.items() if dot.row == self.line), self.line)
            axes.axvline(float(line), color="black", linewidth=0.6, linestyle=":")
        axes.set_xscale(self.x_scale)
        axes.set_yticks(list(self.heights.values()), self.row_labels(tables))
        axes.tick_params(axis="y", labelsize=7, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_ylim(min(self.heights.values()) - self.margins[0], self.margins[1])
        label = self.quote(self.x_label, tables) or METRIC_LABELS.get(self.metric, self.metric.replace("_", " "))
        if is_count(self.metric):
            label = f"{self.metric} in {max(row['step'] for row in numbers.values()):,.0f} driving steps"
        if self.ticks:
            axes.xaxis.set_major_locator(MaxNLocator(self.ticks))
        if self.metric.startswith("distance_"):  # small numbers
            axes.xaxis.set_major_formatter(lambda value, _: f"{1e4 * value:.3g}")
            label = rf"{label}, $\times 10^{{-4}}$"
        axes.set_xlabel(label, fontsize=8)

    def legend(self) -> tuple[CurveStyle, ...]:
        return self.key

    def notes(self) -> tuple[str, ...]:
        return ("Crashes: means over seeds with 95% intervals.",) if is_count(self.metric) else self.words

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = pd.DataFrame(self.numbers(tables).values())
        return tuple(filter(None, (seeds_words(rows["n"]), self.steps.format(f"{rows['step'].max():,.0f}"))))


def is_count(metric: str) -> bool:
    """Whether the metric counts up, and so has no mean over learning."""
    return metric == "crashes"


def levels(
    panel: Panel,
    looks: dict[str, CurveStyle],
    rows: dict[str, str] | None = None,
    hollow: Collection[str] = (),
    baseline: str = "",
    **options,
) -> Forest:
    """A dot for each curve of `panel`: its mean over learning, or the total of a count.

    Args:
      panel: the panel.
      looks: label and colour of each row.
      rows: the row of each curve; by default each curve has its own.
      hollow: the curves with hollow dots.
      baseline: dots are differences from this curve, seed by seed, which is itself at 0.
      options: attributes of the forest.
    """
    rows = {curve: rows[curve] if rows else curve for curve in panel.curves}
    end = "" if is_count(panel.metric) else LESS + baseline if baseline else OVER_LEARNING
    mates = {row: [curve for curve in rows if rows[curve] == row] for row in rows.values()}
    dots = [
        Dot(
            row,
            None if curve == baseline else (panel.key, curve, panel.metric + end),
            looks[row].colour,
            0.17 * (len(mates[row]) - 1) - 0.34 * mates[row].index(curve),
            is_hollow=curve in hollow,
        )
        for curve, row in rows.items()
    ]
    return Forest(panel, rows=looks, dots=dots, **{"ticks": 4, **options})


def full_and_hollow(full: str, hollow: str) -> tuple[CurveStyle, CurveStyle]:
    """A legend for dots of both kinds."""
    return CurveStyle(full, GREY, marker="o"), CurveStyle(hollow, GREY, marker="o", is_hollow=True)


RATES = full_and_hollow("learning rate 0.001", "the rate that a sweep chose")


def rows_but_for(panel: Panel, setting: str) -> dict[str, str]:
    """The row of each curve: curves that differ in no more than `setting` share one.

    A row has the key of the first of its curves that has an agent's name, or else of the first.
    """
    found: dict[Any, list[str]] = {}
    for key, run in panel.curves.items():
        kind = type(run.settings).__dataclass_fields__[setting]
        found.setdefault((run.agent, replace(run.settings, **{setting: kind.default})), []).append(key)
    names = {keys[0]: next((key for key in keys if key in LOOKS), keys[0]) for keys in found.values()}
    return {key: names[keys[0]] for keys in found.values() for key in keys}
