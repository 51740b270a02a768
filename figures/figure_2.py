"""Figure 2: where the states lie from which an agent learns, early in learning (Section 4.2)."""

from maps import World
from panels import Panel


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The world itself before the heatmaps."""
    return {"a": World("a", "GridWorld")} | declared
