"""Figure 7: the function whose maximum separates the square from the cubic loss (proof of Theorem 2)."""

from collections.abc import Mapping

from drawing.panels import Drawing, Lines
from drawing.style import BLACK, VERMILION, CurveStyle
from matplotlib.axes import Axes


def mark_maximum(axes: Axes) -> None:
    """Marks the largest value of f, -1, where the error is 1."""
    axes.plot(1.0, -1.0, "o", color=VERMILION, markersize=4, zorder=4)
    axes.annotate("maximum $-1$ at $x=1$", (1.0, -1.0), xytext=(6, 6), textcoords="offset points", color=VERMILION)


def adapt(declared: dict[str, Lines]) -> Mapping[str, Drawing]:
    """The function with its maximum marked."""
    for panel in declared.values():
        panel.x_label, panel.decorate = "absolute error $x$", mark_maximum
        panel.styles = {"f": CurveStyle("f(x)", BLACK)}
    return declared
