"""Frozen Q, beyond the paper: states of long chains, the effect of a constant y, and how loose Theorem 3 is."""

from collections.abc import Mapping
from dataclasses import dataclass

from drawing.dots import Dots
from drawing.panels import CurvePanel, Panel
from drawing.style import BLACK, BLUE, GREEN, GREY, ORANGE, CurveStyle
from drawing.tables import Tables

# From top to bottom: the chains, by the end of their metrics' names.
KINDS = {
    "ideal": CurveStyle(r"draws from $|\delta|$", GREEN),
    "langevin": CurveStyle("Langevin rule", BLACK),
    "langevin_constant_y": CurveStyle("the same, y constant", GREY),
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
class Bound(Dots):
    """The two sides of Theorem 3, with their ratio in place of {} in the title."""

    def needs(self) -> list[tuple[str, str, str]]:
        return [*super().needs(), (self.letter, *self.place("bound_ratio"))]

    def heading(self, tables: Tables) -> str:
        return self.title.format(f"{self.row(tables, 'bound_ratio')['mean']:,.0f}")


def dots(panel: Panel) -> Panel:
    """The same panel as dots, with a line where the paper claims a value."""
    match panel.metric:
        case "beta_ideal":
            return Dots(*panel.basics, r"$\beta$ that fits best", BETAS, line=1.0)
        case "variation_ideal":
            return Dots(*panel.basics, "total variation", VARIATIONS)
        case "cosine_uniform":
            return Dots(*panel.basics, "cosine, or share of states", COSINES, line=1.0)
        case "bound_left":
            return Bound(*panel.basics, "mean over 50x50 states", SIDES, x_scale="log")
    return panel


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """Dots in all panels but the heatmaps."""
    return {letter: dots(panel) if isinstance(panel, CurvePanel) else panel for letter, panel in declared.items()}
