"""Figure 6: DDPG with ER, PrioritizedER and Dyna-TD on Hopper and Walker2d (Section 5)."""

from functools import partial

from drawing.panels import Drawings, Panels, lines, mark_step
from drawing.tables import Tables


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Each panel with a mark where Dyna-TD becomes ER: its model and its search control end."""
    words = "search control ends"
    for panel in panels.values():
        end = max(getattr(run.settings, "model_stop", 0) for run in panel.curves.values())
        yield lines(panel, tables, decorate=partial(mark_step, end, words) if end else None)
