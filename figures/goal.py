"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from dataclasses import dataclass
from typing import ClassVar

import pandas as pd
from controls import LEARNED, NO_CHAIN, NO_MODEL, Ranking
from dots import Dots
from matplotlib.axes import Axes
from panels import Panel
from style import CurveStyle
from tables import Tables

from dyna_td.pipeline.aggregate import OVER_LEARNING

SHOWN = "_shown"  # ends the curves of agents that were shown the goal
ROWS = {
    "er": CurveStyle("ER", NO_MODEL),
    "prioritized_er": CurveStyle("PrioritizedER", NO_MODEL),
    "dyna_td": CurveStyle("Dyna-TD", "black"),
    "uniform_states": CurveStyle("uniform states", NO_CHAIN),
    "dyna_td_learned": CurveStyle("learned: Dyna-TD", LEARNED),
    "uniform_states_learned": CurveStyle("learned: uniform states", LEARNED),
    "dyna_td_blind": CurveStyle("blind: Dyna-TD", "slategray"),
    "uniform_states_blind": CurveStyle("blind: uniform states", "slategray"),
}


@dataclass
class Pairs(Ranking):
    """Two dots an agent, the mean return over learning: hollow where the goal is hidden, full where it is shown."""

    margins: ClassVar[tuple[float, float]] = (0.7, 0.7)

    @property
    def shown(self) -> list[str]:
        return [curve for curve in self.curves if curve.removesuffix(SHOWN) in self.rows]

    def place(self, key: str) -> tuple[str, str]:
        return key, self.metric + OVER_LEARNING

    def row(self, tables: Tables, key: str) -> pd.Series:
        return Dots.row(self, tables, key)

    def draw(self, axes: Axes, tables: Tables) -> None:
        for curve in self.shown:
            agent = curve.removesuffix(SHOWN)
            is_shown, row, colour = curve != agent, self.row(tables, curve), self.rows[agent].colour
            height = (-0.16 if is_shown else 0.16) - list(self.rows).index(agent)
            half = self.half_width(row) if row["n"] > 1 else 0.0
            face = colour if is_shown else "white"
            axes.errorbar(row["mean"], height, xerr=half, fmt="o", markersize=4, color=colour, mfc=face)
        axes.set_yticks([-place for place in range(len(self.rows))], self.labels(tables))
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(1 - len(self.rows) - self.margins[0], self.margins[1])
        axes.set_xlabel("mean return over learning\n(hollow: hidden, full: shown)")

    def describe(self, tables: Tables) -> str:
        row = self.row(tables, self.shown[0])
        return f"{row['n']:.0f} seeds, means over learning to environment step {row['step']:,.0f}"


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The agents in the same rows of every panel, with their names at the left of two columns."""
    return {
        letter: Pairs(*panel.basics, "", ROWS, is_left=number % 2 == 0)
        for number, (letter, panel) in enumerate(declared.items())
    }
