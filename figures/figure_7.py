"""Figure 7: the function whose maximum separates the square from the cubic loss (proof of Theorem 2)."""

import sys

from matplotlib.axes import Axes
from panels import Panel
from rendering import render


def mark_maximum(axes: Axes) -> None:
    """F is largest, -1, where the error is 1."""
    axes.plot(1.0, -1.0, "o", color="red", markersize=4, zorder=4)
    axes.annotate("maximum $-1$ at $x=1$", (1.0, -1.0), xytext=(6, 6), textcoords="offset points", color="red")


PANELS = (
    Panel(
        "a",
        r"$f(x) = \ln\frac{1}{x} - \frac{1}{x}$",
        "gap_function",
        ("f",),
        x_label="absolute error $x$",
        y_label="$f(x)$",
        y_limits=(-3.5, -0.6),  # leaves room for the words above the maximum
        trained=False,
        decorate=mark_maximum,
    ),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
