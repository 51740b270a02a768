"""Rates, beyond the paper: the agents of figures 13, 4 and 12 at equal learning rates."""

from dataclasses import replace

from drawing.forest import RATES, levels, styles_but_for
from drawing.panels import Drawings, Panels
from drawing.tables import Tables

from dyna_td.runs.registry import AGENTS, ROUNDABOUT


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """A row for each agent in every panel: full dots at 0.001, hollow ones at the swept rate.

    On the benchmarks a sweep chose 0.001 where its agent has no other curve, in the roundabout never. The roundabout's
    panels have one axis for each metric.
    """
    for panel in panels.values():
        in_roundabout = panel.run.environment == ROUNDABOUT
        styles = styles_but_for(panel, "learning_rate")
        fixed = {style for curve, style in styles.items() if not panel.curves[curve].sweep}
        swept = {curve for curve in styles if panel.curves[curve].sweep and (in_roundabout or styles[curve] in fixed)}
        order = sorted(styles, key=lambda curve: list(AGENTS).index(panel.curves[curve].agent))
        dots = {curve: replace(styles[curve], is_hollow=curve in swept) for curve in order}
        comparable = panel.metric if in_roundabout else ""
        yield levels(panel, tables, dots, legend=RATES if swept else (), comparable=comparable)
