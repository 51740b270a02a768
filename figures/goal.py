"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from collections.abc import Mapping

from drawing.forest import full_and_hollow, levels, rows_but_for
from drawing.panels import Drawing
from drawing.style import style_of

KEY = full_and_hollow("goal shown once in the warm-up", "goal hidden")


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """The agents in the same rows of every panel, on one axis of returns."""
    shown: dict[str, Drawing] = {}
    for letter, panel in ((letter, drawing.panel) for letter, drawing in declared.items()):
        rows = rows_but_for(panel, "warm_up_goal")
        looks = {row: style_of(row) for row in rows.values()}
        hidden = [curve for curve, run in panel.curves.items() if run.settings.warm_up_goal == "hidden"]
        shown[letter] = levels(panel, looks, rows, hidden, key=KEY, comparable=panel.metric)
    return shown
