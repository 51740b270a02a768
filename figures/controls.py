"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
from drawing.forest import Levels
from drawing.panels import Drawing, seeds_words
from drawing.style import GREY, CurveStyle, Look, style_of
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
LABELS = {
    "return": "return minus Dyna-TD's",
    "distance_uniform": "distance to $p^*$, low is near",
    "entropy_10": "entropy (nats, at most 4.6)",
}


@dataclass
class Ranking(Levels):
    """One dot per agent in the groups above; a curve that the panel lacks leaves a gap."""

    height: ClassVar[float] = 3.5  # inches
    margins: ClassVar[tuple[float, float]] = (0.7, 0.7)
    guides: ClassVar[float | None] = None

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Dots with bars, and a line through Dyna-TD's dot."""
        self.line = self.last_rows(tables)[BASELINE]["mean"]
        super().draw(axes, tables)
        if self.baseline:
            axes.set_xscale("symlog", linthresh=LINEAR)
            ticks = (-1000, -LINEAR, 0, LINEAR)
            axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
        places = list(self.rows)
        for words, agents in GROUPS.items():
            here = [places.index(agent) for agent in agents if agent in places]
            if here and min(here) > 0:
                axes.axhline(0.5 - min(here), color="#DDDDDD", linewidth=0.8, zorder=0)
            if here and not self.is_named:
                look: Look = {"color": GREY, "ha": "left", "va": "center", "fontsize": 7}
                axes.text(1.02, -sum(here) / len(here), words, transform=axes.get_yaxis_transform(), **look)

    def notes(self) -> tuple[str, ...]:
        axis = f"Axes of differences are linear from -{LINEAR} to +{LINEAR}, then logarithmic."
        return (*super().notes(), *([axis] if self.baseline else []))

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = pd.DataFrame(row for curve, row in self.last_rows(tables).items() if curve != BASELINE)
        return seeds_words(rows["n"]), f"{rows['step'].max():,.0f} environment steps"


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """The agents in the same rows of every panel, named at the left; returns are shown minus Dyna-TD's."""
    curves = [curve for drawing in declared.values() for curve in drawing.curves]
    order = dict.fromkeys((*(agent for agents in GROUPS.values() for agent in agents), *curves))
    rows: dict[str, CurveStyle] = {curve: style_of(curve) for curve in order if curve in curves}
    shown: dict[str, Drawing] = {}
    for number, (letter, panel) in enumerate((letter, drawing.panel) for letter, drawing in declared.items()):
        baseline = BASELINE if panel.metric == "return" else ""
        label = LABELS.get(panel.metric, panel.metric)
        shown[letter] = Ranking(panel, label, rows, baseline=baseline, is_named=number % 2 == 0)
    return shown
