"""Figure 9: high powers of the error under target noise (appendix)."""

from collections.abc import Mapping

import numpy as np
from drawing.panels import Drawing, Lines
from drawing.style import NOTE
from matplotlib.axes import Axes


def mark_first_third(axes: Axes) -> None:
    """Marks the last evaluation of the first third of learning, where the window `early` of claim 17 ends."""
    steps = np.asarray(axes.lines[0].get_xdata())
    end = steps[3 * steps <= steps.max()].max()
    axes.axvline(end, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    axes.annotate(f"{end:,.0f} updates", (end, 1.0), (3, -3), xycoords=axes.get_xaxis_transform(), va="top", **NOTE)


def adapt(declared: dict[str, Lines]) -> Mapping[str, Drawing]:
    """Panel b with the mark."""
    declared["b"].decorate = mark_first_third
    return declared
