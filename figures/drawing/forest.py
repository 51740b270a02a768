"""Forest plots: rows of dots with bars, one number for each dot. All pictures of this kind are drawn here."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from drawing.panels import METRIC_LABELS, Drawing, seeds_words
from drawing.style import GREY, LOOKS, Colour, CurveStyle, Look
from drawing.tables import Tables, curve_rows
from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.plan.planned import Panel

RATES = ("learning rate 0.001", "the rate that a sweep chose")  # meanings of full and hollow dots
SCORES = "Dots: means over seeds of the mean over learning. Bars: 95% intervals over seeds."


@dataclass(frozen=True)
class Mark:
    """A dot with its bar: the key of its row, its number, the ends of the bar, and the look.

    `offset` is the height above the row's middle, in rows.
    """

    row: Hashable
    mean: float
    low: float
    high: float
    colour: Colour
    offset: float = 0.0
    marker: str = "o"
    is_hollow: bool = False

    @classmethod
    def of(cls, row: Hashable, numbers: pd.Series, colour: Colour, **look) -> "Mark":
        """The mark of a row of curves.csv with its 95% interval; a single seed has no bar."""
        low, high = (numbers["low95"], numbers["high95"]) if numbers["n"] > 1 else (numbers["mean"],) * 2
        return cls(row, numbers["mean"], low, high, colour, **look)


def draw_marks(axes: Axes, marks: Iterable[Mark], heights: Mapping[Any, float], size: float = 4, **look) -> None:
    """Draws each mark at the height of its row, given by key."""
    for mark in marks:
        face = "white" if mark.is_hollow else mark.colour
        axes.errorbar(
            mark.mean,
            heights[mark.row] + mark.offset,
            xerr=[[mark.mean - mark.low], [mark.high - mark.mean]],
            **{"fmt": mark.marker, "color": mark.colour, "mfc": face, "markersize": size, **look},
        )


@dataclass
class Forest(Drawing):
    """Rows of dots; a subclass says by `marks` which dots there are.

    Attributes:
      x_label: meaning and unit of the x-axis.
      rows: label and colour of each row, from top to bottom, by its key.
      line: the place of a thin line across all rows, if there is one.
      x_scale: matplotlib's name of the axis' scale.
      meanings: those of full and of hollow dots; empty if there are full dots alone.
      is_named: whether the rows have names.
    """

    x_label: str = ""
    rows: dict[Any, CurveStyle] = field(default_factory=dict)
    line: float | None = None
    x_scale: str = "linear"
    meanings: tuple[str, ...] = field(default=(), kw_only=True)
    is_named: bool = field(default=True, kw_only=True)

    metric_axis: ClassVar[str] = "x"
    margins: ClassVar[tuple[float, float]] = (0.6, 0.6)  # rows, below the last one and above the first one
    guides: ClassVar[float | None] = 0.0  # grey lines at this distance below each row; None for none
    bar: ClassVar[Look] = {}  # keyword arguments of the bars

    @property
    def heights(self) -> dict[Any, float]:
        """The height of each row's middle."""
        return {key: -float(place) for place, key in enumerate(self.rows)}

    def marks(self, tables: Tables) -> list[Mark]:
        """The dots, in the order of drawing."""
        raise NotImplementedError

    def row_labels(self, tables: Tables) -> list[str]:
        """The rows' names."""
        return [style.label if self.is_named else "" for style in self.rows.values()]

    def draw(self, axes: Axes, tables: Tables) -> None:
        heights = self.heights
        draw_marks(axes, self.marks(tables), heights, **self.bar)
        for height in heights.values() if self.guides is not None else ():
            axes.axhline(height - (self.guides or 0.0), color="#EEEEEE", linewidth=0.8, zorder=0)
        if self.line is not None:
            axes.axvline(self.line, color="black", linewidth=0.6, linestyle=":")
        axes.set_xscale(self.x_scale)
        axes.set_yticks(list(heights.values()), self.row_labels(tables))
        axes.tick_params(axis="y", labelsize=7, length=0)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_ylim(min(heights.values()) - self.margins[0], self.margins[1])
        axes.set_xlabel(self.x_label, fontsize=8)

    def legend(self) -> tuple[CurveStyle, ...]:
        return full_and_hollow(*self.meanings) if self.meanings else ()

    def notes(self) -> tuple[str, ...]:
        return (SCORES,)


@dataclass
class Levels(Forest):
    """One dot per curve, its mean over learning with a 95% interval over seeds; curves may share a row.

    For crashes, the dot is their number at the last step of the shortest curve. With `baseline`, dots are differences
    from that curve, seed by seed, and the curve itself is at 0.

    Attributes:
      places: by curve, the key of its row and whether its dot is hollow; by default each curve has its own row.
      baseline: the key of a curve.
    """

    places: dict[str, tuple[str, bool]] = field(default_factory=dict, kw_only=True)
    baseline: str = field(default="", kw_only=True)

    @property
    def height(self) -> float:
        return 0.75 + 0.19 * len(self.rows)

    @property
    def is_total(self) -> bool:
        """Whether the metric counts up, and so has no mean over learning."""
        return self.metric == "crashes"

    def place(self, curve: str) -> tuple[str, str]:
        """The curve and the metric of its numbers in curves.csv."""
        if self.is_total:
            return curve, self.metric
        return curve, self.metric + (LESS + self.baseline if self.baseline not in ("", curve) else OVER_LEARNING)

    def needs(self) -> list[tuple[str, str, str]]:
        return [(self.letter, *self.place(curve)) for curve in self.curves]

    def last_rows(self, tables: Tables) -> dict[str, pd.Series]:
        """The row of each curve at the last step of the shortest one, by its key."""
        rows = {curve: curve_rows(tables.curves, self.letter, *self.place(curve)) for curve in self.curves}
        end = min(of_curve["step"].max() for of_curve in rows.values())
        last = {curve: of_curve[of_curve["step"] <= end].iloc[-1] for curve, of_curve in rows.items()}
        return last | ({self.baseline: pd.Series({"mean": 0.0, "n": 1})} if self.baseline else {})

    def marks(self, tables: Tables) -> list[Mark]:
        found = []
        for curve, numbers in self.last_rows(tables).items():
            key, is_hollow = self.places.get(curve, (curve, False))
            mates = [other for other in self.curves if self.places.get(other, (other, False))[0] == key]
            offset = 0.17 * (len(mates) - 1) - 0.34 * mates.index(curve)
            found.append(Mark.of(key, numbers, self.rows[key].colour, offset=offset, is_hollow=is_hollow))
        return found

    def draw(self, axes: Axes, tables: Tables) -> None:
        if not self.x_label:
            self.x_label = METRIC_LABELS.get(self.metric, self.metric.replace("_", " "))
        if self.is_total:  # up to the last step of the shortest curve
            end = max(row["step"] for row in self.last_rows(tables).values())
            self.x_label = f"crashes in {end:,.0f} driving steps"
        super().draw(axes, tables)
        few_ticks(axes, self.metric)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = self.last_rows(tables)
        return (seeds_words(pd.DataFrame(row for curve, row in rows.items() if curve != self.baseline)["n"]),)

    def notes(self) -> tuple[str, ...]:
        return ("Crashes: means over seeds with 95% intervals.",) if self.is_total else super().notes()


def few_ticks(axes: Axes, metric: str) -> None:
    """Four ticks or so; distances, which are small, in ten-thousandths, as 4.0 x 10^-4."""
    axes.xaxis.set_major_locator(MaxNLocator(4))
    if metric.startswith("distance_"):
        axes.xaxis.set_major_formatter(lambda value, _: f"{1e4 * value:.3g}")
        axes.set_xlabel(rf"{axes.get_xlabel()}, $\times 10^{{-4}}$", fontsize=axes.xaxis.label.get_fontsize())


def full_and_hollow(full: str, hollow: str) -> tuple[CurveStyle, CurveStyle]:
    """A legend for dots of both kinds."""
    return CurveStyle(full, GREY, marker="o"), CurveStyle(hollow, GREY, marker="o", is_hollow=True)


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
