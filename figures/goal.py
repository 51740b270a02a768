"""Goal, beyond the paper: agents whose warm-up hides the goal, or shows it once."""

from dataclasses import replace

from drawing.forest import full_and_hollow, levels, styles_but_for
from drawing.panels import Drawings, Panels
from drawing.tables import Tables

KEY = full_and_hollow("goal shown once in the warm-up", "goal hidden")


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """The agents in the same rows of every panel, on one axis of returns."""
    for panel in panels.values():
        hidden = {curve for curve, run in panel.curves.items() if run.settings.warm_up_goal == "hidden"}
        styles = styles_but_for(panel, "warm_up_goal").items()
        dots = {curve: replace(style, is_hollow=curve in hidden) for curve, style in styles}
        yield levels(panel, tables, dots, legend=KEY, comparable=panel.metric)
