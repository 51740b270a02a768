"""How a curve looks: one table of label, colour, dash and drawing order for every figure."""

from dataclasses import dataclass, replace

import matplotlib

FOREST_GREEN = (34 / 255, 139 / 255, 34 / 255)  # the paper's value

PANEL_SIZE = (3.0, 3.0)  # inches, width and height with axis labels and legend
DOTS_PER_INCH = 200  # of the PNG

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
    """Label in the legend, colour of line and band, and the line's dash (any matplotlib line style)."""

    label: str
    colour: str | tuple[float, ...]
    dash: str = "-"


# The colours are the paper's. A curve is drawn over those above it in the table, whatever the order in the legend.
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
    "dyna_td_learned": CurveStyle("Dyna-TD (learned model)", "black", "--"),
    "dyna_td": CurveStyle("Dyna-TD", "black"),
    # Theorem 2 (figure 7)
    "f": CurveStyle("f(x)", "black"),
}

# Where no agent has the true model, the paper draws the learned one without dashes (figures 6, 13).
ONLY_LEARNED = {"dyna_td_learned": CurveStyle("Dyna-TD, learned model", "black")}


def recoloured(**colours: str | tuple[float, ...]) -> dict[str, CurveStyle]:
    """The named curves in other colours, for a figure in which the paper paints them differently."""
    return {curve: replace(CURVES[curve], colour=colour) for curve, colour in colours.items()}


def graded(labels: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles for a family of curves that differ by one number, dark to light in the order of `labels`."""
    colours = matplotlib.colormaps["viridis"]
    return {
        curve: CurveStyle(label, colours(0.9 * position / max(1, len(labels) - 1)))
        for position, (curve, label) in enumerate(labels.items())
    }
