"""What to use, beyond the paper: each agent's return minus ER's on the panels of figures 4 and 12."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar

import pandas as pd
from drawing.forest import RATES, Forest, Mark, full_and_hollow, rows_but_for
from drawing.panels import Drawing
from drawing.style import CurveStyle, Look, style_of
from drawing.tables import Tables, curve_rows
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.evidence.labels import task
from dyna_td.plan.planned import Panel

BASELINE = "er"
SWEPT = "er_swept"  # the baseline of agents at the rate of their own sweep
MARKERS = "os^Dv"  # by number of updates per step, from few to many
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
class Leads(Forest):
    """A row for each agent: its return over learning minus ER's with a 95% interval, one marker for each n.

    A hollow marker below it compares the agent and ER at their swept rates, if the figure has them.

    Attributes:
      by_n: the panels of this environment, by their number of updates per step.
    """

    by_n: dict[int, Panel] = field(default_factory=dict, kw_only=True)

    height: ClassVar[float] = 5.8  # inches
    margins: ClassVar[tuple[float, float]] = (0.6, 0.6)
    guides: ClassVar[float | None] = 0.5
    bar: ClassVar[Look] = {"elinewidth": 1}
    offset: ClassVar[float] = 0.26  # between the dots of a row, in rows; half of it to a hollow dot

    def compared(self) -> list[tuple[int, str, str, str]]:
        """Of each dot the number of updates, the row, the curve and its baseline."""
        found = []
        for n, panel in self.by_n.items():
            for curve, row in rows_but_for(panel, "learning_rate").items():
                if row in self.rows:
                    found.append((n, row, curve, SWEPT if panel.curves[curve].sweep else BASELINE))
        return found

    def needs(self) -> list[tuple[str, str, str]]:
        own = [(panel.key, BASELINE, self.metric + OVER_LEARNING) for panel in self.by_n.values()]
        return own + [(self.by_n[n].key, curve, self.metric + LESS + base) for n, _, curve, base in self.compared()]

    def numbers(self, tables: Tables, n: int, curve: str, baseline: str) -> pd.Series:
        """The row of curves.csv of a difference."""
        return curve_rows(tables.curves, self.by_n[n].key, curve, self.metric + LESS + baseline).iloc[-1]

    def marks(self, tables: Tables) -> list[Mark]:
        places, found = list(self.by_n), []
        for n, row, curve, baseline in self.compared():
            place, is_hollow = places.index(n), baseline == SWEPT
            offset = self.offset * (len(places) / 2 - place - 0.25 - is_hollow / 2)
            look: Look = {"marker": MARKERS[place % len(MARKERS)], "is_hollow": is_hollow, "offset": offset}
            found.append(Mark.of(row, self.numbers(tables, n, curve, baseline), self.rows[row].colour, **look))
        return found

    def draw(self, axes: Axes, tables: Tables) -> None:
        metric = self.metric + OVER_LEARNING
        own = [curve_rows(tables.curves, panel.key, BASELINE, metric) for panel in self.by_n.values()]
        levels = ", ".join(f"{rows['mean'].iloc[-1]:,.0f}" for rows in own)
        self.x_label = f"return minus ER's, 95% interval\n(ER: {levels}); right is better"
        super().draw(axes, tables)
        axes.xaxis.set_major_locator(MaxNLocator(5))

    def legend(self) -> tuple[CurveStyle, ...]:
        full, hollow = full_and_hollow(*RATES)
        by_n = [
            replace(full, label=f"n = {n}, {full.label}", marker=MARKERS[place]) for place, n in enumerate(self.by_n)
        ]
        return (*by_n, replace(hollow, label=f"hollow: {hollow.label}"))

    def facts(self, tables: Tables) -> tuple[str, ...]:
        n, _, curve, baseline = self.compared()[0]
        row = self.numbers(tables, n, curve, baseline)
        return f"{row['n']:.0f} seeds", f"{row['step']:,.0f} environment steps"


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """One panel for each environment, with the dots of its n side by side."""
    by_environment: dict[str, dict[int, Panel]] = {}
    for panel in (drawing.panel for drawing in declared.values()):
        of_n = by_environment.setdefault(panel.run.environment, {})
        of_n[panel.run.settings.planning_updates] = panel
    shown: dict[str, Drawing] = {}
    for environment, by_n in by_environment.items():
        first = next(iter(by_n.values()))
        own = {row for panel in by_n.values() for row in rows_but_for(panel, "learning_rate").values()} - {BASELINE}
        rows = {row: style_of(row) for row in sorted(own, key=lambda row: (*AGENTS, row).index(row))}
        panel = replace(first, title=task(environment))
        shown[panel.key] = Leads(panel, rows=rows, by_n=by_n, line=0.0, is_named=len(shown) % 2 == 0)
    return shown
