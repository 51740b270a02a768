"""Frozen Q, beyond the paper: states of long chains, the effect of a constant y, and how loose Theorem 3 is."""

import pandas as pd
from drawing.forest import Dot, Forest, in_rows
from drawing.maps import heatmap
from drawing.panels import Drawings, Panels, seeds_words
from drawing.style import BLACK, BLUE, GREY, ORANGE, CurveStyle
from drawing.tables import Tables

from dyna_td.evidence.statistics import Interval
from dyna_td.plan.planned import Panel

# From top to bottom: the chains, by the end of their metrics' names.
KINDS = {
    "ideal": CurveStyle(r"draws from $|\delta|$", GREY),
    "langevin": CurveStyle("Langevin rule", GREY),
    "langevin_constant_y": CurveStyle("Langevin, y constant", GREY),
    "langevin_small_steps": CurveStyle("Langevin, a / 100", GREY),
    "algorithm_4": CurveStyle("Algorithm 4", GREY),
    "released": CurveStyle("released rule", BLACK),
}
BETAS = {f"beta_{kind}": style for kind, style in KINDS.items()}
VARIATIONS = {f"variation_{kind}": style for kind, style in KINDS.items()}
VARIATIONS["variation_uniform"] = CurveStyle("uniform", ORANGE)
COSINES = {
    "cosine_uniform": CurveStyle("mean, uniform", ORANGE),
    "cosine_queue": CurveStyle("mean, queue", BLACK),
    "cosine_positive_uniform": CurveStyle("share above 0, uniform", ORANGE),
    "cosine_positive_queue": CurveStyle("share above 0, queue", BLACK),
    "cosine_close_uniform": CurveStyle("share above 0.9, uniform", ORANGE),
    "cosine_close_queue": CurveStyle("share above 0.9, queue", BLACK),
}
WORDS = ("Dots: means over seeds. Bars: one standard error to either side.",)
SIDES = {"bound_left": CurveStyle(r"change $|p - \hat p|$", BLACK), "bound_right": CurveStyle("bound", BLUE)}
PANELS = {  # by metric: the rows, the x-axis, and the value that the paper claims
    "beta_ideal": (BETAS, r"$\beta$ that fits best", 1.0),
    "variation_ideal": (VARIATIONS, "total variation", None),
    "cosine_uniform": (COSINES, "cosine: mean, or share of states", 1.0),
    "bound_left": (SIDES, "mean over 50x50 states", None),
}


def dots(panel: Panel, tables: Tables) -> Forest:
    """A dot for each metric of the panel's one curve.

    A row says how many seeds it has, if others have more. The bound's row says how many times as large it is.
    """
    place = panel.key, next(iter(panel.curves))
    styles, x_label, line = PANELS[panel.metric]
    rows = pd.DataFrame([tables.last(*place, metric) for metric in styles])
    errors = rows["standard_error"].where(rows["n"] > 1, 0.0)
    bars = map(Interval, rows["mean"], rows["mean"] - errors, rows["mean"] + errors)
    most = rows["n"].max()
    words = [f" ({count:.0f} seeds)" if count < most else "" for count in rows["n"]]
    is_bound = panel.metric == "bound_left"
    if is_bound:
        words[-1] = f" ({tables.last(*place, 'bound_ratio')['mean']:,.0f} times)"
    return Forest(
        panel.key,
        panel.title,
        in_rows(style.label + more for style, more in zip(styles.values(), words, strict=True)),
        [Dot(-row, bar, style) for row, (bar, style) in enumerate(zip(bars, styles.values(), strict=True))],
        x_label,
        line,
        inches=1.0 + 0.2 * len(rows),
        notes=WORDS,
        facts=(seeds_words(rows["n"].nlargest(1)), f"after {rows['step'].max():,.0f} environment steps"),
        decorate=(lambda axes: axes.set_xscale("log")) if is_bound else None,
    )


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """Dots in all panels but the heatmaps."""
    return [heatmap(panel, tables) if panel.states else dots(panel, tables) for panel in panels.values()]
