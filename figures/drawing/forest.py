"""Forest plots: rows of dots with bars. All pictures of this kind are drawn here."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from drawing.panels import Drawing, metric_label, seeds_words
from drawing.style import GREY, LOOKS, CurveStyle, Look, style_of
from drawing.tables import Tables
from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.evidence.statistics import Interval
from dyna_td.plan.planned import Panel

SCORES = "Dots: means over learning, then over seeds. Bars: 95% intervals over seeds."
COUNTS = "Crashes: means over seeds with 95% intervals."


class Dot(NamedTuple):
    """A dot with its bar; the middle of the first row has the height 0, that of the second -1."""

    height: float
    bar: Interval
    style: CurveStyle


def interval(row: pd.Series, unit: float = 1.0) -> Interval:
    """The mean of a row of curves.csv with its 95% interval, divided by `unit`; a single seed has no interval."""
    names = ("mean", "low95", "high95") if row["n"] > 1 else ("mean",) * 3
    return Interval(*(row[name] / unit for name in names))


def hollow_at_zero(height: float, bar: Interval, style: CurveStyle) -> Dot:
    """A dot that is hollow if its bar holds 0."""
    return Dot(height, bar, replace(style, is_hollow=not bar.excludes_zero))


def draw_dot(axes: Axes, dot: Dot, width: float | None = None) -> None:
    """Draws a dot with its bar, `width` points wide."""
    (mean, low, high), style = dot.bar, dot.style
    look: Look = {"color": style.colour, "mfc": "white" if style.is_hollow else style.colour, "markersize": 4}
    bar = [[mean - low], [high - mean]]
    axes.errorbar(mean, dot.height, xerr=bar, fmt=style.marker or "o", elinewidth=width, **look)


@dataclass
class Forest(Drawing):
    """Rows of dots.

    Attributes:
      names: of the rows, by the heights of their middles, from top to bottom.
      dots: in the order of drawing.
      x_label: meaning and unit of the x-axis.
      line: the position of a thin line across all rows.
      ticks: how many there are at most; matplotlib decides if 0.
      tick_format: the words of a tick, by its number; by default matplotlib's.
      inches: the height of the panel; by default it follows from the number of rows.
      guide: grey lines have this distance below each row; None for no lines.
      width: of the bars, in points.
      repeats_names: whether its rows have names even if those at its left are the same.
    """

    names: dict[float, str]
    dots: list[Dot]
    x_label: str
    line: float | None = None
    ticks: int = 0
    tick_format: Callable[[float, float], str] | None = None
    inches: float = 0.0
    guide: float | None = 0.0
    width: float | None = None
    repeats_names: bool = False

    @property
    def height(self) -> float:
        return self.inches or 0.75 + 0.19 * len(self.names)

    def has_names_of(self, left: Drawing) -> bool:
        """Whether the panel at its left names the same rows, so that its own names can be left out."""
        return isinstance(left, Forest) and self.names == left.names and not self.repeats_names

    def draw(self, axes: Axes) -> None:
        for dot in self.dots:
            draw_dot(axes, dot, self.width)
        if self.guide is not None:
            for height in self.names:
                axes.axhline(height - self.guide, color="#EEEEEE", linewidth=0.8, zorder=0)
        if self.line is not None:
            axes.axvline(self.line, color="black", linewidth=0.6, linestyle=":")
        axes.set_yticks(list(self.names), list(self.names.values()))
        axes.tick_params(axis="y", labelsize=7, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_ylim(min(self.names) - 0.6, 0.6)
        if self.ticks:
            axes.xaxis.set_major_locator(MaxNLocator(self.ticks))
        if self.tick_format:
            axes.xaxis.set_major_formatter(self.tick_format)
        axes.set_xlabel(self.x_label, fontsize=8)


def levels(
    panel: Panel,
    tables: Tables,
    styles: dict[str, CurveStyle],
    baseline: str = "",
    names: Sequence[str] = (),
    x_label: str = "",
    says_steps: bool = False,
    **options,
) -> Forest:
    """A dot for each curve of `panel`: its mean over learning, or the total of a count.

    Args:
      panel: the panel.
      tables: those of its figure.
      styles: the look of each curve's dot; curves with one label share a row.
      baseline: dots are differences from this curve, seed by seed, which is itself at 0.
      names: of the rows from top to bottom, if there are more than labels.
      x_label: of the x-axis, by default the metric's.
      says_steps: whether the line under the picture has the last step.
      options: attributes of the forest.
    """
    names = names or list(dict.fromkeys(style.label for style in styles.values()))
    x_label, notes = x_label or metric_label(panel.metric), SCORES
    is_count = panel.metric == "crashes"  # it has no mean over learning
    end = "" if is_count else LESS + baseline if baseline else OVER_LEARNING
    rows = {curve: tables.rows(panel.key, curve, panel.metric + end) for curve in styles if curve != baseline}
    if is_count:  # up to the end of the shortest curve
        steps = min(of_curve["step"].max() for of_curve in rows.values())
        rows = {curve: of_curve[of_curve["step"] <= steps] for curve, of_curve in rows.items()}
        x_label, notes = f"{panel.metric} in {steps:,.0f} driving steps\nleft is better", COUNTS
    elif panel.metric == "test_rmse":
        x_label += "; left is better"
    if panel.metric.startswith("distance_"):  # small numbers
        options["tick_format"] = lambda value, _: f"{1e4 * value:.3g}"
        x_label = rf"{x_label}, $\times 10^{{-4}}$"
    last = {curve: of_curve.iloc[-1] for curve, of_curve in rows.items()}
    dots = []
    for curve, style in styles.items():
        mates = [other for other in styles if styles[other].label == style.label]
        height = -names.index(style.label) + (0.17 * (len(mates) - 1) - 0.34 * mates.index(curve))
        dots.append(Dot(height, interval(last[curve]) if curve in last else Interval(0.0, 0.0, 0.0), style))
    declared = {"ticks": 4, "notes": (notes,), "facts": seeds_and_steps(last.values())[: 1 + says_steps], **options}
    return Forest(panel.key, panel.title, in_rows(names), dots, x_label, **declared)


def in_rows(names: Iterable[str]) -> dict[float, str]:
    """The names of rows, one below the other, by height."""
    return {-float(row): name for row, name in enumerate(names)}


def seeds_and_steps(rows: Iterable[pd.Series]) -> tuple[str, str]:
    """The numbers of seeds and the last step of rows of curves.csv, in words."""
    table = pd.DataFrame(rows)
    return seeds_words(table["n"]), f"{table['step'].max():,.0f} environment steps"


def full_and_hollow(full: str, hollow: str) -> tuple[CurveStyle, CurveStyle]:
    """A legend for dots of both kinds."""
    return CurveStyle(full, GREY, marker="o"), CurveStyle(hollow, GREY, marker="o", is_hollow=True)


RATES = full_and_hollow("learning rate 0.001", "the rate that a sweep chose")


def styles_but_for(panel: Panel, setting: str) -> dict[str, CurveStyle]:
    """The style of each curve: curves that differ in no more than `setting` share one.

    It is that of the first of these curves that has an agent's name, or else of the first.
    """
    found: dict[tuple, list[str]] = {}
    for key, run in panel.curves.items():
        kind = type(run.settings).__dataclass_fields__[setting]
        found.setdefault((run.agent, replace(run.settings, **{setting: kind.default})), []).append(key)
    return {
        key: style_of(next((mate for mate in mates if mate in LOOKS), mates[0]))
        for mates in found.values()
        for key in mates
    }
