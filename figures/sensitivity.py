"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from dataclasses import replace

from dots import Levels
from panels import Panel
from style import CURVES, REPLAY, CurveStyle, graded


def families(agents: dict[str, CurveStyle], values: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles of each agent with each value, in the agent's colour.

    Args:
      agents: style by agent.
      values: the value's name in the legend, by the end of the curve's key.
    """
    return {
        f"{agent}{suffix}": replace(style, label=f"{style.label}, {text}")
        for agent, style in agents.items()
        for suffix, text in values.items()
    }


REGRESSION = {agent: CURVES[agent] for agent in ("l2", "prioritized_l2", "full_prioritized_l2")}
QUEUES = graded({"queue_2000": "2,000", "queue_20000": "20,000", "queue_100000": "100,000", "dyna_td": "all (1M)"})
EXPONENTS = graded({"exponent_03": "0.3", "exponent_06": "0.6", "prioritized_er": "1", "exponent_15": "1.5"})
GOALS = {
    f"{agent}{suffix}": replace(CURVES[agent], label=CURVES[agent].label + text)
    for agent in ("dyna_td", "dyna_frequency", "dyna_value")
    for suffix, text in (("", ""), ("_goals", ", queued"))
}
LEARNED = {"dyna_td_learned": CurveStyle("Dyna-TD", "black")}
ENDS = LEARNED | {"dyna_td_to_the_end": CurveStyle("to the end, noise 0.05", "black")}
STYLES = {
    "a": families(REPLAY, {"_n1": "n = 1", "_n3": "n = 3", "": "n = 10"}),
    "b": QUEUES,
    "c": QUEUES,
    "d": graded(
        {"noise_0": "none", "noise_half": "half", "dyna_td": "as released", "noise_2": "twice", "noise_4": "4 times"}
    ),
    "e": EXPONENTS,
    "f": EXPONENTS,
    "g": families(REGRESSION, {"_b32": "b = 32", "": "b = 128", "_b512": "b = 512"}),
    "j": GOALS,
    "k": GOALS,
    "l": GOALS,
    "m": GOALS,
    "n": graded({"acceptance_002": "0.02", "dyna_td": "the mean move's", "acceptance_01": "0.1"}),
    "o": LEARNED | {"acceptance_01": CurveStyle("Dyna-TD, 0.1", "black")},
    "p": ENDS,
    "q": ENDS,
}


CURVES_TOO = "hi"  # what smoothing does is seen on lines


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """A dot for each curve, in the looks above; lines where smoothing itself is shown."""
    shown = {}
    for letter, panel in declared.items():
        panel.styles = STYLES.get(letter, {})
        rows = panel.style_table()
        rows = {curve: rows[curve] for curve in panel.curves}
        shown[letter] = panel if letter in CURVES_TOO else Levels(*panel.basics, rows=rows)
    return shown
