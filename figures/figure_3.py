"""Figure 3: distances of sampling distributions to the ideal one, and return against time (Section 4.2)."""

from drawing.panels import Drawings, Panels, lines
from drawing.style import DASH_DOT, DOTTED, GREY, CurveStyle, Look
from drawing.tables import Tables

NARROW = (2.0e-4, 7.0e-4)  # a logarithmic axis of all distances would hide the differences of panel b
REFERENCES = {
    "floor": CurveStyle("$p^*$ sampled, floor", GREY, DOTTED),
    "exact_uniform": CurveStyle("exact uniform", GREY, DASH_DOT),
}


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Adds two lines to the distances: of draws from p* itself, the floor, and of the exact uniform distribution."""
    for panel in panels.values():
        metric = panel.metric
        options: Look = {}
        if metric.startswith("distance") and "dyna_td" in panel.curves:
            options["references"] = [("dyna_td", f"{metric}_{end}", style) for end, style in REFERENCES.items()]
        if metric == "distance_uniform":
            options |= {"yscale": "linear", "ylim": NARROW}
        yield lines(panel, tables, **options)
