"""What to use, beyond the paper: each agent's return minus ER's on the panels of figures 4 and 12."""

from dataclasses import replace

from drawing.forest import RATES, SCORES, Dot, Forest, in_rows, interval, seeds_and_steps, styles_but_for
from drawing.panels import Drawings, Panels
from drawing.style import style_of
from drawing.tables import Tables

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.plan.planned import Panel
from dyna_td.runs.registry import task

BASELINE = "er"
SWEPT = "er_swept"  # the baseline of agents at the rate of their own sweep
OFFSET = 0.26  # between the dots of a row, in rows; half of it to a hollow dot
MARKERS = "os^Dv"  # by number of updates per step, from few to many


def leads(panels: dict[int, Panel], tables: Tables) -> Forest:
    """The panels of an environment, by n, as one: an agent's return over learning minus ER's, one marker for each n.

    A hollow marker below it compares the agent and ER at their swept rates, if the figure has them.
    """
    first, own, rows, dots = next(iter(panels.values())), [], [], []
    names: dict[str, int] = {}  # the row of each agent
    for index, panel in enumerate(panels.values()):
        own.append(f"{tables.last(panel.key, BASELINE, panel.metric + OVER_LEARNING)['mean']:,.0f}")
        for curve, style in styles_but_for(panel, "learning_rate").items():
            if style != style_of(BASELINE):
                is_swept = bool(panel.curves[curve].sweep)
                row = tables.last(panel.key, curve, panel.metric + LESS + (SWEPT if is_swept else BASELINE))
                height = OFFSET * (len(panels) / 2 - index - 0.25 - is_swept / 2)
                height -= names.setdefault(style.label, len(names))
                look = replace(style, marker=MARKERS[index % len(MARKERS)], is_hollow=is_swept)
                dots.append(Dot(height, interval(row), look))
                rows.append(row)
    full, hollow = RATES
    by_n = [
        replace(full, label=f"n = {n}, {full.label}", marker=mark) for n, mark in zip(panels, MARKERS, strict=False)
    ]
    return Forest(
        first.key,
        task(first.run.environment),
        in_rows(names),
        dots,
        f"return minus ER's; right is better\n(ER at 0.001, by n: {', '.join(own)})",
        line=0.0,
        ticks=5,
        inches=5.8,
        guide=0.5,
        width=1,
        legend=(*by_n, replace(hollow, label=f"hollow: {hollow.label}")),
        notes=(SCORES,),
        facts=seeds_and_steps(rows),
    )


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """One panel for each environment, with the dots of its n side by side."""
    by_environment: dict[str, dict[int, Panel]] = {}
    for panel in panels.values():
        by_environment.setdefault(panel.run.environment, {})[panel.run.settings.planning_updates] = panel
    return [leads(each, tables) for each in by_environment.values()]
