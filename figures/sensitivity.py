"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from collections.abc import Mapping

from drawing.forest import levels
from drawing.panels import Drawing

LINES_TOO = "hi"  # panels that show the effect of smoothing, which needs lines


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """A dot for each curve, in its agent's colour and named as in the YAML file; lines in panels about smoothing."""
    shown: dict[str, Drawing] = {}
    for letter, drawing in declared.items():
        looks = drawing.style_table()
        rows = {curve: looks[curve] for curve in drawing.curves}
        shown[letter] = drawing if letter in LINES_TOO else levels(drawing.panel, rows, shares_names=False)
    return shown
