"""The look of every curve: label, colour, dash and drawing order; a new agent gets a line in `BEYOND`, if any."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import matplotlib

FOREST_GREEN = (34 / 255, 139 / 255, 34 / 255)  # the paper's value

VERDICTS = {"supported": "#0072B2", "contradicted": "#C24F00"}  # colour-blind readers see the difference

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
        "legend.handlelength": 1.6,
        "lines.linewidth": 1.4,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "pdf.fonttype": 42,
    }
)


@dataclass(frozen=True)
class CurveStyle:
    """The label in the legend, the colour of line and band, and the line's dash in matplotlib's words."""

    label: str
    colour: str | tuple[float, ...]
    dash: str = "-"


# The colours are the paper's. A curve covers those that stand above it in the table, in any order of the legend.
CURVES = {
    # Supervised task (figures 1a-b, 9, 10, 11)
    "l2": CurveStyle("L2", "black"),
    "prioritized_l2": CurveStyle("PrioritizedL2", "red"),
    "power4": CurveStyle("Power4", "magenta"),
    "full_prioritized_l2": CurveStyle("Full-PrioritizedL2", "blue"),
    "cubic": CurveStyle("Cubic", FOREST_GREEN),
    # Value learning
    "er": CurveStyle("ER", "magenta"),
    "prioritized_er": CurveStyle("PrioritizedER", FOREST_GREEN),
    "full_prioritized_er": CurveStyle("Full-PrioritizedER", "blue"),
    # Dyna
    "dyna_value": CurveStyle("Dyna-Value", "blue"),
    "dyna_frequency": CurveStyle("Dyna-Frequency", "red"),
    "dyna_td_long": CurveStyle("Dyna-TD-Long", "orange"),
    "dyna_td_learned": CurveStyle("Dyna-TD, learned model", "black", "--"),
    "dyna_td": CurveStyle("Dyna-TD", "black"),
    # Theorem 2 (figure 7)
    "f": CurveStyle("f(x)", "black"),
}

UNDASHED = CurveStyle("Dyna-TD, learned model", "black")  # where no true model stands beside it (figures 6, 13)

# Agents beyond the paper. A line here changes no picture but those that show its agent.
BEYOND = {
    "laber": CurveStyle("LaBER", "darkorange"),
    "lap": CurveStyle("LAP", "teal"),
    "pal": CurveStyle("PAL", "darkviolet"),
    "dyna_td_frozen": UNDASHED,
}

# The agents of figure 1c, which the paper paints in other colours than in figure 4.
REPLAY = {
    "er": CurveStyle("ER", "black"),
    "prioritized_er": CurveStyle("PrioritizedER", "red"),
    "full_prioritized_er": CurveStyle("Full-PrioritizedER", "blue"),
}


def styles_of(curves: Sequence[str], own: dict[str, CurveStyle] | None = None) -> dict[str, CurveStyle]:
    """The styles that a panel with these curves needs, in drawing order.

    A curve that stands in no table has its key as label, and the next colour of matplotlib's cycle.

    Args:
      curves: the panel's curves.
      own: styles that count in this panel alone, perhaps of other curves too.
    """
    table = CURVES
    if "full_prioritized_er" in curves:
        table = table | {curve: replace(CURVES[curve], colour=style.colour) for curve, style in REPLAY.items()}
    if "dyna_td" not in curves:
        table = table | {"dyna_td_learned": UNDASHED}
    table = table | {curve: style for curve, style in (BEYOND | (own or {})).items() if curve in curves}
    unknown = [curve for curve in curves if curve not in table]
    return table | {curve: CurveStyle(curve, f"C{number}") for number, curve in enumerate(unknown)}


def graded(labels: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles for curves that differ by one number, dark to light in the order of `labels`."""
    colours = matplotlib.colormaps["viridis"]
    return {
        curve: CurveStyle(label, colours(0.9 * position / max(1, len(labels) - 1)))
        for position, (curve, label) in enumerate(labels.items())
    }
