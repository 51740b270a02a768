"""Frozen Q, beyond the paper: states of long chains, the effect of a constant y, and how loose Theorem 3 is."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from drawing.forest import Dot, Forest
from drawing.panels import Drawing, Lines, seeds_words
from drawing.style import BLACK, BLUE, GREEN, GREY, ORANGE, CurveStyle
from drawing.tables import Tables

# From top to bottom: the chains, by the end of their metrics' names.
KINDS = {
    "ideal": CurveStyle(r"draws from $|\delta|$", GREEN),
    "langevin": CurveStyle("Langevin rule", BLACK),
    "langevin_constant_y": CurveStyle("Langevin, y constant", GREY),
    "langevin_small_steps": CurveStyle("Langevin, a / 100", BLACK),
    "algorithm_4": CurveStyle("Algorithm 4", BLUE),
    "released": CurveStyle("released rule", ORANGE),
}
BETAS = {f"beta_{kind}": style for kind, style in KINDS.items()}
VARIATIONS = {f"variation_{kind}": style for kind, style in KINDS.items()}
VARIATIONS["variation_uniform"] = CurveStyle("uniform", GREY)
COSINES = {
    "cosine_uniform": CurveStyle("mean, uniform states", BLACK),
    "cosine_queue": CurveStyle("mean, queue's states", BLUE),
    "cosine_positive_uniform": CurveStyle("above 0, uniform", BLACK),
    "cosine_positive_queue": CurveStyle("above 0, queue", BLUE),
    "cosine_close_uniform": CurveStyle("above 0.9, uniform", BLACK),
    "cosine_close_queue": CurveStyle("above 0.9, queue", BLUE),
}
WORDS = ("Dots: means over seeds. Bars: one standard error to either side.",)
SIDES = {"bound_left": CurveStyle(r"$|p - \hat p|$", BLACK), "bound_right": CurveStyle("Theorem 3", BLUE)}


@dataclass
class Metrics(Forest):
    """Bars of one standard error to either side; a row says how many seeds it has, if others have more."""

    def bar(self, numbers: pd.Series) -> tuple[float, float, float]:
        mean, error = numbers["mean"], numbers["standard_error"] if numbers["n"] > 1 else 0.0
        return mean, mean - error, mean + error

    def row_labels(self, tables: Tables) -> list[str]:
        seeds = [row["n"] for row in self.numbers(tables).values()]
        fewer = [f" ({count:.0f} seeds)" if count < max(seeds) else "" for count in seeds]
        return [style.label + words for style, words in zip(self.rows.values(), fewer, strict=True)]

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = pd.DataFrame(self.numbers(tables).values())
        return seeds_words(rows["n"].nlargest(1)), f"after {rows['step'].max():,.0f} environment steps"


def dots(drawing: Drawing) -> Drawing:
    """The same panel with a dot for each metric of its one curve, and a line where the paper claims a value."""
    curve = drawing.curves[0]

    def metrics(label: str, rows: dict[str, CurveStyle], **options) -> Metrics:
        shown = [Dot(metric, (drawing.letter, curve, metric), style.colour) for metric, style in rows.items()]
        return Metrics(drawing.panel, label, rows, shown, inches=1.0 + 0.2 * len(rows), words=WORDS, **options)

    match drawing.metric:
        case "beta_ideal":
            return metrics(r"$\beta$ that fits best", BETAS, line=1.0)
        case "variation_ideal":
            return metrics("total variation", VARIATIONS)
        case "cosine_uniform":
            return metrics("cosine, or share of states", COSINES, line=1.0)
        case "bound_left":
            ratio = (drawing.letter, curve, "bound_ratio")  # stands in the title
            return metrics("mean over 50x50 states", SIDES, x_scale="log", quoted=(ratio,))
    return drawing


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """Dots in all panels but the heatmaps."""
    return {letter: dots(drawing) if isinstance(drawing, Lines) else drawing for letter, drawing in declared.items()}
