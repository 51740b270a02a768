"""Figure 9: high powers of the error under target noise (appendix)."""

from functools import partial

import numpy as np
from drawing.panels import Drawings, Panels, lines, mark_step
from drawing.tables import Tables
from matplotlib.axes import Axes

from dyna_td.evidence.scores import steps_in
from dyna_td.runs.run import Run


def mark_first_third(run: Run, axes: Axes) -> None:
    """Marks the last evaluation of the first third of learning, where the window `early` of claim 17 ends."""
    if early := steps_in(run, "early", np.asarray(axes.lines[0].get_xdata())):
        mark_step(early[-1], "first third", axes)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Panel b with the mark."""
    return [
        lines(panel, tables, decorate=partial(mark_first_third, panel.run) if key == "b" else None)
        for key, panel in panels.items()
    ]
