"""Figure 3: distances of sampling distributions to the ideal one, and return against time (Section 4.2)."""

from collections.abc import Mapping

from drawing.panels import Drawing, Lines, ReferenceLine
from drawing.style import DASH_DOT, DOTTED, GREY, CurveStyle

NARROW = (2.0e-4, 7.0e-4)  # a logarithmic axis of all distances would hide the differences of panel b


def adapt(declared: dict[str, Lines]) -> Mapping[str, Drawing]:
    """Adds two lines to the distances: of draws from p* itself, the floor, and of the exact uniform distribution."""
    for panel in declared.values():
        if panel.metric.startswith("distance") and "dyna_td" in panel.curves:
            panel.references = (
                ReferenceLine("dyna_td", f"{panel.metric}_floor", CurveStyle("$p^*$ sampled, floor", GREY, DOTTED)),
                ReferenceLine("dyna_td", f"{panel.metric}_exact_uniform", CurveStyle("exact uniform", GREY, DASH_DOT)),
            )
        if isinstance(panel, Lines) and panel.metric == "distance_uniform":
            panel.y_scale, panel.y_limits = "linear", NARROW
    return declared
