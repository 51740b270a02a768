"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
from dots import LEARNED, NO_CHAIN, NO_MODEL, Dots, few_ticks
from matplotlib.axes import Axes
from panels import Panel, seeds_words
from style import CurveStyle
from tables import Tables

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING

BASELINE = "dyna_td"

# One row an agent, from top to bottom; agents of one colour answer one question.
CHAIN, RULE = "blue", "slategray"
ROWS = {
    BASELINE: CurveStyle("Dyna-TD", "black"),
    "descend_td": CurveStyle("descend the TD error", CHAIN),
    "random_sign": CurveStyle("random sign", CHAIN),
    "random_sign_each_step": CurveStyle("random sign, each step", CHAIN),
    "dyna_value": CurveStyle("ascend V (Dyna-Value)", CHAIN),
    "descend_value": CurveStyle("descend V", CHAIN),
    "random_direction": CurveStyle("random direction", CHAIN),
    "noise_only": CurveStyle("noise only", CHAIN),
    "uniform_states": CurveStyle("uniform states", NO_CHAIN),
    "replayed_states": CurveStyle("states of ER", NO_CHAIN),
    "ideal_states": CurveStyle("states from $p^*$", NO_CHAIN),
    "dyna_td_algorithm_4": CurveStyle("rule of Algorithm 4", RULE),
    "dyna_td_langevin": CurveStyle("Langevin rule", RULE),
    "dyna_frequency": CurveStyle("Dyna-Frequency", RULE),
    "dyna_td_learned": CurveStyle("learned: Dyna-TD", LEARNED),
    "dyna_value_learned": CurveStyle("learned: Dyna-Value", LEARNED),
    "dyna_frequency_learned": CurveStyle("learned: Dyna-Frequency", LEARNED),
    "uniform_states_learned": CurveStyle("learned: uniform states", LEARNED),
    "replayed_states_learned": CurveStyle("learned: states of ER", LEARNED),
    "er": CurveStyle("ER", NO_MODEL),
    "prioritized_er": CurveStyle("PrioritizedER", NO_MODEL),
    "schaul_prioritized_er": CurveStyle("Schaul's PER", NO_MODEL),
    "cubic_dqn": CurveStyle("ER, cubic loss", NO_MODEL),
}
GROUPS = {
    CHAIN: "other\ndirections",
    NO_CHAIN: "no chains",
    RULE: "other\nsteps",
    LEARNED: "learned\nmodel",
    NO_MODEL: "no model",
}
LABELS = {
    "return": "return minus Dyna-TD's",
    "distance_uniform": "distance to $p^*$, low is near",
    "entropy_10": "entropy (nats, at most 4.6)",
}


@dataclass
class Ranking(Dots):
    """One dot an agent, its score over the whole of learning, with a 95% interval over seeds.

    Returns are shown minus Dyna-TD's. `rows` is keyed by curve; a curve that the panel lacks leaves a gap.
    """

    is_named: bool = False  # whether the rows have names

    margins: ClassVar[tuple[float, float]] = (0.7, 0.7)

    @property
    def shown(self) -> list[str]:
        return [curve for curve in self.rows if curve in self.curves]

    @property
    def is_difference(self) -> bool:
        """Whether Dyna-TD itself is 0."""
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
            axes.set_xscale("symlog", linthresh=100)
            axes.set_xticks([-1000, -100, 0, 100], ["-1000", "-100", "0", "100"])
        else:
            few_ticks(axes, self.metric)
        if not self.is_named:
            self._name_groups(axes)

    def _name_groups(self, axes: Axes) -> None:
        """The question that the agents of one colour answer, beside their rows."""
        rows = [style.colour for style in self.rows.values()]
        for colour, words in GROUPS.items():
            if colour in rows:
                middle = -(rows.index(colour) + len(rows) - 1 - rows[::-1].index(colour)) / 2
                look = {"color": colour, "ha": "left", "va": "center", "fontsize": 7}
                axes.text(1.02, middle, words, transform=axes.get_yaxis_transform(), **look)

    def describe(self, tables: Tables) -> str:
        rows = pd.DataFrame([self.row(tables, curve) for curve in self.shown if curve != BASELINE])
        return f"{seeds_words(rows['n'])}, means over learning to environment step {rows['step'].max():,.0f}"


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The agents in the same rows of every panel, with their names at the left of two columns."""
    curves = [curve for panel in declared.values() for curve in panel.curves]
    rows = ROWS | {curve: CurveStyle(curve, "gray") for curve in curves if curve not in ROWS}
    return {
        letter: Ranking(*panel.basics, LABELS.get(panel.metric, panel.metric), rows, is_named=number % 2 == 0)
        for number, (letter, panel) in enumerate(declared.items())
    }
