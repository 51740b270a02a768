"""Rates, beyond the paper: the agents of figures 13, 4 and 12 at equal learning rates."""

from collections.abc import Mapping

from drawing.dots import RATES, Levels
from drawing.panels import Panel
from drawing.style import style_of

# From top to bottom; others stand below them.
AGENTS = ("dyna_td", "dyna_td_learned", "dyna_value", "dyna_frequency", "prioritized_er", "er")
COLUMNS = 3
SWEPT_PANELS = "def"  # panels in which only Dyna-TD has 0.001


def agent_and_rate(curve: str, curves: tuple[str, ...]) -> tuple[str, bool]:
    """The agent of a curve, and whether its rate is the sweep's.

    A curve `..._fixed` is an agent at 0.001 beside its own curve, which is swept; `..._swept` is the reverse.
    """
    is_swept = curve.endswith("_swept") or f"{curve}_fixed" in curves
    return curve.removesuffix("_fixed").removesuffix("_swept"), is_swept


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """A row for each agent in every panel, named at the left: full dots at 0.001, hollow ones at the swept rate."""
    shown: dict[str, Panel] = {}
    for number, (letter, panel) in enumerate(declared.items()):
        places = {curve: agent_and_rate(curve, panel.curves) for curve in panel.curves}
        if letter in SWEPT_PANELS:
            places |= {curve: (curve, curve != "dyna_td_learned") for curve in panel.curves}
        agents = list(dict.fromkeys(agent for agent, _ in places.values()))
        agents.sort(key=lambda agent: AGENTS.index(agent) if agent in AGENTS else len(AGENTS))
        rows = {agent: style_of(agent) for agent in agents}
        meanings = RATES if any(is_swept for _, is_swept in places.values()) else ()
        is_left = number % COLUMNS == 0
        shown[letter] = Levels(*panel.basics, rows=rows, places=places, meanings=meanings, is_named=is_left)
    return shown
