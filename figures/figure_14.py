"""Figure 14: Dyna variants in a maze in which model-free methods take long (appendix, MazeGridWorld)."""

from collections.abc import Mapping

from drawing.maps import World
from drawing.panels import Drawing

from dyna_td.plan.planned import Panel


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """The maze itself before the curves."""
    return {"a": World(Panel("", {}, key="a", title="MazeGridWorld"))} | declared
