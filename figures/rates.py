"""Rates, beyond the paper: the agents of figures 13, 4 and 12 at equal learning rates."""

from collections.abc import Mapping

from drawing.forest import RATES, Levels, rows_but_for
from drawing.panels import Drawing
from drawing.style import style_of

# From top to bottom; others stand below them.
AGENTS = ("dyna_td", "dyna_td_learned", "dyna_value", "dyna_frequency", "prioritized_er", "er")
COLUMNS = 3
CHOSEN = "def"  # panels of figure 13, whose sweeps chose another rate than 0.001


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """A row for each agent in every panel, named at the left: full dots at 0.001, hollow ones at the swept rate.

    On the benchmarks a sweep chose 0.001 where its agent has no other curve.
    """
    shown: dict[str, Drawing] = {}
    for number, (letter, panel) in enumerate((letter, drawing.panel) for letter, drawing in declared.items()):
        rows = rows_but_for(panel, "learning_rate")
        fixed = {row for curve, row in rows.items() if not panel.curves[curve].sweep}
        swept = {
            curve for curve, row in rows.items() if panel.curves[curve].sweep and (letter in CHOSEN or row in fixed)
        }
        agents = sorted(dict.fromkeys(rows.values()), key=lambda row: (*AGENTS, row).index(row))
        shown[letter] = Levels(
            panel,
            rows={agent: style_of(agent) for agent in agents},
            places={curve: (row, curve in swept) for curve, row in rows.items()},
            meanings=RATES if swept else (),
            is_named=number % COLUMNS == 0,
        )
    return shown
