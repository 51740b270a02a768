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
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY_BLUE, BLACK)
GREY = "#6F6F6F"  # all else

VERDICTS = {"supported": BLUE, "contradicted": "#C24F00"}  # dark enough for white letters

PANEL_SIZE = (3.0, 3.0)  # inches, width and height with axis labels and legend
DOTS_PER_INCH = 200  # of the PNG

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


@dataclass(frozen=True)
class CurveStyle:
    """A legend's label, the colour of line and band, and the line's dash, or else a marker, perhaps hollow."""

    label: str
    colour: str | tuple[float, float, float] | tuple[float, float, float, float]
    dash: Dash = SOLID
    marker: str = ""
    is_hollow: bool = False

    @property
    def linestyle(self) -> str | tuple[float, Dash]:
        """The dash in matplotlib's words."""
        return (0.0, self.dash) if self.dash else "-"


# Later curves are drawn on top, whatever the order of the legend. A learner of the sine task and an agent share a look
# if they draw by the same principle. No two agents of a picture share one.
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
    "huber_dqn": (VERMILION, SHORT),
    # A model.
    "dyna_value": (BLUE, LONG),
    "dyna_frequency": (VERMILION, DASH_DOT_DOT),
    "uniform_states": (ORANGE, SHORT),
    "dyna_td_long": (SKY_BLUE, SHORT),
    "dyna_td": (BLACK, SOLID),
}


def agent_of(curve: str) -> str:
    """The agent of a curve, whatever its model."""
    for end in MODELS:
        curve = curve.removesuffix(end)
    return curve


def style_of(curve: str, colour: str = GREY) -> CurveStyle:
    """The style of a curve, with `colour` if it has no look of its own; dashed if its model is not the true one."""
    found, dash = LOOKS.get(agent_of(curve), (colour, SOLID))
    return CurveStyle(name_of(curve), found, dash if agent_of(curve) == curve else DASHED)


def styles_of(curves: Sequence[str], own: dict[str, CurveStyle] | None = None) -> dict[str, CurveStyle]:
    """The styles of a panel's curves, in drawing order; `own` ones count in this panel alone.

    A curve without a look comes last, with the next free colour of the palette.
    """
    known = {curve: style_of(curve, "") for curve in curves} | (own or {})
    used = {style.colour for style in known.values()}
    free = itertools.cycle([colour for colour in PALETTE if colour not in used] or [GREY])
    found = {curve: known[curve] if known[curve].colour else style_of(curve, next(free)) for curve in curves}
    places = {agent: place for place, agent in enumerate(LOOKS)}
    # The dashed line of a learned model lies below the line of its agent.
    return dict(
        sorted(
            found.items(), key=lambda item: (places.get(agent_of(item[0]), len(places)), agent_of(item[0]) == item[0])
        )
    )


def graded(labels: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles for curves that differ by one number, dark to light in the order of `labels`."""
    colours = matplotlib.colormaps["viridis"]
    return {
        curve: CurveStyle(label, colours(0.9 * position / max(1, len(labels) - 1)))
        for position, (curve, label) in enumerate(labels.items())
    }
