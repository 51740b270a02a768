"""What to use, beyond the paper: each agent's return minus ER's on the panels of figures 4 and 12."""

from dataclasses import dataclass, field
from typing import ClassVar

import pandas as pd
from dots import LEARNED, NO_CHAIN, NO_MODEL, RATES
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from panels import Panel
from style import CurveStyle, graded
from tables import Tables, curve_rows

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING

BASELINE = "er"
SWEPT = "_swept"  # ends the curves of agents at the rate of their own sweep
LABELS = ("n = 5", "n = 10", "n = 30")  # updates a step
ROWS = {
    "prioritized_er": CurveStyle("PrioritizedER (the paper's)", NO_MODEL),
    "schaul_prioritized_er": CurveStyle("PER (Schaul et al.)", NO_MODEL),
    "laber": CurveStyle("LaBER", NO_MODEL),
    "laber_unweighted": CurveStyle("LaBER without weights", NO_MODEL),
    "uniform_states": CurveStyle("true model: uniform states", NO_CHAIN),
    "dyna_td": CurveStyle("true model: Dyna-TD", NO_CHAIN),
    "uniform_states_learned": CurveStyle("learned model: uniform states", LEARNED),
    "dyna_td_learned": CurveStyle("learned model: Dyna-TD", LEARNED),
}


@dataclass
class Forest(Panel):
    """A row for each agent: its return over learning minus ER's with a 95% interval, one dot for each n.

    A hollow dot below has the agent and ER at their swept rates, where the figure has them.

    Attributes:
      by_n: the panels of this environment as they are declared, by the label of their n.
      is_named: whether the rows have names.
    """

    by_n: dict[str, Panel] = field(default_factory=dict)
    is_named: bool = False

    height: ClassVar[float] = 5.8  # inches
    offset: ClassVar[float] = 0.26  # between the dots of a row, in rows; half of it to a hollow dot

    def needs(self) -> list[tuple[str, str, str]]:
        needed = []
        for panel in self.by_n.values():
            needed.append((panel.letter, BASELINE, self.metric + OVER_LEARNING))
            for curve in {*ROWS, *panel.curves} - {BASELINE, BASELINE + SWEPT}:
                rate = SWEPT if curve.endswith(SWEPT) else ""
                needed.append((panel.letter, curve, self.metric + LESS + BASELINE + rate))
        return needed

    def rows(self, tables: Tables, letter: str, curve: str, rate: str = "") -> pd.DataFrame:
        """The rows of curves.csv for an agent's difference; with the rate `SWEPT`, none if it has no sweep."""
        return curve_rows(tables.curves, letter, curve + rate, self.metric + LESS + BASELINE + rate)

    def draw(self, axes: Axes, tables: Tables) -> None:
        looks = self.style_table()
        for place, (label, panel) in enumerate(self.by_n.items()):
            for height, curve in enumerate(ROWS):
                y, colour = self.offset * (len(self.by_n) / 2 - place - 0.25) - height, looks[label].colour
                for lower, rate in ((0.0, ""), (self.offset / 2, SWEPT)):
                    for _, row in self.rows(tables, panel.letter, curve, rate).iterrows():
                        axes.plot([row["low95"], row["high95"]], [y - lower, y - lower], color=colour, linewidth=1)
                        fill = {"mfc": "white" if rate else colour, "label": label}
                        axes.plot(row["mean"], y - lower, "o", markersize=4, color=colour, **fill)
        axes.axvline(0, color="black", linewidth=0.6, linestyle=":")
        for height in range(len(ROWS) - 1):
            axes.axhline(-0.5 - height, color="#EEEEEE", linewidth=0.8, zorder=0)
        axes.set_ylim(0.4 - len(ROWS), 0.6)
        axes.set_yticks([-height for height in range(len(ROWS))], ["" for _ in ROWS])
        axes.tick_params(axis="y", length=0)
        if self.is_named:
            axes.set_yticklabels([style.label for style in ROWS.values()], fontsize=8)
            for tick, style in zip(axes.get_yticklabels(), ROWS.values(), strict=True):
                tick.set_color(style.colour)
        axes.xaxis.set_major_locator(MaxNLocator(5))
        metric = self.metric + OVER_LEARNING
        own = [curve_rows(tables.curves, panel.letter, BASELINE, metric) for panel in self.by_n.values()]
        levels = ", ".join(f"{rows['mean'].iloc[-1]:,.0f}" for rows in own)
        axes.set_xlabel(f"return minus ER's, 95% interval\n(ER: {levels}); right is better", fontsize=8)

    def style_table(self) -> dict[str, CurveStyle]:
        return graded({label: label for label in LABELS})

    def legend(self) -> tuple[CurveStyle, ...]:
        return tuple(self.style_table()[label] for label in self.by_n)

    def describe(self, tables: Tables) -> str:
        row = self.rows(tables, self.letter, next(iter(ROWS))).iloc[-1]
        return f"{row['n']:.0f} seeds, means over learning to environment step {row['step']:,.0f}{RATES}"


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """One panel for each environment, with the dots of its n side by side."""
    by_environment: dict[str, dict[str, Panel]] = {}
    for panel in declared.values():
        environment, n = panel.title.split(", ")
        by_environment.setdefault(environment, {})[n] = panel
    shown = {}
    for environment, by_n in by_environment.items():
        first = next(iter(by_n.values()))
        shown[first.letter] = Forest(first.letter, environment, "return", first.curves, by_n=by_n, is_named=not shown)
    return shown
