"""Figure 8: the cubic loss is steeper far from the target, so it usually gets near it sooner (Theorem 2)."""

from collections.abc import Mapping
from dataclasses import replace

from drawing.panels import Drawing, Lines
from drawing.style import NOTE, Look, graded, style_of
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


def adapt(declared: dict[str, Lines]) -> Mapping[str, Drawing]:
    """The two losses, their slopes, and the ratio of their hitting times by start and by target."""
    for panel in declared.values():
        panel.styles = STYLES.get(panel.metric, {})
        if panel.metric == "hitting_time_ratio":
            by_start = panel.panel.closed_form == "figure_8c"
            panel.x_label, symbol = ("start $x_0$", "$x_t$") if by_start else ("target $x_t$", "$x_0$")
            numbers = zip(panel.curves, TARGETS if by_start else STARTS, strict=True)
            panel.styles = graded({curve: f"{symbol} = {number:g}" for curve, number in numbers})
            panel.decorate = mark_equal_times
    return declared
