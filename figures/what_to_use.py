"""What to use, beyond the paper: each agent's return minus ER's on the panels of figures 4 and 12."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pandas as pd
from drawing.dots import RATES, SCORES, full_and_hollow
from drawing.panels import Panel
from drawing.style import GREY, CurveStyle, Look, style_of
from drawing.tables import Tables, curve_rows
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING

BASELINE = "er"
SWEPT = "_swept"  # suffix of the curves of agents at the rate of their own sweep
MARKERS = {"n = 5": "o", "n = 10": "s", "n = 30": "^"}  # by number of updates per step
# From top to bottom; others stand below them.
AGENTS = (
    "prioritized_er",
    "schaul_prioritized_er",
    "laber",
    "laber_unweighted",
    "uniform_states",
    "dyna_td",
    "uniform_states_learned",
    "dyna_td_learned",
)


@dataclass
class Forest(Panel):
    """A row for each agent: its return over learning minus ER's with a 95% interval, one marker for each n.

    A hollow marker below it compares the agent and ER at their swept rates, if the figure has them.

    Attributes:
      by_n: the declared panels of this environment, by the label of their n.
      is_named: whether the rows have names.
    """

    by_n: dict[str, Panel] = field(default_factory=dict)
    is_named: bool = False

    height: ClassVar[float] = 5.8  # inches
    offset: ClassVar[float] = 0.26  # between the dots of a row, in rows; half of it to a hollow dot

    @property
    def agents(self) -> list[str]:
        """The agents in the order of their rows."""
        own = [curve for panel in self.by_n.values() for curve in panel.curves if not curve.endswith(SWEPT)]
        return [curve for curve in dict.fromkeys((*AGENTS, *own)) if curve != BASELINE]

    def needs(self) -> list[tuple[str, str, str]]:
        needed = []
        for panel in self.by_n.values():
            needed.append((panel.letter, BASELINE, self.metric + OVER_LEARNING))
            for curve in {*AGENTS, *panel.curves} - {BASELINE, BASELINE + SWEPT}:
                rate = SWEPT if curve.endswith(SWEPT) else ""
                needed.append((panel.letter, curve, self.metric + LESS + BASELINE + rate))
        return needed

    def rows(self, tables: Tables, letter: str, curve: str, rate: str = "") -> pd.DataFrame:
        """The rows of curves.csv for an agent's difference; with the rate `SWEPT`, none if it has no sweep."""
        return curve_rows(tables.curves, letter, curve + rate, self.metric + LESS + BASELINE + rate)

    def draw(self, axes: Axes, tables: Tables) -> None:
        for place, (label, panel) in enumerate(self.by_n.items()):
            for height, curve in enumerate(self.agents):
                y, colour = self.offset * (len(self.by_n) / 2 - place - 0.25) - height, style_of(curve).colour
                for lower, rate in ((0.0, ""), (self.offset / 2, SWEPT)):
                    for _, row in self.rows(tables, panel.letter, curve, rate).iterrows():
                        axes.plot([row["low95"], row["high95"]], [y - lower, y - lower], color=colour, linewidth=1)
                        look: Look = {"marker": MARKERS[label], "markersize": 4, "mfc": "white" if rate else colour}
                        axes.plot(row["mean"], y - lower, color=colour, **look)
        axes.axvline(0, color="black", linewidth=0.6, linestyle=":")
        for height in range(len(self.agents) - 1):
            axes.axhline(-0.5 - height, color="#EEEEEE", linewidth=0.8, zorder=0)
        axes.set_ylim(0.4 - len(self.agents), 0.6)
        axes.set_yticks([-height for height in range(len(self.agents))], ["" for _ in self.agents])
        axes.tick_params(axis="y", length=0)
        if self.is_named:
            axes.set_yticklabels([style_of(curve).label for curve in self.agents], fontsize=8)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        metric = self.metric + OVER_LEARNING
        own = [curve_rows(tables.curves, panel.letter, BASELINE, metric) for panel in self.by_n.values()]
        levels = ", ".join(f"{rows['mean'].iloc[-1]:,.0f}" for rows in own)
        axes.set_xlabel(f"return minus ER's, 95% interval\n(ER: {levels}); right is better", fontsize=8)

    def legend(self) -> tuple[CurveStyle, ...]:
        full, hollow = full_and_hollow(*RATES)
        by_n = [CurveStyle(f"{label}, {full.label}", GREY, marker=MARKERS[label]) for label in self.by_n]
        return (*by_n, replace(hollow, label=f"hollow: {hollow.label}"))

    def notes(self) -> tuple[str, ...]:
        return (SCORES,)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        row = self.rows(tables, self.letter, AGENTS[0]).iloc[-1]
        return f"{row['n']:.0f} seeds", f"{row['step']:,.0f} environment steps"


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """One panel for each environment, with the dots of its n side by side."""
    by_environment: dict[str, dict[str, Panel]] = {}
    for panel in declared.values():
        environment, n = panel.title.split(", ")
        by_environment.setdefault(environment, {})[n] = panel
    shown: dict[str, Panel] = {}
    for environment, by_n in by_environment.items():
        first = next(iter(by_n.values()))
        shown[first.letter] = Forest(first.letter, environment, "return", first.curves, by_n=by_n, is_named=not shown)
    return shown
