"""Figure 9: high powers of the error under target noise (appendix)."""

from functools import partial

import numpy as np
from drawing.panels import Drawings, Panels, lines
from drawing.style import NOTE
from drawing.tables import Tables
from matplotlib.axes import Axes

from dyna_td.evidence.scores import steps_in
from dyna_td.runs.run import Run


def mark_first_third(run: Run, axes: Axes) -> None:
    """Marks the last evaluation of the first third of learning, where the window `early` of claim 17 ends."""
    end = steps_in(run, "early", np.asarray(axes.lines[0].get_xdata()))[-1]
    axes.axvline(end, color="gray", linestyle=":", linewidth=1.0, zorder=1)
    axes.annotate(f"{end:,.0f} updates", (end, 1.0), (3, -3), xycoords=axes.get_xaxis_transform(), va="top", **NOTE)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Panel b with the mark."""
    return [
        lines(panel, tables, decorate=partial(mark_first_third, panel.run) if key == "b" else None)
        for key, panel in panels.items()
    ]
