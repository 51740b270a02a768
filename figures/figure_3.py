"""Figure 3: how far sampling distributions are from the ideal one, and what the time buys (Section 4.2)."""

from collections.abc import Mapping

from drawing.panels import CurvePanel, Panel, ReferenceLine
from drawing.style import DASH_DOT, DOTTED, GREY, CurveStyle

NARROW = (2.0e-4, 7.0e-4)  # on a logarithmic axis of all distances the samplers of panel b could not be told apart


def adapt(declared: dict[str, CurvePanel]) -> Mapping[str, Panel]:
    """Distances between the best that drawing from p* itself gives, and the exact uniform distribution."""
    for panel in declared.values():
        if panel.metric.startswith("distance") and "dyna_td" in panel.curves:
            panel.references = (
                ReferenceLine("dyna_td", f"{panel.metric}_floor", CurveStyle("$p^*$ sampled, floor", GREY, DOTTED)),
                ReferenceLine("dyna_td", f"{panel.metric}_exact_uniform", CurveStyle("exact uniform", GREY, DASH_DOT)),
            )
        if isinstance(panel, CurvePanel) and panel.metric == "distance_uniform":
            panel.y_scale, panel.y_limits = "linear", NARROW
    return declared
