"""When, beyond the paper: the return of three agents minus ER's, in worlds that differ in one number, a dial."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from string import ascii_lowercase
from typing import ClassVar

import pandas as pd
from drawing.forest import Forest, Mark
from drawing.panels import Drawing
from drawing.style import Look, style_of
from drawing.tables import Tables, curve_rows
from matplotlib.axes import Axes

from dyna_td.evidence.aggregate import LESS

BASELINE = "er"
RANGE = 2000.0  # the lowest return is -2,000: an episode has at most 2,000 steps of reward -1
# The worlds of each dial, from small to large. The base, which changes nothing, has its place in each.
DIALS = {
    "size of the goal": ("base", "goal_0_1", "goal_0_2", "goal_0_4"),
    "nearness of the goal": ("base", "corner_0_45", "corner_0_25"),
    "noise of the reward": ("base", "reward_noise_0_5", "reward_noise_2"),
    "noise of a step": ("step_noise_0", "base", "step_noise_0_05"),
    "width of the network": ("width_8", "base"),
    "updates a step": ("n_1", "n_5", "base", "n_30"),
    "size of the buffer": ("buffer_5000", "base"),
}
GAP = 0.7  # between the rows of two dials


@dataclass
class Leads(Forest):
    """A row for each world: an agent's return over learning minus ER's, in percent of the range of returns.

    A full dot has a 95% interval that excludes zero. The key of a row is its dial and the panel of its world.
    """

    height: ClassVar[float] = 6.4  # inches
    margins: ClassVar[tuple[float, float]] = (0.8, 1.4)
    guides: ClassVar[float | None] = None
    bar: ClassVar[Look] = {"elinewidth": 1}

    @property
    def heights(self) -> dict[tuple[str, str], float]:
        dials = list(DIALS)
        return {key: -place - GAP * dials.index(key[0]) for place, key in enumerate(self.rows)}

    def numbers(self, tables: Tables, world: str) -> pd.Series:
        """The row of curves.csv of the difference from ER in a world."""
        return curve_rows(tables.curves, world, self.curves[0], self.metric + LESS + BASELINE).iloc[-1]

    def needs(self) -> list[tuple[str, str, str]]:
        return [(world, self.curves[0], self.metric + LESS + BASELINE) for _, world in self.rows]

    def marks(self, tables: Tables) -> list[Mark]:
        found = []
        for key, style in self.rows.items():
            mean, low, high = (100 * self.numbers(tables, key[1])[name] / RANGE for name in ("mean", "low95", "high95"))
            found.append(Mark(key, mean, low, high, style.colour, is_hollow=not (low > 0 or high < 0)))
        return found

    def draw(self, axes: Axes, tables: Tables) -> None:
        super().draw(axes, tables)
        firsts = {dial: height for (dial, _), height in reversed(self.heights.items())}
        for dial, height in firsts.items():
            axes.text(0.01, height + 0.55, dial, transform=axes.get_yaxis_transform(), fontsize=7, color="dimgray")

    def facts(self, tables: Tables) -> tuple[str, ...]:
        return (f"{self.numbers(tables, 'base')['n']:.0f} seeds",)


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """One panel for each agent, with all worlds in the same rows."""
    shown: dict[str, Drawing] = {}
    base = declared["base"].panel
    for curve in base.curves:
        if curve != BASELINE:
            look = style_of(curve)
            panel = replace(
                base,
                key=ascii_lowercase[len(shown)],
                title=f"{look.label} minus ER",
                curves={curve: base.curves[curve]},
            )
            rows = {
                (dial, world): replace(look, label=declared[world].panel.title)
                for dial, worlds in DIALS.items()
                for world in worlds
            }
            words = "percent of the range of returns,\n95% interval; right is better"
            meanings = ("the interval excludes zero", "it does not")
            shown[panel.key] = Leads(panel, words, rows, line=0.0, meanings=meanings, is_named=not shown)
    return shown
