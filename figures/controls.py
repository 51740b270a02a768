"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

from collections.abc import Mapping
from functools import partial

from drawing.forest import SCORES, Forest, levels
from drawing.panels import Drawing
from drawing.style import GREY, Look, style_of
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
LABELS = {
    "return": "return minus Dyna-TD's",
    "distance_uniform": "distance to $p^*$, low is near",
    "entropy_10": "entropy (nats, at most 4.6)",
}


def draw_groups(forest: Forest, axes: Axes) -> None:
    """Draws lines between the groups above, and names them beside a panel whose rows have no names."""
    order = list(forest.rows)
    for words, agents in GROUPS.items():
        here = [order.index(agent) for agent in agents if agent in order]
        if here and min(here) > 0:
            axes.axhline(0.5 - min(here), color="#DDDDDD", linewidth=0.8, zorder=0)
        if here and not forest.is_named:
            look: Look = {"color": GREY, "ha": "left", "va": "center", "fontsize": 7}
            axes.text(1.02, -sum(here) / len(here), words, transform=axes.get_yaxis_transform(), **look)
    if forest.metric == "return":
        axes.set_xscale("symlog", linthresh=LINEAR)
        ticks = (-1000, -LINEAR, 0, LINEAR)
        axes.set_xticks(ticks, [f"{tick}" for tick in ticks])


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """The agents in the same rows of every panel; returns are shown minus Dyna-TD's. A curve may leave a gap."""
    curves = [curve for drawing in declared.values() for curve in drawing.curves]
    order = dict.fromkeys((*(agent for agents in GROUPS.values() for agent in agents), *curves))
    looks = {curve: style_of(curve) for curve in order if curve in curves}
    options: Look = {"steps": "{} environment steps", "line": BASELINE, "inches": 3.5, "margins": (0.7, 0.7)}
    shown: dict[str, Drawing] = {}
    for letter, panel in ((letter, drawing.panel) for letter, drawing in declared.items()):
        own: Look = {"x_label": LABELS.get(panel.metric, panel.metric)}
        if panel.metric == "return":
            own["baseline"] = BASELINE
            own["words"] = (SCORES, f"Axes of differences are linear from -{LINEAR} to +{LINEAR}, then logarithmic.")
        forest = levels(panel, looks, guide=None, **own, **options)
        forest.decorate = partial(draw_groups, forest)
        shown[letter] = forest
    return shown
