"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from drawing.forest import levels
from drawing.panels import Drawings, Panels, lines, style_table
from drawing.tables import Tables

LINES_TOO = "hi"  # panels that show the effect of smoothing, which needs lines


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """A dot for each curve, in its agent's colour and named as in the YAML file; lines in panels about smoothing."""
    for key, panel in panels.items():
        looks = style_table(panel)
        dots = {curve: looks[curve] for curve in panel.curves}
        yield lines(panel, tables) if key in LINES_TOO else levels(panel, tables, dots, repeats_names=True)
