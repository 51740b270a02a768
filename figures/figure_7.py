"""Figure 7: the function whose maximum separates the square from the cubic loss (proof of Theorem 2)."""

from drawing.panels import Drawings, Panels, lines
from drawing.style import BLACK, VERMILION, CurveStyle, Look
from drawing.tables import Tables
from matplotlib.axes import Axes


def mark_maximum(axes: Axes) -> None:
    """Marks the largest value of f, -1, where the error is 1."""
    axes.plot(1.0, -1.0, "o", color=VERMILION, markersize=4, zorder=4)
    axes.annotate("maximum $-1$ at $x=1$", (1.0, -1.0), xytext=(6, 6), textcoords="offset points", color=VERMILION)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """The function with its maximum marked."""
    options: Look = {"own": {"f": CurveStyle("f(x)", BLACK)}, "xlabel": "absolute error $x$", "decorate": mark_maximum}
    return [lines(panel, tables, **options) for panel in panels.values()]
