"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from dots import LEARNED, NO_CHAIN, NO_MODEL, Levels
from panels import Panel
from style import CurveStyle

SHOWN = "_shown"  # ends the curves of agents that were shown the goal
ROWS = {
    "er": CurveStyle("ER", NO_MODEL),
    "prioritized_er": CurveStyle("PrioritizedER", NO_MODEL),
    "dyna_td": CurveStyle("Dyna-TD", "black"),
    "uniform_states": CurveStyle("uniform states", NO_CHAIN),
    "dyna_td_learned": CurveStyle("learned: Dyna-TD", LEARNED),
    "uniform_states_learned": CurveStyle("learned: uniform states", LEARNED),
    "dyna_td_blind": CurveStyle("blind: Dyna-TD", "slategray"),
    "uniform_states_blind": CurveStyle("blind: uniform states", "slategray"),
}


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The agents in the same rows of every panel, named at the left: hollow dots where the goal is hidden."""
    shown = {}
    for number, (letter, panel) in enumerate(declared.items()):
        places = {curve: (curve.removesuffix(SHOWN), not curve.endswith(SHOWN)) for curve in panel.curves}
        note = ", hollow dots: the goal hidden, full: shown"
        shown[letter] = Levels(*panel.basics, rows=ROWS, places=places, is_named=number % 2 == 0, note=note)
    return shown
