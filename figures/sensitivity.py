"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

from dataclasses import replace

from drawing.forest import full_and_hollow, levels
from drawing.panels import Drawings, Panels, style_table
from drawing.style import LOOKS
from drawing.tables import Tables


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """A dot for each curve, in its agent's colour and named as in the YAML file; curves of a figure are full."""
    legend = full_and_hollow("the number of our figure", "another number")
    for panel in panels.values():
        looks = style_table(panel)
        dots = {curve: replace(looks[curve], is_hollow=curve not in LOOKS) for curve in panel.curves}
        yield levels(panel, tables, dots, repeats_names=True, legend=legend)
