"""Panels that show a grid world from above: the world itself, and where sampled states lie in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
from dyna_td.envs import KNOWN
from dyna_td.envs.grid_world import GOAL_LOW, START_HIGH, Wall
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from drawing.panels import Drawing
from drawing.style import Look
from drawing.tables import Tables, curve_rows, state_rows
from dyna_td.runs.run import EARLY

CELLS = 20  # a side of the histograms: a cell is as wide as a step, and no cell lies across the edge of a wall
COLOURS = "Blues"  # white where no state is

# Second line of a heatmap's title, by the beginning of its metric; {} is the mean with its standard error.
SUMMARIES = {"entropy_": "entropy {} nats", "beta_": r"fits $|\delta|^\beta$, $\beta$ = {}"}


@dataclass
class World(Drawing):
    """The world itself before other panels, from the environment's own geometry."""

    walls: Sequence[Wall] = ()

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Walls grey, the start S blue, the goal G green."""
        _frame(axes)
        _add_walls(axes, self.walls, facecolor="dimgray", edgecolor="none")
        _add_place(axes, 0.0, START_HIGH, "tab:blue", "S")
        _add_place(axes, GOAL_LOW, 1.0, "tab:green", "G")


@dataclass
class Heatmap(Drawing):
    """The number of one seed's sampled states in each cell, with the outlines of the walls.

    Attributes:
      seed: the seed shown.
      median_of: panel and curve; the seed shown is then the one with their median share of states right of the wall.
    """

    seed: int = 0
    median_of: tuple[str, str] | None = None

    shows_states: ClassVar[bool] = True

    @property
    def walls(self) -> Sequence[Wall]:
        """Those of the panel's environment."""
        return KNOWN[self.panel.run.environment].walls

    def evaluation(self, tables: Tables) -> pd.Series:
        """The row of curves.csv at the step of the states; the last one if training was shorter."""
        rows = curve_rows(tables.curves, self.letter, self.curves[0], self.metric)
        moment = EARLY if self.panel.states["moment"] == "early" else math.inf
        return rows[rows["step"] >= min(moment, rows["step"].max())].iloc[0]

    def heading(self, tables: Tables) -> str:
        row = self.evaluation(tables)
        error = row["standard_error"]
        digits = max(2, -math.floor(math.log10(error))) if row["n"] > 1 and error > 0 else 2  # no "± 0.00"
        spread = f" ± {error:.{digits}f}" if row["n"] > 1 else ""
        summaries = [text for start, text in SUMMARIES.items() if self.metric.startswith(start)]
        return "\n".join([self.panel.title, *(text.format(f"{row['mean']:.{digits}f}{spread}") for text in summaries)])

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Darker cells hold more states; a cell includes its lower and left edge."""
        states = state_rows(tables.states, self.letter, self.curves[0])
        shown = states[states["seed"] == self.shown_seed(tables)]
        counts, _, _ = np.histogram2d(shown["x"], shown["y"], bins=CELLS, range=((0, 1), (0, 1)))  # [x, y]
        axes.imshow(counts.T, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest", cmap=COLOURS)
        _frame(axes)
        _add_walls(axes, self.walls, facecolor="none", edgecolor="black", linewidth=0.8)

    def notes(self) -> tuple[str, ...]:
        return ("±: one standard error over seeds.",) if self.metric.startswith(tuple(SUMMARIES)) else ()

    def facts(self, tables: Tables) -> tuple[str, ...]:
        by_seed = state_rows(tables.states, self.letter, self.curves[0]).groupby("seed").size()
        step, seed = self.evaluation(tables)["step"], self.shown_seed(tables)
        states = f"{by_seed[seed]:,} states at environment step {step:,.0f}"
        return f"seed {seed} of {len(by_seed)} shown", states

    def shown_seed(self, tables: Tables) -> int:
        """The seed of the picture; `median_of` takes the lower of two middle ones."""
        if not self.median_of:
            return self.seed
        states = state_rows(tables.states, *self.median_of)
        right = self.walls[-1].x_high
        shares = (states["x"] > right).groupby(states["seed"]).mean().sort_values(kind="stable")
        return int(shares.index[(len(shares) - 1) // 2])


def share_colours(figure: Figure) -> None:
    """Gives all heatmaps of the figure one colour scale, with its bar at the right.

    The shade follows ln(1 + count). So a single state shows, even if the cell of the start holds hundreds.
    """
    images = [image for axes in figure.axes for image in axes.images]
    fullest = max(np.asarray(image.get_array()).max() for image in images)
    norm = FuncNorm((np.log1p, np.expm1), vmin=0, vmax=fullest)
    for image in images:
        image.set_norm(norm)
    ticks = [count for count in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if count <= fullest]
    look: Look = {"label": "states per cell (logarithmic)", "pad": 0.01, "aspect": 30, "format": "%d"}
    bar = figure.colorbar(images[0], ax=[image.axes for image in images], ticks=ticks, **look)
    bar.minorticks_off()


def _frame(axes: Axes) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel="$x$", ylabel="$y$")
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(True)


def _add_place(axes: Axes, low: float, high: float, colour: str, name: str) -> None:
    """The square [low, high]^2, with its name towards the world's middle."""
    axes.add_patch(Rectangle((low, low), high - low, high - low, facecolor=colour, edgecolor="none"))
    centre = (low + high) / 2
    inwards = 8 if centre < 0.5 else -8  # points
    look: Look = {"textcoords": "offset points", "color": colour, "ha": "center", "va": "center"}
    axes.annotate(name, (centre, centre), (inwards, inwards), **look)


def _add_walls(axes: Axes, walls: Sequence[Wall], **look) -> None:
    """Each wall in two pieces, below and above its hole; one of them may be empty."""
    for wall in walls:
        width = wall.x_high - wall.x_low
        for low, high in ((0, wall.hole_low), (wall.hole_high, 1)):
            if high > low:
                axes.add_patch(Rectangle((wall.x_low, low), width, high - low, **look))
