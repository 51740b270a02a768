"""Figure 9: high powers of the error under target noise (appendix)."""

from matplotlib.axes import Axes
from panels import Panel


def mark_first_third(axes: Axes) -> None:
    """Marks the last evaluation of the first third of learning, until which claim 17 holds."""
    steps = axes.lines[0].get_xdata()
    end = max(step for step in steps if 3 * step <= max(steps))
    axes.axvline(end, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    place = {"xytext": (3, -3), "textcoords": "offset points", "va": "top", "color": "dimgray", "fontsize": 8}
    axes.annotate(f"{end:,.0f} updates", (end, 1.0), xycoords=axes.get_xaxis_transform(), **place)


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """Panel b with the mark."""
    declared["b"].decorate = mark_first_third
    return declared
