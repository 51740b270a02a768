"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from collections.abc import Mapping

from drawing.forest import Levels, rows_but_for
from drawing.panels import Drawing
from drawing.style import style_of

MEANINGS = ("goal shown once in the warm-up", "goal hidden")  # meanings of full and hollow dots


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """The agents in the same rows of every panel, named at the left, on one axis of returns."""
    shown: dict[str, Drawing] = {}
    for number, (letter, panel) in enumerate((letter, drawing.panel) for letter, drawing in declared.items()):
        rows = rows_but_for(panel, "warm_up_goal")
        hidden = {curve: run.settings.warm_up_goal == "hidden" for curve, run in panel.curves.items()}
        shown[letter] = Levels(
            panel,
            rows={row: style_of(row) for row in rows.values()},
            places={curve: (row, hidden[curve]) for curve, row in rows.items()},
            meanings=MEANINGS,
            is_named=number % 2 == 0,
            comparable=panel.metric,
        )
    return shown
