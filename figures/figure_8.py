"""Figure 8: the cubic loss is steeper far from the target, so it usually gets near it sooner (Theorem 2)."""

from dataclasses import replace

import numpy as np
from drawing.panels import Drawings, Panels, curves_of, lines
from drawing.style import NOTE, CurveStyle, Look, style_of
from drawing.tables import Tables
from matplotlib import colormaps
from matplotlib.axes import Axes

from dyna_td.theory.hitting_times import STARTS, TARGETS

SQUARE, CUBIC = style_of("l2"), style_of("cubic")  # the looks of the losses in other figures
STYLES = {
    metric: {"square": replace(SQUARE, label=f"square, {square}"), "cubic": replace(CUBIC, label=f"cubic, {cubic}")}
    for metric, square, cubic in (("loss", "$x^2$", "$x^3$"), ("absolute_derivative", "$2x$", "$3x^2$"))
}


def mark_equal_times(axes: Axes) -> None:
    """Draws the line above which the cubic loss reaches the target first, with words on both sides."""
    axes.axhline(1.0, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    for words, side, height in (("cubic loss sooner", "bottom", 4), ("square loss sooner", "top", -4)):
        place: Look = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "va": side}
        axes.annotate(words, (1.0, 1.0), (-2, height), **place, **NOTE)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """The two losses, their slopes, and the ratio of their hitting times by start and by target."""
    for panel in panels.values():
        if panel.metric in STYLES:
            yield lines(panel, tables, STYLES[panel.metric])
            continue
        by_start = panel.closed_form == "figure_8c"
        label, symbol = ("start $x_0$", "$x_t$") if by_start else ("target $x_t$", "$x_0$")
        numbers = TARGETS if by_start else STARTS
        shades = map(tuple, colormaps["viridis"](np.linspace(0, 0.9, len(numbers))))  # dark to light
        looks = [CurveStyle(f"{symbol} = {number:g}", shade) for number, shade in zip(numbers, shades, strict=True)]
        styles = dict(zip(curves_of(panel), looks, strict=True))
        yield lines(panel, tables, styles, xlabel=label, decorate=mark_equal_times)
