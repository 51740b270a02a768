"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from drawing.forest import levels
from drawing.panels import Drawings, Panels, style_table
from drawing.tables import Tables


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """A dot for each curve, in its agent's colour and named as in the YAML file."""
    for panel in panels.values():
        looks = style_table(panel)
        yield levels(panel, tables, {curve: looks[curve] for curve in panel.curves}, repeats_names=True)
