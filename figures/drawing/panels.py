"""Drawings of panels: what every picture needs, and lines; maps.py, scenes.py and forest.py hold other kinds.

The plan has the panels. The rules here add what follows from a panel's metric and environment.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import pandas as pd
from dyna_td.envs import KNOWN
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from drawing.style import NOTE, PANEL_SIZE, CurveStyle, Look, style_of, styles_of
from drawing.tables import Tables, curve_rows
from dyna_td.evidence.aggregate import SMOOTHED, SMOOTHING
from dyna_td.plan.planned import Panel
from dyna_td.records import published
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
CLOCK = "times are this machine's, of jobs side by side, and are not compared"
CUT = "The evaluation before training is cut off."
SMOOTHED_METRICS = ("return", "speed")  # evaluations of single episodes, which vary much


@dataclass
class Drawing:
    """One pair of axes: a panel of the plan, with all that the picture says of it.

    Attributes:
      letter: the panel's key, printed before the title if there are other panels.
      title: words above the axes.
      legend: the styles that a legend explains.
      notes: what lines, bands and markers mean, for the line under the picture.
      facts: the data's seeds and steps, for the same line; nothing if there are no data.
      comparable: panels with the same key share their metric's axis, so that eyes can compare them; empty for none.
      decorate: draws more on the finished axes.
    """

    letter: str
    title: str
    _: KW_ONLY
    legend: tuple[CurveStyle, ...] = ()
    notes: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    comparable: str = ""
    decorate: Callable[[Axes], None] | None = None

    @property
    def height(self) -> float:
        """Inches, with title, axis labels and legend."""
        return PANEL_SIZE[1]

    def draw(self, axes: Axes) -> None:
        """Draws everything but the title, the legend and what `decorate` draws."""


Panels = dict[str, Panel]  # of a figure, by key
Drawings = Iterable[Drawing]


@dataclass
class Lines(Drawing):
    """Curves over time, or closed forms.

    Attributes:
      rows: mean and standard_error of each curve by `step`, or what replaces it on the x-axis; in the legend's order.
      styles: the look of each curve, in drawing order.
      axes: properties of the axes, by matplotlib's names.
      published: rows of the published curves, whose mean is a faint line behind the fresh one.
      references: thin lines to compare curves with, with their looks.
      cuts_start: whether the y-axis leaves out what only the evaluation before training reaches.
    """

    rows: dict[str, pd.DataFrame]
    styles: dict[str, CurveStyle]
    axes: dict[str, Any]
    published: dict[str, pd.DataFrame] = field(default_factory=dict)
    references: Sequence[tuple[pd.DataFrame, CurveStyle]] = ()
    cuts_start: bool = False

    def draw(self, axes: Axes) -> None:
        """Each curve as a line of its mean inside a band of one standard error to either side."""
        order = list(self.styles)
        for curve, rows in self.rows.items():
            mean, error, style = rows["mean"], rows["standard_error"], self.styles[curve]
            look: Look = {"color": style.colour, "zorder": 2 + order.index(curve) / len(order)}
            axes.plot(rows["step"], mean, linestyle=style.linestyle, label=style.label, **look)
            axes.fill_between(rows["step"], mean - error, mean + error, alpha=0.2, linewidth=0, **look)
        for curve, rows in self.published.items():
            _draw_thin(axes, rows, self.styles[curve], alpha=0.35, zorder=1.8)
        for rows, style in self.references:
            _draw_thin(axes, rows, style, zorder=1.9)
        trained = pd.concat(self.rows.values()).query("step > 0") if self.cuts_start else pd.DataFrame()
        if len(trained):
            mean, error = trained["mean"], trained["standard_error"].fillna(0.0)  # one seed has none
            low, high = (mean - error).min(), (mean + error).max()
            if low < high:  # False where no error is finite
                axes.set_ylim(low, high)
        axes.set(**self.axes)
        axes.set_ylim(axes.get_ylim())  # whatever is drawn later
        axes.margins(x=0)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log":
                _label_log_axis(axis)


def _draw_thin(axes: Axes, rows: pd.DataFrame, style: CurveStyle, **look) -> None:
    """Draws a thin line without a band or a name."""
    axes.plot(rows["step"], rows["mean"], color=style.colour, linestyle=style.linestyle, linewidth=0.9, **look)


def lines(
    panel: Panel,
    tables: Tables,
    own: dict[str, CurveStyle] | None = None,
    references: Sequence[tuple[str, str, CurveStyle]] = (),
    decorate: Callable[[Axes], None] | None = None,
    **axes,
) -> Lines:
    """The panel as lines, with the rules that its metric and its environment bring.

    Args:
      panel: the panel.
      tables: those of its figure.
      own: looks of curves in this panel alone.
      references: thin lines to compare curves with: a curve, another metric of it, the look.
      decorate: draws more on the finished axes.
      axes: properties of the axes, which replace those of the panel.

    Raises:
      UserError: `tables` lack a row.
    """
    curves, styles, declared = curves_of(panel), style_table(panel, own), _declared_axes(panel)
    rows = {curve: tables.rows(panel.key, curve, panel.metric) for curve in curves}
    found: Look = {"rows": rows, "axes": {"xlabel": "$x$"}, "facts": ("closed form: nothing is trained",)}
    if not panel.closed_form:
        found = _trained(panel, tables, rows)
        found["comparable"] = "" if "ylim" in declared else f"{panel.metric} on {panel.run.environment}"
    found["axes"] |= {"ylabel": metric_label(panel.metric)} | declared | axes
    return Lines(
        panel.key,
        panel.title,
        styles=styles,
        references=[(tables.rows(panel.key, curve, metric), style) for curve, metric, style in references],
        legend=(*(styles[curve] for curve in curves), *(style for _, _, style in references)),
        decorate=decorate,
        **found,
    )


def _declared_axes(panel: Panel) -> Look:
    """The properties of the axes that the YAML file declares; without limits, those of the environment's returns."""
    names = {"x_scale": "xscale", "y_scale": "yscale", "y_limits": "ylim"}
    declared = {names[key]: value for key, value in panel.axes.items()}
    known = KNOWN.get(panel.run.environment) if panel.curves else None
    if panel.metric == "return" and known and known.returns:
        limits = [bound + math.copysign(known.margin, bound) if bound else bound for bound in known.returns]
        return {"ylim": limits} | declared
    return declared


def _trained(panel: Panel, tables: Tables, rows: dict[str, pd.DataFrame]) -> Look:
    """The attributes of lines that were trained, with `rows` of the panel's metric.

    A metric that varies much is smoothed, if runs have as many evaluations as the moving average takes.
    """
    metric, is_timed = panel.metric, panel.against == "train_seconds"
    varies = metric in SMOOTHED_METRICS and panel.against == "step" and panel.is_smoothed
    is_smoothed = varies and max(map(len, rows.values())) >= SMOOTHING
    if is_smoothed:
        rows = {curve: tables.rows(panel.key, curve, f"{metric}{SMOOTHED}") for curve in rows}
    faint = {} if is_timed else _published(panel, tables, f"{metric}{SMOOTHED}" if varies else metric)

    is_sine = is_supervised(panel.run.environment)
    unit = "mini-batch updates" if is_sine else "environment steps"
    unit = "evaluation driving steps" if panel.against == "driving_steps" else unit
    every = pd.concat(rows.values())
    facts = [seeds_words(every["n"]), f"{every['step'].max():,.0f} {unit}"]
    if is_smoothed:
        facts.append("smoothed")
    if faint:
        seeds = max(int(of_curve["n"].max()) for of_curve in faint.values())
        facts.append(f"faint: published, {seeds} seeds" + (", smoothed" if varies and not is_smoothed else ""))
    if is_timed:
        times = {curve: tables.rows(panel.key, curve, "train_seconds").set_index("step")["mean"] for curve in rows}
        rows = {curve: of_curve.assign(step=of_curve["step"].map(times[curve])) for curve, of_curve in rows.items()}
        facts += [CLOCK] if tables.scale != published.SCALE else []
    return {
        "rows": rows,
        "published": faint,
        "axes": {"xlabel": metric_label("train_seconds") if is_timed else unit},
        "notes": (LINES, *[smoothing_words(SMOOTHING)] * is_smoothed, *[CUT] * is_sine),
        "cuts_start": is_sine,  # the first evaluations fall as far as all later ones
        "facts": tuple(facts),
    }


def _published(panel: Panel, tables: Tables, metric: str) -> dict[str, pd.DataFrame]:
    """By curve, the published rows of `metric` of the same runs, if `tables` have any."""
    if tables.published is None:
        return {}
    rows = {curve: curve_rows(tables.published, panel.key, curve, metric) for curve in panel.curves}
    return {curve: of for curve, of in rows.items() if len(of) and published.read_details(panel.curves[curve].name)}


def curves_of(panel: Panel) -> list[str]:
    """The keys of a panel's curves in curves.csv, in the legend's order."""
    return list(CLOSED_FORMS[panel.closed_form]()["curve"].unique() if panel.closed_form else panel.curves)


def style_table(panel: Panel, own: dict[str, CurveStyle] | None = None) -> dict[str, CurveStyle]:
    """The style of every curve, in drawing order; a label of the YAML file replaces the agent's name."""
    named = {key: style_of(key, panel.curves[key].agent, label) for key, label in panel.labels.items()}
    return styles_of(curves_of(panel), named | (own or {}))


def metric_label(metric: str) -> str:
    """A metric with its unit, on an axis."""
    return METRIC_LABELS.get(metric, metric.replace("_", " "))


def _label_log_axis(axis: Axis) -> None:
    """Labels a logarithmic axis, more densely where it spans about two decades or less."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _log_label(value, axis.get_view_interval()[0])))
    axis.set_minor_formatter(NullFormatter())


def _log_label(value: float, lowest: float) -> str:
    """A plain number, or one times a power of ten if the axis begins below a thousandth."""
    if lowest >= 1e-3:
        return thousands(value)
    mantissa, exponent = f"{value:.0e}".split("e")
    factor = "" if mantissa == "1" else rf"{mantissa}\cdot"
    return f"${factor}10^{{{int(exponent)}}}$"


def mark_step(step: float, words: str, axes: Axes) -> None:
    """Draws a dotted line at a step, with words at its right."""
    axes.axvline(step, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    axes.annotate(words, (step, 1.0), (3, -3), xycoords=axes.get_xaxis_transform(), va="top", **NOTE)


def smoothing_words(window: int) -> str:
    """Explains the moving average over `window` evaluations."""
    return f"Smoothed: a point is the mean of an evaluation and up to {window - 1} before it."


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
