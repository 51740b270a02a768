"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
from drawing.dots import SCORES, Dots, few_ticks
from drawing.panels import Panel, seeds_words
from drawing.style import GREY, CurveStyle, Look, style_of
from drawing.tables import Tables
from matplotlib.axes import Axes

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING

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
class Ranking(Dots):
    """One dot per agent, its score over the whole of learning, with a 95% interval over seeds.

    Returns are shown minus Dyna-TD's. `rows` is keyed by curve; a curve that the panel lacks leaves a gap.
    """

    is_named: bool = False  # whether the rows have names

    height: ClassVar[float] = 3.5  # inches
    margins: ClassVar[tuple[float, float]] = (0.7, 0.7)

    @property
    def shown(self) -> list[str]:
        return [curve for curve in self.rows if curve in self.curves]

    @property
    def is_difference(self) -> bool:
        """Whether dots are differences from Dyna-TD, which itself is at 0."""
        return self.metric == "return"

    def place(self, key: str) -> tuple[str, str]:
        return key, self.metric + (LESS + BASELINE if self.is_difference and key != BASELINE else OVER_LEARNING)

    def row(self, tables: Tables, key: str) -> pd.Series:
        row = super().row(tables, key)
        return pd.Series({"mean": 0.0, "n": 0}) if self.is_difference and key == BASELINE else row

    def half_width(self, row: pd.Series) -> float:
        return row["high95"] - row["mean"]

    def labels(self, tables: Tables) -> list[str]:
        return [style.label if self.is_named else "" for style in self.rows.values()]

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Dots with bars, and a line through Dyna-TD's dot."""
        self.line = self.row(tables, BASELINE)["mean"]
        super().draw(axes, tables)
        if self.is_difference:
            axes.set_xscale("symlog", linthresh=LINEAR)
            ticks = (-1000, -LINEAR, 0, LINEAR)
            axes.set_xticks(ticks, [f"{tick}" for tick in ticks])
        else:
            few_ticks(axes, self.metric)
        self._part_groups(axes)

    def _part_groups(self, axes: Axes) -> None:
        """Draws a line between groups, and each group's name beside its rows."""
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
        return (SCORES, *([axis] if self.is_difference else []))

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = pd.DataFrame([self.row(tables, curve) for curve in self.shown if curve != BASELINE])
        return seeds_words(rows["n"]), f"{rows['step'].max():,.0f} environment steps"


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """The agents in the same rows of every panel, with their names at the left of two columns."""
    curves = [curve for panel in declared.values() for curve in panel.curves]
    order = dict.fromkeys((*(agent for agents in GROUPS.values() for agent in agents), *curves))
    rows: dict[str, CurveStyle] = {curve: style_of(curve) for curve in order if curve in curves}
    return {
        letter: Ranking(*panel.basics, LABELS.get(panel.metric, panel.metric), rows, is_named=number % 2 == 0)
        for number, (letter, panel) in enumerate(declared.items())
    }
