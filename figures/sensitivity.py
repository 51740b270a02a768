"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from collections.abc import Mapping
from dataclasses import replace

from drawing.dots import Levels
from drawing.panels import Panel
from drawing.style import CurveStyle, style_of


def families(agents: tuple[str, ...], values: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles of each agent with each value, in the agent's colour; `values` has texts by the end of curves' keys."""
    return {
        f"{agent}{end}": replace(style_of(agent), label=", ".join(filter(None, [style_of(agent).label, text])))
        for agent in agents
        for end, text in values.items()
    }


def values(agent: str, labels: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles of one agent with several values, in its colour; the title names the agent."""
    return {curve: replace(style_of(agent), label=label) for curve, label in labels.items()}


QUEUES = values(
    "dyna_td", {"queue_2000": "2,000", "queue_20000": "20,000", "queue_100000": "100,000", "dyna_td": "all (1M)"}
)
EXPONENTS = values(
    "prioritized_er", {"exponent_03": "0.3", "exponent_06": "0.6", "prioritized_er": "1", "exponent_15": "1.5"}
)
NOISES = {"noise_0": "none", "noise_half": "half", "dyna_td": "as released", "noise_2": "twice", "noise_4": "4 times"}
GOALS = families(("dyna_td", "dyna_frequency", "dyna_value"), {"": "", "_goals": "queued"})
ENDS = values("dyna_td_learned", {"dyna_td_to_the_end": "to the end, noise 0.05"})
STYLES = {
    "a": families(("er", "prioritized_er", "full_prioritized_er"), {"_n1": "n = 1", "_n3": "n = 3", "": "n = 10"}),
    "b": QUEUES,
    "c": QUEUES,
    "d": values("dyna_td", NOISES),
    "e": EXPONENTS,
    "f": EXPONENTS,
    "g": families(
        ("l2", "prioritized_l2", "full_prioritized_l2"), {"_b32": "b = 32", "": "b = 128", "_b512": "b = 512"}
    ),
    "j": GOALS,
    "k": GOALS,
    "l": GOALS,
    "m": GOALS,
    "n": values("dyna_td", {"acceptance_002": "0.02", "dyna_td": "the mean move's", "acceptance_01": "0.1"}),
    "o": values("dyna_td_learned", {"acceptance_01": "the same, 0.1"}),
    "p": ENDS,
    "q": ENDS,
    "r": families(("dyna_frequency", "dyna_value"), {"_relu": "ReLU", "_tanh": "tanh"})
    | values("dyna_frequency", {"dyna_frequency": "Dyna-Frequency, tanh"})
    | values("dyna_value", {"dyna_value": "Dyna-Value, ReLU"}),
}

CURVES_TOO = "hi"  # panels that show the effect of smoothing, which needs lines


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """A dot for each curve, in the looks above; lines in panels about smoothing."""
    shown = {}
    for letter, panel in declared.items():
        panel.styles = STYLES.get(letter, {})
        looks = panel.style_table()
        rows = {curve: looks[curve] for curve in panel.curves}
        shown[letter] = panel if letter in CURVES_TOO else Levels(*panel.basics, rows=rows)
    return shown
