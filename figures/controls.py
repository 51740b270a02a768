"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

from collections.abc import Sequence
from functools import partial
from itertools import chain

from drawing.forest import SCORES, levels
from drawing.panels import Drawings, Panels
from drawing.style import GREY, Look, style_of
from drawing.tables import Tables
from matplotlib.axes import Axes

BASELINE = "dyna_td"

# Rows from top to bottom: agents of one group answer one question.
GROUPS = {
    "": (BASELINE,),
    "other\ndirections": (
        "descend_td",
        "moving_target",
        "random_sign",
        "random_sign_each_step",
        "dyna_value",
        "descend_value",
        "random_direction",
        "noise_only",
    ),
    "no chains": ("uniform_states", "replayed_states", "ideal_states"),
    "other\nsteps": ("dyna_td_algorithm_4", "dyna_td_langevin", "dyna_frequency"),
    "learned\nmodel": (
        "dyna_td_learned",
        "dyna_value_learned",
        "dyna_frequency_learned",
        "uniform_states_learned",
        "replayed_states_learned",
    ),
    "no model": ("er", "prioritized_er", "schaul_prioritized_er", "cubic_dqn"),
}
LINEAR = 100  # the axis of differences is linear to here, then logarithmic
BETWEEN = (-800, -600, -400, -200, -50, 50)  # ticks without numbers
WORDS = (SCORES, f"Axes of differences are linear from -{LINEAR} to +{LINEAR}, then logarithmic.")
OPTIONS: dict[str, Look] = {  # by metric
    "return": {"x_label": "return minus Dyna-TD's", "baseline": BASELINE, "notes": WORDS},
    "distance_uniform": {"x_label": "distance to $p^*$, low is near"},
}


def draw_groups(order: Sequence[str], is_difference: bool, axes: Axes) -> None:
    """Draws lines between the groups above, and names them beside a panel whose rows have no names."""
    for words, agents in GROUPS.items():
        here = [order.index(agent) for agent in agents if agent in order]
        if here and min(here) > 0:
            axes.axhline(0.5 - min(here), color="#DDDDDD", linewidth=0.8, zorder=0)
        if here and not axes.yaxis.get_tick_params()["labelleft"]:
            look: Look = {"color": GREY, "ha": "left", "va": "center", "fontsize": 7}
            axes.text(1.02, -sum(here) / len(here), words, transform=axes.get_yaxis_transform(), **look)
    axes.set_ylim(0.3 - len(order), 0.7)
    if is_difference:
        axes.set_xscale("symlog", linthresh=LINEAR)
        ticks = (-1000, -LINEAR, 0, LINEAR)
        axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
        axes.set_xticks(BETWEEN, minor=True)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """The agents in the same rows of every panel; returns are shown minus Dyna-TD's. A curve may leave a gap."""
    curves = {curve for panel in panels.values() for curve in panel.curves}
    order = [curve for curve in dict.fromkeys((*chain(*GROUPS.values()), *sorted(curves))) if curve in curves]
    looks = {curve: style_of(curve) for curve in order}
    for panel in panels.values():
        options: Look = {"names": [look.label for look in looks.values()], "inches": 3.5, "guide": None}
        options |= {"decorate": partial(draw_groups, order, panel.metric == "return"), **OPTIONS.get(panel.metric, {})}
        forest = levels(panel, tables, {curve: looks[curve] for curve in panel.curves}, says_steps=True, **options)
        forest.line = next(dot.bar.mean for dot in forest.dots if dot.style == looks[BASELINE])
        yield forest
