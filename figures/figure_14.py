"""Figure 14: Dyna variants in a maze in which model-free methods take long (appendix, MazeGridWorld)."""

from collections.abc import Mapping

from drawing.maps import World
from drawing.panels import Panel


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """The maze itself before the curves."""
    return {"a": World("a", "MazeGridWorld")} | declared
