"""Frozen Q, beyond the paper: states of long chains, the effect of a constant y, and how loose Theorem 3 is."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
from drawing.forest import Forest, Mark
from drawing.panels import Drawing, Lines, seeds_words
from drawing.style import BLACK, BLUE, GREEN, GREY, ORANGE, CurveStyle
from drawing.tables import Tables, curve_rows

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
SIDES = {"bound_left": CurveStyle(r"$|p - \hat p|$", BLACK), "bound_right": CurveStyle("Theorem 3", BLUE)}


@dataclass
class Metrics(Forest):
    """A row for each metric of the panel's one curve: its mean over seeds at the end, with a standard error."""

    @property
    def height(self) -> float:
        return 1.0 + 0.2 * len(self.rows)

    def needs(self) -> list[tuple[str, str, str]]:
        return [(self.letter, self.curves[0], metric) for metric in self.rows]

    def last(self, tables: Tables, metric: str) -> pd.Series:
        """The last row of curves.csv for a metric."""
        return curve_rows(tables.curves, self.letter, self.curves[0], metric).iloc[-1]

    def marks(self, tables: Tables) -> list[Mark]:
        found = []
        for metric, style in self.rows.items():
            row = self.last(tables, metric)
            error = row["standard_error"] if row["n"] > 1 else 0.0
            found.append(Mark(metric, row["mean"], row["mean"] - error, row["mean"] + error, style.colour))
        return found

    def row_labels(self, tables: Tables) -> list[str]:
        """The rows' names, with the number of seeds where not all have a number."""
        seeds = {key: self.last(tables, key)["n"] for key in self.rows}
        fewer = {key: f" ({count:.0f} seeds)" for key, count in seeds.items() if count < max(seeds.values())}
        return [style.label + fewer.get(key, "") for key, style in self.rows.items()]

    def notes(self) -> tuple[str, ...]:
        return ("Dots: means over seeds. Bars: one standard error to either side.",)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        row = self.last(tables, next(iter(self.rows)))
        return seeds_words(pd.Series([row["n"]])), f"after {row['step']:,.0f} environment steps"


@dataclass
class Bound(Metrics):
    """The two sides of Theorem 3, with their ratio in place of {} in the title."""

    def needs(self) -> list[tuple[str, str, str]]:
        return [*super().needs(), (self.letter, self.curves[0], "bound_ratio")]

    def heading(self, tables: Tables) -> str:
        return self.panel.title.format(f"{self.last(tables, 'bound_ratio')['mean']:,.0f}")


def dots(drawing: Drawing) -> Drawing:
    """The same panel as dots, with a line where the paper claims a value."""
    match drawing.metric:
        case "beta_ideal":
            return Metrics(drawing.panel, r"$\beta$ that fits best", BETAS, line=1.0)
        case "variation_ideal":
            return Metrics(drawing.panel, "total variation", VARIATIONS)
        case "cosine_uniform":
            return Metrics(drawing.panel, "cosine, or share of states", COSINES, line=1.0)
        case "bound_left":
            return Bound(drawing.panel, "mean over 50x50 states", SIDES, x_scale="log")
    return drawing


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """Dots in all panels but the heatmaps."""
    return {letter: dots(drawing) if isinstance(drawing, Lines) else drawing for letter, drawing in declared.items()}
