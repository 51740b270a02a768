"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from collections.abc import Mapping

from drawing.dots import Levels
from drawing.panels import Panel
from drawing.style import Look, style_of

SHOWN = "_shown"  # suffix of the curves of agents that saw the goal
MEANINGS = ("goal shown once in the warm-up", "goal hidden")  # meanings of full and hollow dots


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """The agents in the same rows of every panel, named at the left, on one axis of returns."""
    shown: dict[str, Panel] = {}
    for number, (letter, panel) in enumerate(declared.items()):
        places = {curve: (curve.removesuffix(SHOWN), not curve.endswith(SHOWN)) for curve in panel.curves}
        rows = {agent: style_of(agent) for agent, _ in places.values()}
        looks: Look = {"places": places, "meanings": MEANINGS, "is_named": number % 2 == 0, "comparable": panel.metric}
        shown[letter] = Levels(*panel.basics, rows=rows, **looks)
    return shown
