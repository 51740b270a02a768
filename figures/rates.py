"""Rates, beyond the paper: the agents of figures 13, 4 and 12 at equal learning rates."""

from dots import RATES, Levels
from panels import Panel
from style import CURVES, UNDASHED

LEARNED = "dyna_td_learned"  # in the roundabout
BENCHMARKS = ("dyna_td", "dyna_value", "dyna_frequency", "prioritized_er", "er")
COLUMNS = 3


def agent_and_rate(curve: str, curves: tuple[str, ...]) -> tuple[str, bool]:
    """The agent of a curve, and whether its rate is the sweep's.

    A curve `..._fixed` is an agent at 0.001 beside its own curve, which is swept; `..._swept` is the reverse.
    """
    is_swept = curve.endswith("_swept") or f"{curve}_fixed" in curves
    return curve.removesuffix("_fixed").removesuffix("_swept"), is_swept


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """A row for each agent in every panel, named at the left: full dots at 0.001, hollow ones at the swept rate."""
    shown = {}
    for number, (letter, panel) in enumerate(declared.items()):
        places = {curve: agent_and_rate(curve, panel.curves) for curve in panel.curves}
        agents = {agent for agent, _ in places.values()}
        looks = CURVES | {LEARNED: UNDASHED}
        order = [agent for agent in (LEARNED, *BENCHMARKS) if agent in agents]
        rows = {agent: looks[agent] for agent in order}
        is_left = number % COLUMNS == 0
        note = RATES if any(is_swept for _, is_swept in places.values()) else ""
        shown[letter] = Levels(*panel.basics, rows=rows, places=places, is_named=is_left, note=note)
    return shown
