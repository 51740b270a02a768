"""Rates, beyond the paper: the agents of figures 13, 4 and 12 at equal learning rates."""

from collections.abc import Mapping

from drawing.forest import RATES, levels, rows_but_for
from drawing.panels import Drawing
from drawing.style import style_of

CHOSEN = "def"  # panels of figure 13, whose sweeps chose another rate than 0.001


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """A row for each agent in every panel: full dots at 0.001, hollow ones at the swept rate.

    On the benchmarks a sweep chose 0.001 where its agent has no other curve.
    """
    shown: dict[str, Drawing] = {}
    for letter, panel in ((letter, drawing.panel) for letter, drawing in declared.items()):
        rows = rows_but_for(panel, "learning_rate")
        fixed = {row for curve, row in rows.items() if not panel.curves[curve].sweep}
        swept = [
            curve for curve, row in rows.items() if panel.curves[curve].sweep and (letter in CHOSEN or row in fixed)
        ]
        looks = {row: style_of(row) for row in rows.values()}
        shown[letter] = levels(panel, looks, rows, swept, key=RATES if swept else ())
    return shown
