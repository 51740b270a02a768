"""Figure 3: distances of sampling distributions to the ideal one, and return against time (Section 4.2)."""

from drawing.panels import Drawings, Panels, lines
from drawing.style import DOTTED, GREY, CurveStyle, Look
from drawing.tables import Tables

NARROW = (2.0e-4, 7.0e-4)  # a logarithmic axis of all distances would hide the differences of panel b
FLOOR = CurveStyle("3,000 draws from $p^*$", GREY, DOTTED)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Adds a line to the distances: of draws from p* itself, which have sampling noise alone."""
    for panel in panels.values():
        metric = panel.metric
        options: Look = {}
        if metric.startswith("distance") and "dyna_td" in panel.curves:
            options["references"] = [("dyna_td", f"{metric}_floor", FLOOR)]
        if metric == "distance_uniform":
            options |= {"yscale": "linear", "ylim": NARROW}
        yield lines(panel, tables, **options)
