"""What to use, beyond the paper: each agent's return minus ER's on the panels of figures 4 and 12."""

from collections.abc import Mapping
from dataclasses import replace

from drawing.forest import RATES, Dot, Forest, rows_but_for
from drawing.panels import Drawing
from drawing.style import style_of

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.evidence.labels import task
from dyna_td.plan.planned import Panel

BASELINE = "er"
SWEPT = "er_swept"  # the baseline of agents at the rate of their own sweep
OFFSET = 0.26  # between the dots of a row, in rows; half of it to a hollow dot
MARKERS = "os^Dv"  # by number of updates per step, from few to many


def leads(panels: dict[int, Panel]) -> Forest:
    """The panels of an environment, by n, as one: an agent's return over learning minus ER's, one marker for each n.

    A hollow marker below it compares the agent and ER at their swept rates, if the figure has them.
    """
    first, dots = next(iter(panels.values())), []
    for index, panel in enumerate(panels.values()):
        for curve, row in rows_but_for(panel, "learning_rate").items():
            if row != BASELINE:
                is_swept = bool(panel.curves[curve].sweep)
                end = LESS + (SWEPT if is_swept else BASELINE)
                offset = OFFSET * (len(panels) / 2 - index - 0.25 - is_swept / 2)
                at = (panel.key, curve, panel.metric + end)
                dots.append(Dot(row, at, style_of(row).colour, offset, MARKERS[index % len(MARKERS)], is_swept))
    full, hollow = RATES
    by_n = [
        replace(full, label=f"n = {n}, {full.label}", marker=mark) for n, mark in zip(panels, MARKERS, strict=False)
    ]
    return Forest(
        replace(first, title=task(first.run.environment)),
        "return minus ER's, 95% interval\n(ER: {}); right is better",
        {dot.row: style_of(dot.row) for dot in dots},
        dots,
        key=(*by_n, replace(hollow, label=f"hollow: {hollow.label}")),
        quoted=tuple((panel.key, BASELINE, panel.metric + OVER_LEARNING) for panel in panels.values()),
        line=0.0,
        ticks=5,
        inches=5.8,
        guide=0.5,
        width=1,
        steps="{} environment steps",
    )


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """One panel for each environment, with the dots of its n side by side."""
    by_environment: dict[str, dict[int, Panel]] = {}
    for panel in (drawing.panel for drawing in declared.values()):
        by_environment.setdefault(panel.run.environment, {})[panel.run.settings.planning_updates] = panel
    shown = map(leads, by_environment.values())
    return {forest.letter: forest for forest in shown}
