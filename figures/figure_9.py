"""Figure 9: high powers of the error under target noise (appendix)."""

import numpy as np
from drawing.panels import Drawings, Panels, lines
from drawing.style import NOTE
from drawing.tables import Tables
from matplotlib.axes import Axes


def mark_first_third(axes: Axes) -> None:
    """Marks the last evaluation of the first third of learning, where the window `early` of claim 17 ends."""
    steps = np.asarray(axes.lines[0].get_xdata())
    end = steps[3 * steps <= steps.max()].max()
    axes.axvline(end, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    axes.annotate(f"{end:,.0f} updates", (end, 1.0), (3, -3), xycoords=axes.get_xaxis_transform(), va="top", **NOTE)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Panel b with the mark."""
    return [lines(panel, tables, decorate=mark_first_third if key == "b" else None) for key, panel in panels.items()]
