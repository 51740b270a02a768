"""Figure 2: where the states lie from which an agent learns, early in learning (Section 4.2)."""

from drawing.maps import heatmap
from drawing.panels import Drawings, Panels
from drawing.tables import Tables


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """All heatmaps show one seed, the median of panel b."""
    return [heatmap(panel, tables, median_of=("b", "prioritized_er")) for panel in panels.values()]
