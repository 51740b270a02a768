"""Figure 8: the cubic loss is steeper far from the target, so it usually gets near it sooner (Theorem 2)."""

import sys
from functools import partial

from matplotlib.axes import Axes
from panels import Panel
from rendering import render
from style import FOREST_GREEN, CurveStyle, graded

from dyna_td.measures.hitting_times import STARTS, TARGETS, start_curve, target_curve

OBJECTIVES = {"square": CurveStyle("square, $x^2$", "black"), "cubic": CurveStyle("cubic, $x^3$", FOREST_GREEN)}
SLOPES = {"square": CurveStyle("square, $2x$", "black"), "cubic": CurveStyle("cubic, $3x^2$", FOREST_GREEN)}
BY_TARGET = graded({target_curve(target): f"$x_t$ = {target:g}" for target in TARGETS})
BY_START = graded({start_curve(start): f"$x_0$ = {start:g}" for start in STARTS})


def mark_equal_times(axes: Axes) -> None:
    """Above this line the cubic loss reaches the target first."""
    axes.axhline(1.0, color="gray", linestyle=":", linewidth=1.0, zorder=1)


closed_form_panel = partial(Panel, trained=False)
ratio_panel = partial(
    closed_form_panel,
    metric="hitting_time_ratio",
    y_label="hitting time, square / cubic",
    y_scale="log",
    decorate=mark_equal_times,
)
PANELS = (
    closed_form_panel("a", "objectives", "loss", tuple(OBJECTIVES), "$x$", y_label="objective", styles=OBJECTIVES),
    closed_form_panel(
        "b", "slopes", "absolute_derivative", tuple(SLOPES), "$x$", y_label="absolute derivative", styles=SLOPES
    ),
    ratio_panel("c", "by start", curves=tuple(BY_TARGET), x_label="start $x_0$", styles=BY_TARGET),
    ratio_panel("d", "by target", curves=tuple(BY_START), x_label="target $x_t$", x_scale="log", styles=BY_START),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, columns=2)


if __name__ == "__main__":
    sys.exit(main())
