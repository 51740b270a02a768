"""Figure 2: where the states lie from which an agent learns, early in learning (Section 4.2)."""

from collections.abc import Mapping

from drawing.maps import Heatmap
from drawing.panels import Drawing


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """All heatmaps show one seed, the median of panel b."""
    for panel in declared.values():
        if isinstance(panel, Heatmap):
            panel.median_of = ("b", "prioritized_er")
    return declared
