"""Controls, beyond the paper: what helps Dyna-TD - the TD error, the model's fresh transitions, or coverage?"""

import sys
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import scipy
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from panels import AnyPanel
from rendering import render
from style import CURVES, FOREST_GREEN, CurveStyle
from tables import Tables, curve_rows, require_curve

from dyna_td.pipeline.aggregate import LESS, OVER_LEARNING

BASELINE = "dyna_td"

# One row an agent, from top to bottom; a colour is what is asked of the agents that have it.
CHAIN, NO_CHAIN, RULE, LEARNED, NO_MODEL = "blue", "darkorange", "slategray", "purple", FOREST_GREEN
ROWS = {
    BASELINE: CurveStyle("Dyna-TD", "black"),
    "descend_td": CurveStyle("descend the TD error", CHAIN),
    "random_sign": CurveStyle("random sign", CHAIN),
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
    "er_same_rate": CurveStyle("ER, Dyna-TD's rate", NO_MODEL),
    "prioritized_er": CurveStyle("PrioritizedER", NO_MODEL),
    "schaul_prioritized_er": CurveStyle("Schaul's PER", NO_MODEL),
    "cubic_dqn": CurveStyle("ER, cubic loss", NO_MODEL),
}


@dataclass(frozen=True)
class Ranking(AnyPanel):
    """One dot an agent: its score over the whole of learning, or that less Dyna-TD's, with a 95% interval over seeds.

    Attributes:
      letter: the panel's key in curves.csv, also printed before the title.
      title: what is compared where.
      metric: the panel's own.
      compared: what follows it in curves.csv, where each curve has one such row.
      label: meaning and unit of the metric.
      curves: those of `ROWS` that the panel has.
      is_left: whether the rows are named.
    """

    letter: str
    title: str
    metric: str
    compared: str
    label: str
    curves: tuple[str, ...]
    is_left: bool = False

    @property
    def is_difference(self) -> bool:
        """Whether Dyna-TD itself is 0, and has no row in curves.csv."""
        return self.compared == LESS + BASELINE

    def style_table(self) -> dict[str, CurveStyle]:
        return CURVES | ROWS

    def check(self, tables: Tables, path: Path) -> None:
        super().check(tables, path)
        for curve in self.curves:
            if not (self.is_difference and curve == BASELINE):
                require_curve(tables.curves, self.letter, curve, self.metric + self.compared, path)

    def row(self, tables: Tables, curve: str) -> pd.Series:
        """What curves.csv says of one curve."""
        if self.is_difference and curve == BASELINE:
            return pd.Series({"mean": 0.0, "standard_error": 0.0, "n": 0})
        return curve_rows(tables.curves, self.letter, curve, self.metric + self.compared).iloc[-1]

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Dots with bars, and Dyna-TD's dot as a line through all rows."""
        places = {curve: -place for place, curve in enumerate(ROWS)}
        for curve in ROWS:
            if curve in self.curves:
                row, look = self.row(tables, curve), {"color": ROWS[curve].colour, "label": ROWS[curve].label}
                bar = scipy.stats.t.ppf(0.975, row["n"] - 1) * row["standard_error"] if row["n"] > 1 else 0.0
                axes.errorbar(row["mean"], places[curve], xerr=bar, fmt="o", markersize=4, **look)
        axes.axvline(self.row(tables, BASELINE)["mean"], color="black", linewidth=0.6, linestyle=":")
        axes.set_yticks(list(places.values()), [ROWS[curve].label if self.is_left else "" for curve in places])
        axes.tick_params(axis="y", labelsize=7)
        axes.set_ylim(0.3 - len(ROWS), 0.7)
        axes.set_xlabel(self.label)
        if self.is_difference:
            axes.set_xscale("symlog", linthresh=100)
            axes.set_xticks([-1000, -100, 0, 100], ["-1000", "-100", "0", "100"])
        else:
            axes.xaxis.set_major_locator(MaxNLocator(4))

    def describe(self, tables: Tables) -> str:
        rows = pd.DataFrame([self.row(tables, curve) for curve in self.curves if curve != BASELINE])
        fewest, most, last = rows["n"].min(), rows["n"].max(), rows["step"].max()
        seeds = f"{most:.0f}" if fewest == most else f"{fewest:.0f} to {most:.0f}"
        return f"{seeds} seeds, means over learning to environment step {last:,.0f}"


ON_MOUNTAIN_CAR = tuple(curve for curve in ROWS if curve != "ideal_states")  # p* is known on GridWorld alone
RETURN = ("return", LESS + BASELINE, "return less Dyna-TD's")
DISTANCE = ("distance_uniform", OVER_LEARNING, "distance to $p^*$, low is near")
COVERAGE = ("entropy_10", OVER_LEARNING, "entropy (nats, at most 4.6)")
PANELS = (
    Ranking("a", "MountainCar", *RETURN, ON_MOUNTAIN_CAR, is_left=True),
    Ranking("b", "GridWorld", *RETURN, tuple(ROWS)),
    Ranking("c", "distance in (b)", *DISTANCE, tuple(ROWS), is_left=True),
    Ranking("d", "coverage in (b)", *COVERAGE, tuple(ROWS)),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=2)


if __name__ == "__main__":
    sys.exit(main())
