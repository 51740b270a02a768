"""What the figure scripts share: reading curves.csv, drawing panels of curves, writing the picture.

A figure script declares its panels and hands them to `render`; it never trains and never imports TensorFlow.
"""

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation
from style import CURVES, DOTS_PER_INCH, PANEL_SIZE, CurveStyle

from dyna_td.errors import UserError

UPDATES = "mini-batch updates"
ENVIRONMENT_STEPS = "environment steps"

METRIC_LABELS = {
    "test_rmse": "testing RMSE",
    "train_rmse": "training RMSE",
    "return": "evaluation return",
}

LEGEND_DROP = 36  # points from the x-axis to a legend under it

_TEXT_COLUMNS = ("panel", "curve", "metric")
_NUMBER_COLUMNS = ("step", "mean", "standard_error", "n")


@dataclass(frozen=True)
class Panel:
    """One pair of axes.

    Attributes:
      letter: the panel's key in curves.csv, also printed before the title if there are others.
      title: what sets this panel apart.
      metric: the rows of curves.csv to draw.
      curves: curve keys in the legend's order.
      x_label: meaning and unit of `step`.
      y_label: meaning and unit of `mean`; by default the metric's.
      y_limits: lower and upper end of the y-axis, None where the data decide.
      x_scale, y_scale: matplotlib's names of the axes' scales.
      window: evaluations in the moving average drawn, which looks back only; 1 draws the data as they are.
      styles: styles that replace or extend style.CURVES in this panel.
      trained: False if the curves are closed forms, which have neither seeds nor steps.
      decorate: draws on the finished axes what is not a curve.
    """

    letter: str
    title: str
    metric: str
    curves: tuple[str, ...]
    x_label: str
    y_label: str = ""
    y_limits: tuple[float | None, float | None] = (None, None)
    x_scale: str = "linear"
    y_scale: str = "linear"
    window: int = 1
    styles: dict[str, CurveStyle] = field(default_factory=dict)
    trained: bool = True
    decorate: Callable[[Axes], None] | None = None

    def style_table(self) -> dict[str, CurveStyle]:
        """Every curve's style in this panel, in drawing order."""
        return CURVES | self.styles

    def rows(self, curves: pd.DataFrame, curve: str) -> pd.DataFrame:
        """The rows of one curve of this panel, by step."""
        wanted = (curves["panel"] == self.letter) & (curves["curve"] == curve) & (curves["metric"] == self.metric)
        return curves[wanted].sort_values("step")


def render(
    panels: Sequence[Panel], argv: Sequence[str] | None = None, columns: int = 0, same_y: Iterable[str] = ()
) -> int:
    """Draws a figure from the command line's curves.csv; returns the exit status.

    Args:
      panels: the figure's panels, in reading order.
      argv: command line without the program's name; None reads sys.argv.
      columns: panels in a row; 0 puts all in one row.
      same_y: groups of panel letters, such as "ab", whose y-axes get the same limits so that they compare by eye.
    """
    arguments = _parse(argv)
    try:
        curves = read_curves(arguments.curves, panels)
        figure = draw_figure(panels, curves, arguments.scale, columns or len(panels), same_y)
        save(figure, arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def read_curves(path: Path, panels: Sequence[Panel]) -> pd.DataFrame:
    """Reads curves.csv and checks that every panel's curves are all there.

    Raises:
      UserError: if the file is missing, cut off or damaged, or lacks a column or one of the panels' curves.
    """
    advice = "; delete it and run the same snakemake target again to rebuild it."
    try:
        if not path.read_bytes().endswith(b"\n"):
            raise UserError(f"{path} does not end with a complete line, so it was cut off{advice}")
        curves = pd.read_csv(path, dtype=dict.fromkeys(_TEXT_COLUMNS, str))
    except OSError as error:
        raise UserError(
            f"{path} cannot be read ({error.strerror}): run the figure's snakemake target first."
        ) from error
    except ValueError as error:  # pandas' parser errors and wrong encodings are all ValueErrors
        raise UserError(f"{path} is not a CSV file of curves{advice}") from error
    missing = [column for column in (*_TEXT_COLUMNS, *_NUMBER_COLUMNS) if column not in curves.columns]
    if missing:
        raise UserError(f"{path} has no column {', '.join(missing)}{advice}")
    numbers = list(_NUMBER_COLUMNS)
    curves[numbers] = curves[numbers].apply(pd.to_numeric, errors="coerce")
    for panel in panels:
        _check_panel(panel, curves, path, advice)
    return curves


def _check_panel(panel: Panel, curves: pd.DataFrame, path: Path, advice: str) -> None:
    lengths = {}
    for curve in panel.curves:
        rows = panel.rows(curves, curve)
        where = f"{path}, panel {panel.letter}, curve {curve}"
        if rows.empty:
            raise UserError(f"{where}: there is no row of the metric {panel.metric}{advice}")
        is_single = rows["n"] == 1  # one seed has no standard error, and gets no band
        rows = rows.assign(standard_error=rows["standard_error"].mask(is_single, 0.0))
        if not np.isfinite(rows[list(_NUMBER_COLUMNS)]).all(axis=None):
            raise UserError(f"{where}: {', '.join(_NUMBER_COLUMNS)} must be finite numbers in every row{advice}")
        lengths[curve] = len(rows)
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{curve} {length}" for curve, length in lengths.items())
        raise UserError(f"{path}, panel {panel.letter}: its curves must have equally many rows, not {counts}{advice}")


def draw_figure(
    panels: Sequence[Panel], curves: pd.DataFrame, scale: str, columns: int, same_y: Iterable[str] = ()
) -> Figure:
    """All panels on a grid, and under them the scale, the seeds and the steps."""
    rows = -(-len(panels) // columns)
    width, height = PANEL_SIZE
    figure, grid = plt.subplots(
        rows, columns, figsize=(columns * width, rows * height), layout="constrained", squeeze=False
    )
    axes = {panel.letter: ax for panel, ax in zip(panels, grid.flat, strict=True)}
    for panel in panels:
        draw_panel(axes[panel.letter], panel, curves)
        if len(panels) > 1:
            axes[panel.letter].set_title(f"({panel.letter}) {panel.title}")
    for group in same_y:
        low = min(axes[letter].get_ylim()[0] for letter in group)
        high = max(axes[letter].get_ylim()[1] for letter in group)
        for letter in group:
            axes[letter].set_ylim(low, high)
    _draw_legends(figure, axes, panels)
    figure.supxlabel(describe(panels, curves, scale), fontsize=7, color="dimgray", x=0.99, ha="right")
    return figure


def draw_panel(axes: Axes, panel: Panel, curves: pd.DataFrame) -> None:
    """Each curve as a line of its mean inside a band of one standard error to either side."""
    styles = panel.style_table()
    order = list(styles)
    for curve in panel.curves:
        rows, style = panel.rows(curves, curve), styles[curve]
        mean, error = (_moving_average(rows[column], panel.window) for column in ("mean", "standard_error"))
        look = {"color": style.colour, "zorder": 2 + order.index(curve) / len(order)}
        axes.plot(rows["step"], mean, linestyle=style.dash, label=style.label, **look)
        if panel.trained:
            axes.fill_between(rows["step"], mean - error, mean + error, alpha=0.2, linewidth=0, **look)
    axes.set_title(panel.title)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label or METRIC_LABELS[panel.metric])
    axes.set_xscale(panel.x_scale)
    axes.set_yscale(panel.y_scale)
    axes.set_ylim(*panel.y_limits)
    axes.margins(x=0)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
    for axis, scale in ((axes.xaxis, panel.x_scale), (axes.yaxis, panel.y_scale)):
        if scale == "log":
            _label_ones_twos_and_fives(axis)
    if panel.decorate:
        panel.decorate(axes)


def _label_ones_twos_and_fives(axis: Axis) -> None:
    """Plain numbers on a logarithmic axis, enough of them where it spans little more than a decade."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: thousands(value)))
    axis.set_minor_formatter(NullFormatter())


def _moving_average(values: pd.Series, window: int) -> pd.Series:
    """Averages each value with the `window` - 1 before it, or as many as there are.

    The average of standard errors is the smoothed curve's own standard error if its evaluations were perfectly
    correlated, and too wide otherwise.
    """
    return values.rolling(window, min_periods=1).mean()


def _draw_legends(figure: Figure, axes: dict[str, Axes], panels: Sequence[Panel]) -> None:
    """One legend for the figure if every panel shows the same curves, else one under each; never over the data."""
    looks = [tuple(panel.style_table()[curve] for curve in panel.curves) for panel in panels]
    if len(panels) > 1 and len(set(looks)) == 1:
        handles, labels = axes[panels[0].letter].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles))
        return
    for panel in panels:
        if len(panel.curves) > 1:
            _draw_legend_below(axes[panel.letter], ncols=1 if len(panel.curves) < 4 else 2)


def _draw_legend_below(axes: Axes, ncols: int) -> None:
    """Hangs the legend a fixed length under the axes, clear of the tick labels and the axis label."""
    below = ScaledTranslation(0, -LEGEND_DROP / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0.0,
        ncols=ncols,
    )


def describe(panels: Sequence[Panel], curves: pd.DataFrame, scale: str) -> str:
    """The line under the picture: the scale, and the data's seeds and steps, for each panel where they differ.

    For example "scale quick, 5 seeds, 20,000 mini-batch updates".
    """
    facts = {panel.letter: _describe_panel(panel, curves) for panel in panels}
    if len(set(facts.values())) == 1:
        return f"scale {scale}, {facts[panels[0].letter]}"
    letters = {fact: [letter for letter in facts if facts[letter] == fact] for fact in facts.values()}
    return f"scale {scale}; " + "; ".join(f"{', '.join(letters[fact])}: {fact}" for fact in letters)


def _describe_panel(panel: Panel, curves: pd.DataFrame) -> str:
    if not panel.trained:
        return "closed form: nothing is trained"
    rows = pd.concat([panel.rows(curves, curve) for curve in panel.curves])
    fewest, most = int(rows["n"].min()), int(rows["n"].max())
    seeds = f"{most} seed{'s' if most > 1 else ''}" if fewest == most else f"{fewest} to {most} seeds"
    smoothing = f", moving average of {panel.window} evaluations" if panel.window > 1 else ""
    return f"{seeds}, {rows['step'].max():,.0f} {panel.x_label}{smoothing}"


def thousands(value: float) -> str:
    """A tick label: 500, 2.5k, 10k, 1M."""
    for size, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"


def save(figure: Figure, output: Path) -> None:
    """Writes `output` (a PNG) and the PDF of the same stem, each whole or not at all, without dates inside.

    Raises:
      UserError: if the place cannot be written.
    """
    pictures = {output: {"Software": None}, output.with_suffix(".pdf"): {"CreationDate": None}}
    partial = {path: path.with_name(f".{path.stem}.partial{path.suffix}") for path in pictures}
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        for path, metadata in pictures.items():
            figure.savefig(partial[path], dpi=DOTS_PER_INCH, metadata=metadata)
        for path in pictures:
            os.replace(partial[path], path)
    except OSError as error:
        raise UserError(
            f"{output} cannot be written ({error.strerror}): choose an --output in a folder where you may write."
        ) from error
    finally:
        plt.close(figure)
        for path in partial.values():
            with contextlib.suppress(OSError):  # a folder that cannot be written holds no partial file either
                path.unlink()


def _parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Draws one figure of the paper from its curves.csv.")
    parser.add_argument("--curves", type=Path, required=True, help="curves.csv of the figure")
    parser.add_argument("--scale", required=True, help="scale that made the curves; printed under the picture")
    parser.add_argument("--output", type=_png, required=True, help="picture to write, .png; the .pdf goes beside it")
    return parser.parse_args(argv)


def _png(text: str) -> Path:
    if Path(text).suffix != ".png":
        raise argparse.ArgumentTypeError(f"{text} does not end in .png; write for example figure_1.png.")
    return Path(text)
