"""The look of every curve: an agent has one colour and one dash in all pictures. `LOOKS` has a line for each."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib

from dyna_td.evidence.labels import MODELS, name_of

# The palette of Okabe and Ito (2008), which colour-blind readers can tell apart, without yellow, with a darker purple.
BLACK, ORANGE, SKY_BLUE, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
BLUE, VERMILION, PURPLE = "#0072B2", "#D55E00", "#B4558F"
GREY = "#6F6F6F"  # all else
OWN_PALETTE = ("#8C510A", "#7B7B00", "#C51B7D", "#4D004B", "#35978F")  # curves without a look: no agent has these

VERDICTS = {"supported": BLUE, "contradicted": "#C24F00"}  # dark enough for white letters

PANEL_SIZE = (3.0, 3.0)  # inches, width and height with axis labels and legend
DOTS_PER_INCH = 200  # in the PNG

matplotlib.rcdefaults()  # a reader's own matplotlibrc must not change a published picture
matplotlib.use("Agg")
matplotlib.rcParams.update(
    {
        "font.family": "DejaVu Sans",  # comes with matplotlib, so every machine draws the same picture
        "font.size": 9,
        "axes.titlesize": 9,
        "legend.fontsize": 8,
        "legend.frameon": False,
        "legend.handlelength": 2.8,  # shows a whole period of each dash
        "lines.linewidth": 1.4,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "pdf.fonttype": 42,
    }
)

Colour = str | tuple[float, float, float] | tuple[float, float, float, float]
Look = dict[str, Any]  # keyword arguments of Matplotlib
NOTE: Look = {"textcoords": "offset points", "color": "dimgray", "fontsize": 8}  # look of words beside the curves
Dash = tuple[float, ...]  # lengths of strokes and gaps, in line widths; empty for a solid line
SOLID: Dash = ()
DASHED: Dash = (3.7, 1.6)
DOTTED: Dash = (1.3, 1.1)
DASH_DOT: Dash = (6.4, 1.6, 1.0, 1.6)
DASH_DOT_DOT: Dash = (5.0, 1.2, 1.0, 1.2, 1.0, 1.2)
LONG: Dash = (7.0, 1.5)
SHORT: Dash = (2.5, 1.0)
OWN_DASHES = (SOLID, DASHED, DOTTED, LONG, DASH_DOT)  # so that lines which lie on each other are seen


@dataclass(frozen=True)
class CurveStyle:
    """A legend's label, the colour of line and band, and the line's dash, or else a marker, perhaps hollow."""

    label: str
    colour: Colour
    dash: Dash = SOLID
    marker: str = ""
    is_hollow: bool = False

    @property
    def linestyle(self) -> str | tuple[float, Dash]:
        """The dash in matplotlib's words."""
        return (0.0, self.dash) if self.dash else "-"


# Dashed curves are drawn on top of solid ones, then later ones on top, whatever the order of the legend. A learner of
# the sine task and an agent share a look if they draw by the same principle. No two agents of a picture share one.
LOOKS: dict[str, tuple[str, Dash]] = {
    # The sine task.
    "l2": (PURPLE, DOTTED),
    "prioritized_l2": (GREEN, DASH_DOT),
    "power4": (BLUE, LONG),
    "full_prioritized_l2": (SKY_BLUE, SOLID),
    "cubic": (VERMILION, DASH_DOT_DOT),
    # No model.
    "er": (PURPLE, DOTTED),
    "prioritized_er": (GREEN, DASH_DOT),
    "full_prioritized_er": (SKY_BLUE, SOLID),
    "schaul_prioritized_er": (SKY_BLUE, LONG),
    "laber": (BLUE, SHORT),
    "laber_unweighted": (BLUE, DASH_DOT_DOT),
    "lap": (VERMILION, LONG),
    "pal": (ORANGE, SHORT),
    "mixed_dqn": (BLUE, DASH_DOT),
    "cubic_dqn": (VERMILION, DASH_DOT),
    "huber_dqn": (SKY_BLUE, DOTTED),
    # A model.
    "dyna_value": (BLUE, LONG),
    "dyna_frequency": (VERMILION, DASH_DOT_DOT),
    "uniform_states": (ORANGE, SHORT),
    "dyna_td_long": (SKY_BLUE, SHORT),
    "dyna_td": (BLACK, SOLID),
}
LOOKS = {
    key: look
    for agent, (colour, dash) in LOOKS.items()
    for key, look in (*((f"{agent}_{model}", (colour, DASHED)) for model in MODELS), (agent, (colour, dash)))
}


def style_of(curve: str, look: str = "", label: str = "") -> CurveStyle:
    """The style of a curve, by its key or another one, `look`; grey without a look. By default it has its own name."""
    return CurveStyle(label or name_of(curve), *LOOKS.get(look or curve, (GREY, SOLID)))


def styles_of(curves: Sequence[str], own: dict[str, CurveStyle] | None = None) -> dict[str, CurveStyle]:
    """The styles of a panel's curves, in drawing order; `own` ones count in this panel alone.

    A curve without a look comes last, in a colour that no agent has.
    """
    free = itertools.cycle(zip(OWN_PALETTE, OWN_DASHES, strict=True))
    known = {curve: style_of(curve) for curve in curves if curve in LOOKS} | (own or {})
    found = {curve: known.get(curve) or CurveStyle(name_of(curve), *next(free)) for curve in curves}
    order = {agent: index for index, agent in enumerate(LOOKS)}
    return dict(sorted(found.items(), key=lambda item: (bool(item[1].dash), order.get(item[0], len(order)))))
