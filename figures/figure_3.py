"""Figure 3: how far sampling distributions are from the ideal one, and what the time buys (Section 4.2)."""

from panels import Panel, ReferenceLine
from style import CurveStyle


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """Distances between the best that drawing from p* itself gives, and the exact uniform distribution."""
    for panel in declared.values():
        if panel.metric.startswith("distance") and "dyna_td" in panel.curves:
            panel.references = (
                ReferenceLine("dyna_td", f"{panel.metric}_floor", CurveStyle("$p^*$ sampled, floor", "gray", ":")),
                ReferenceLine("dyna_td", f"{panel.metric}_exact_uniform", CurveStyle("exact uniform", "gray", "-.")),
            )
    return declared
