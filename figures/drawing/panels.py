"""Drawings of panels: what every picture needs, and lines; maps.py, scenes.py and forest.py hold other kinds.

The plan has the panels. The rules here add what follows from a panel's metric and environment.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import pandas as pd
from dyna_td.envs import KNOWN
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from drawing.style import PANEL_SIZE, CurveStyle, Look, style_of, styles_of
from drawing.tables import Place, Tables, curve_rows
from dyna_td.evidence.aggregate import SMOOTHED, SMOOTHING
from dyna_td.plan.planned import Panel
from dyna_td.runs.registry import is_supervised
from dyna_td.theory.hitting_times import CLOSED_FORMS

METRIC_LABELS = {
    "test_rmse": "testing RMSE",
    "train_rmse": "training RMSE",
    "return": "evaluation return",
    "crashes": "crashes so far",
    "speed": "average speed (m/s)",
    "distance_on_policy": "distance to $p^*$\n(probability per cell)",
    "distance_uniform": "distance to $p^*$\n(probability per cell)",
    "entropy_10": "entropy (nats, at most 4.6)",
    "train_seconds": "training seconds per seed",
    "gap_function": "$f(x)$",
    "loss": "objective",
    "hitting_time_ratio": "hitting time, square / cubic",
}
LINES = "Lines: means over seeds. Bands: one standard error to either side."
SMOOTHED_METRICS = ("return", "speed")  # evaluations of single episodes, which vary much


@dataclass
class Drawing(ABC):
    """One pair of axes, which shows a panel of the plan.

    Attributes:
      panel: what is drawn; its key is printed before the title if there are other panels.
      styles: the looks of curves in this panel alone, see style.py.
      comparable: panels with the same key share their metric's axis, so that eyes can compare them; empty for none.
      decorate: draws more on the finished axes.
    """

    panel: Panel
    styles: dict[str, CurveStyle] = field(default_factory=dict, kw_only=True)
    comparable: str = field(default="", kw_only=True)
    decorate: Callable[[Axes], None] | None = field(default=None, kw_only=True)

    shows_states: ClassVar[bool] = False
    metric_axis: ClassVar[str] = "y"

    @property
    def letter(self) -> str:
        """The panel's key in curves.csv."""
        return self.panel.key

    @property
    def metric(self) -> str:
        """The rows of curves.csv to draw."""
        return self.panel.metric

    @property
    def curves(self) -> tuple[str, ...]:
        """Keys in curves.csv, in the legend's order."""
        return tuple(self.panel.curves)

    @property
    def height(self) -> float:
        """Inches, with title, axis labels and legend."""
        return PANEL_SIZE[1]

    @abstractmethod
    def draw(self, axes: Axes, tables: Tables) -> None:
        """Draws everything but the title and the legend."""

    def needs(self) -> list[Place]:
        """The rows without which nothing can be drawn."""
        return [(self.letter, curve, self.metric) for curve in self.curves]

    def heading(self, tables: Tables) -> str:
        """The title, with facts about the data if the panel states any."""
        return self.panel.title

    def facts(self, tables: Tables) -> tuple[str, ...]:
        """The data's seeds and steps, for the line under the picture; nothing if there are no data."""
        return ()

    def notes(self) -> tuple[str, ...]:
        """What lines, bands and markers mean, for the line under the picture."""
        return ()

    def style_table(self) -> dict[str, CurveStyle]:
        """The style of every curve, in drawing order; a label of the YAML file replaces the agent's name."""
        named = {key: style_of(key, self.panel.curves[key].agent, label) for key, label in self.panel.labels.items()}
        return styles_of(self.curves, named | self.styles)

    def legend(self) -> tuple[CurveStyle, ...]:
        """The styles that a legend explains."""
        return ()

    def diverged_seeds(self, tables: Tables, curve: str) -> list[float]:
        """The seeds of `curve` whose training diverged."""
        return sorted(curve_rows(tables.curves, self.letter, curve, "diverged_seed")["mean"])


@dataclass(frozen=True)
class ReferenceLine:
    """A thin line to compare curves with: another metric of the curve `curve`, without a band."""

    curve: str
    metric: str
    style: CurveStyle


@dataclass
class Lines(Drawing):
    """Curves over time, or closed forms.

    Attributes:
      x_label: meaning and unit of `step`.
      x_metric: the metric whose mean replaces `step` on the x-axis, under its own label.
      y_limits: lower and upper end of the y-axis, None where the data decide.
      x_scale, y_scale: matplotlib's names of the axes' scales.
      smoothed: whether the moving average over `aggregate.SMOOTHING` evaluations is drawn, which looks back only.
      references: lines that are no curves of the paper.
      published: by curve, rows of the published curves.csv, whose mean is a faint line behind the fresh one.
    """

    x_label: str = "environment steps"
    x_metric: str = ""
    y_limits: Sequence[float | None] = (None, None)
    x_scale: str = "linear"
    y_scale: str = "linear"
    smoothed: bool = False
    references: tuple[ReferenceLine, ...] = ()
    published: dict[str, pd.DataFrame] = field(default_factory=dict, kw_only=True)
    clock: str = ""  # what the times of a panel against training seconds are worth
    is_too_short: bool = False  # whether fresh curves have too few evaluations to be smoothed

    @property
    def trained(self) -> bool:
        """Whether the curves have seeds and steps; closed forms have neither."""
        return not self.panel.closed_form

    @property
    def curves(self) -> tuple[str, ...]:
        if self.trained:
            return super().curves
        return tuple(CLOSED_FORMS[self.panel.closed_form]()["curve"].unique())

    @property
    def drawn_metric(self) -> str:
        """The drawn metric's name in curves.csv."""
        return f"{self.metric}{SMOOTHED}" if self.smoothed else self.metric

    def legend(self) -> tuple[CurveStyle, ...]:
        styles = self.style_table()
        return (*(styles[curve] for curve in self.curves), *(line.style for line in self.references))

    def needs(self) -> list[Place]:
        metrics = filter(None, (self.drawn_metric, self.x_metric))
        own = [(self.letter, curve, metric) for metric in metrics for curve in self.curves]
        return own + [(self.letter, line.curve, line.metric) for line in self.references]

    def rows(self, tables: Tables, curve: str) -> pd.DataFrame:
        """The rows of one curve of this panel, by step, with the position on the x-axis as `x`."""
        rows = curve_rows(tables.curves, self.letter, curve, self.drawn_metric)
        if not self.x_metric:
            return rows.assign(x=rows["step"])
        x_rows = curve_rows(tables.curves, self.letter, curve, self.x_metric)
        return rows.assign(x=rows["step"].map(dict(zip(x_rows["step"], x_rows["mean"], strict=True))))

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Each curve as a line of its mean inside a band of one standard error to either side."""
        styles = self.style_table()
        order = list(styles)
        for curve in self.curves:
            rows, style = self.rows(tables, curve), styles[curve]
            mean, error = rows["mean"], rows["standard_error"]
            look: Look = {"color": style.colour, "zorder": 2 + order.index(curve) / len(order)}
            axes.plot(rows["x"], mean, linestyle=style.linestyle, label=style.label, **look)
            if self.trained:
                axes.fill_between(rows["x"], mean - error, mean + error, alpha=0.2, linewidth=0, **look)
        for curve, rows in self.published.items():
            look = {"color": styles[curve].colour, "linestyle": styles[curve].linestyle, "alpha": 0.35, "zorder": 1.8}
            axes.plot(rows["step"], rows["mean"], linewidth=0.9, label=f"_published {curve}", **look)
        for line in self.references:
            rows, style = curve_rows(tables.curves, self.letter, line.curve, line.metric), line.style
            look = {"color": style.colour, "linestyle": style.linestyle, "linewidth": 0.9, "zorder": 1.9}
            axes.plot(rows["step"], rows["mean"], label=style.label, **look)
        self._label_axes(axes)

    def _label_axes(self, axes: Axes) -> None:
        axes.set_xlabel(METRIC_LABELS[self.x_metric] if self.x_metric else self.x_label)
        axes.set_ylabel(METRIC_LABELS.get(self.metric, self.metric.replace("_", " ")))
        axes.set_xscale(self.x_scale)
        axes.set_yscale(self.y_scale)
        axes.set_ylim(*self.y_limits)
        axes.margins(x=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
        for axis, scale in ((axes.xaxis, self.x_scale), (axes.yaxis, self.y_scale)):
            if scale == "log":
                _label_log_axis(axis)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        if not self.trained:
            return ("closed form: nothing is trained",)
        rows = pd.concat([self.rows(tables, curve) for curve in self.curves])
        smoothing = f"smoothed over {SMOOTHING} evaluations" if self.smoothed or self.is_too_short else ""
        behind = {int(rows["n"].max()) for rows in self.published.values()}
        faint = f"faint: published, {max(behind)} seeds" if behind else ""
        if self.is_too_short:
            smoothing, faint = "", f"{faint}, {smoothing}" if behind else ""
        steps = f"{rows['step'].max():,.0f} {self.x_label}"
        return tuple(filter(None, (seeds_words(rows["n"]), steps, smoothing, faint, self.clock)))

    def notes(self) -> tuple[str, ...]:
        return (LINES, *([smoothing_words(SMOOTHING)] if self.smoothed else [])) if self.trained else ()

    def fit_smoothing(self, tables: Tables) -> None:
        """Turns smoothing off, if the panel's runs have fewer evaluations than a moving average takes."""
        evaluations = [curve_rows(tables.curves, self.letter, curve, self.metric)["step"].size for curve in self.curves]
        self.is_too_short = self.smoothed and max(evaluations) < SMOOTHING
        self.smoothed = self.smoothed and not self.is_too_short


def lines(panel: Panel) -> Lines:
    """The panel as lines, with the rules that its metric and its environment bring."""
    if panel.closed_form:
        return Lines(panel, "$x$", **panel.axes)
    environment, metric, axes = panel.run.environment, panel.metric, panel.axes
    unit = "mini-batch updates" if is_supervised(environment) else "environment steps"
    known = KNOWN.get(environment)
    if metric == "return" and known and known.returns:
        limits = (bound + math.copysign(known.margin, bound) if bound else bound for bound in known.returns)
        axes = {"y_limits": tuple(limits)} | axes
    return Lines(
        panel,
        "evaluation driving steps" if panel.against == "driving_steps" else unit,
        x_metric="train_seconds" if panel.against == "train_seconds" else "",
        smoothed=metric in SMOOTHED_METRICS and panel.against == "step" and panel.is_smoothed,
        comparable="" if "y_limits" in axes else f"{metric} on {environment}",
        **axes,
    )


def _label_log_axis(axis: Axis) -> None:
    """Labels a logarithmic axis, more densely where it spans little more than a decade."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 1e3 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _log_label(value, axis.get_view_interval()[0])))
    axis.set_minor_formatter(NullFormatter())


def _log_label(value: float, lowest: float) -> str:
    """A plain number, or one times a power of ten if the axis begins below a thousandth."""
    if lowest >= 1e-3:
        return thousands(value)
    mantissa, exponent = f"{value:.0e}".split("e")
    factor = "" if mantissa == "1" else rf"{mantissa}\cdot"
    return f"${factor}10^{{{int(exponent)}}}$"


def smoothing_words(window: int) -> str:
    """Explains the moving average over `window` evaluations."""
    return f"Smoothed: a point is the mean of an evaluation and the {window - 1} before it, at the start of fewer."


def seeds_words(counts: pd.Series) -> str:
    """For example "1 seed", "20 seeds" or "20 to 30 seeds", for the seeds of several curves."""
    fewest, most = int(counts.min()), int(counts.max())
    return f"{most} seed{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} seeds"


def thousands(value: float) -> str:
    """A tick label: 500, 2.5k, 10k, 1M."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"
