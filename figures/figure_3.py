"""Figure 3: distances of sampling distributions to the ideal one, and return against time (Section 4.2)."""

from drawing.panels import Drawings, Panels, lines
from drawing.style import DASH_DOT, DOTTED, GREY, CurveStyle, Look
from drawing.tables import Tables

NARROW = (2.0e-4, 7.0e-4)  # a logarithmic axis of all distances would hide the differences of panel b
REFERENCES = {  # metrics of Dyna-TD's own p*, by the ending of the distance's name
    "exact_uniform": CurveStyle("the uniform distribution", GREY, DASH_DOT),
    "floor": CurveStyle("3,000 draws from $p^*$", GREY, DOTTED),
}


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Adds two lines to the distances: the uniform distribution, and draws from p* itself, which are noise alone."""
    for panel in panels.values():
        metric = panel.metric
        options: Look = {}
        if metric.startswith("distance") and "dyna_td" in panel.curves:
            options["references"] = [("dyna_td", f"{metric}_{end}", look) for end, look in REFERENCES.items()]
        if metric == "distance_uniform":
            options |= {"yscale": "linear", "ylim": NARROW}
        yield lines(panel, tables, **options)
