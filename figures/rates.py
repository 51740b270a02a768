"""Rates, beyond the paper: the agents of figures 13, 4, 12 and 1c at equal learning rates."""

from dataclasses import replace

from panels import Panel
from style import CURVES, REPLAY, CurveStyle

LABELS = {"er": "ER", "prioritized_er": "PER", "dyna_value": "Value", "dyna_frequency": "Frequency", "dyna_td": "TD"}
AGENTS = {agent: replace(CURVES[agent], label=label) for agent, label in LABELS.items()}


def two_rates(curves: tuple[str, ...]) -> dict[str, CurveStyle]:
    """Each agent's own line at 0.001, and a dotted one at the swept rate.

    A curve `..._fixed` is an agent at 0.001 beside its own curve, which is swept; `..._swept` is the reverse.
    """
    agents, styles = AGENTS if "dyna_td" in curves else REPLAY, {}
    for curve in curves:
        style = agents.get(curve.removesuffix("_fixed").removesuffix("_swept"), CurveStyle(curve, "gray"))
        if curve.endswith("_swept") or f"{curve}_fixed" in curves:
            style = replace(style, label=f"{style.label}, swept", dash=":")
        styles[curve] = style
    return styles


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The roundabout as in figure 13, and two rates an agent in all other panels."""
    for panel in declared.values():
        if "dyna_td_learned" not in panel.curves:
            panel.styles = two_rates(panel.curves)
    return declared
