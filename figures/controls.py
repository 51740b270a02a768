"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from panels import AnyPanel
from rendering import render
from style import CURVES, FOREST_GREEN, CurveStyle
from tables import Tables, curve_rows, require_curve

WARM_UP = 5_000  # environment steps before learning starts (paper); a shorter run is averaged from its first evaluation

# One row an agent, from top to bottom; a colour is what is asked of the agents that have it.
CHAIN, NO_CHAIN, RULE, LEARNED, NO_MODEL = "blue", "darkorange", "slategray", "purple", FOREST_GREEN
ROWS = {
    "dyna_td": CurveStyle("Dyna-TD", "black"),
    "dyna_value": CurveStyle("ascend V (Dyna-Value)", CHAIN),
    "dyna_frequency": CurveStyle("Dyna-Frequency", CHAIN),
    "descend_value": CurveStyle("descend V", CHAIN),
    "random_sign": CurveStyle("random sign", CHAIN),
    "noise_only": CurveStyle("noise only", CHAIN),
    "uniform_states": CurveStyle("uniform states", NO_CHAIN),
    "replayed_states": CurveStyle("states of ER", NO_CHAIN),
    "ideal_states": CurveStyle("states from $p^*$", NO_CHAIN),
    "dyna_td_algorithm_4": CurveStyle("rule of Algorithm 4", RULE),
    "dyna_td_langevin": CurveStyle("Langevin rule", RULE),
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


@dataclass(frozen=True)
class Ranking(AnyPanel):
    """One dot an agent: the mean of a metric over the evaluations after the warm-up, with a standard error either way.

    Attributes:
      letter: the panel's key in curves.csv, also printed before the title.
      title: environment and n.
      metric: the rows of curves.csv to average.
      label: meaning and unit of the metric.
      curves: those of `ROWS` that the panel has.
    """

    letter: str
    title: str
    metric: str
    label: str
    curves: tuple[str, ...]

    def style_table(self) -> dict[str, CurveStyle]:
        return CURVES | ROWS

    def check(self, tables: Tables, path: Path) -> None:
        super().check(tables, path)
        for curve in self.curves:
            require_curve(tables.curves, self.letter, curve, self.metric, path)

    def rows(self, tables: Tables, curve: str) -> pd.DataFrame:
        """The evaluations of one curve that are averaged."""
        rows = curve_rows(tables.curves, self.letter, curve, self.metric)
        return rows[rows["step"] > (WARM_UP if rows["step"].max() > WARM_UP else 0)]

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Dots with bars, and Dyna-TD's dot as a line through all rows.

        The mean of standard errors is the mean's own if its evaluations were perfectly correlated, and too wide
        otherwise.
        """
        places = {curve: -place for place, curve in enumerate(ROWS) if curve in self.curves}
        for curve, place in places.items():
            rows = self.rows(tables, curve)
            look = {"color": ROWS[curve].colour, "label": ROWS[curve].label}
            axes.errorbar(rows["mean"].mean(), place, xerr=rows["standard_error"].mean(), fmt="o", markersize=4, **look)
        axes.axvline(self.rows(tables, "dyna_td")["mean"].mean(), color="black", linewidth=0.6, linestyle=":")
        axes.set_yticks(list(places.values()), [ROWS[curve].label for curve in places], fontsize=7)
        axes.set_ylim(0.7 - len(ROWS), 0.7)
        axes.set_xlabel(self.label)
        axes.xaxis.set_major_locator(MaxNLocator(3))

    def describe(self, tables: Tables) -> str:
        rows = pd.concat([self.rows(tables, curve) for curve in self.curves])
        seeds, first, last = rows["n"].max(), rows["step"].min(), rows["step"].max()
        return f"{seeds:.0f} seeds, means of the evaluations at {first:,.0f} to {last:,.0f} environment steps"


ON_MOUNTAIN_CAR = tuple(curve for curve in ROWS if curve != "ideal_states")  # p* is known on GridWorld alone
RETURN = "mean evaluation return"
PANELS = (
    Ranking("a", "MountainCar, n = 10", "return", RETURN, ON_MOUNTAIN_CAR),
    Ranking("b", "MountainCar, n = 30", "return", RETURN, ON_MOUNTAIN_CAR),
    Ranking("c", "GridWorld, n = 30", "return", RETURN, tuple(ROWS)),
    Ranking("d", "GridWorld, n = 10", "return", RETURN, tuple(ROWS)),
    Ranking("e", "distance in (d)", "distance_uniform", "distance to $p^*$, low is near", tuple(ROWS)),
    Ranking("f", "coverage in (d)", "entropy_10", "entropy (nats, at most 4.6)", tuple(ROWS)),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=3)


if __name__ == "__main__":
    sys.exit(main())
