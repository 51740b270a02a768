"""Panels that show a grid world from above: its drawing, and where sampled states lie in it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from panels import AnyPanel
from tables import Tables, curve_rows, require_curve, require_states, state_rows, states_beside

from envs.grid_world import GOAL_LOW, START_HIGH, Wall

CELLS = 20  # a side of the histograms: a cell is as wide as a step, and no cell lies across the edge of a wall
COLOURS = "Blues"  # white where no state is


@dataclass(frozen=True)
class Drawing(AnyPanel):
    """The world itself, from the environment's own geometry.

    Attributes:
      letter: printed before the title.
      title: the world's name.
      walls: its walls.
    """

    letter: str
    title: str
    walls: Sequence[Wall]
    curves: ClassVar[tuple[str, ...]] = ()

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Walls grey, the start S blue, the goal G green."""
        _frame(axes)
        _add_walls(axes, self.walls, facecolor="dimgray", edgecolor="none")
        _add_place(axes, 0.0, START_HIGH, "tab:blue", "S")
        _add_place(axes, GOAL_LOW, 1.0, "tab:green", "G")


@dataclass(frozen=True)
class Heatmap(AnyPanel):
    """How many of one seed's sampled states lie in each cell.

    Attributes:
      letter: the panel's key in curves.csv and states.csv, also printed before the title.
      title: whose states they are.
      metric: the rows of curves.csv that tell the evaluations' steps and the seeds.
      curve: the curve's key.
      walls: outlined over the states.
      moment: the states are those of the first evaluation at or after this environment step, and of the last one in a
        shorter run; None means the last.
      summary: second line of the title, with {} for the metric's mean and standard error at that evaluation.
      seed: the seed shown.
    """

    letter: str
    title: str
    metric: str
    curve: str
    walls: Sequence[Wall]
    moment: int | None = None
    summary: str = ""
    seed: int = 0

    shows_states: ClassVar[bool] = True

    @property
    def curves(self) -> tuple[str, ...]:
        """The one curve, as every kind of panel names its curves."""
        return (self.curve,)

    def check(self, tables: Tables, path: Path) -> None:
        super().check(tables, path)
        rows = require_curve(tables.curves, self.letter, self.curve, self.metric, path)
        seeds = int(rows["n"].max())
        require_states(tables.states, self.letter, self.curve, self.seed, seeds, states_beside(path))

    def evaluation(self, tables: Tables) -> pd.Series:
        """The row of curves.csv at the step of the states."""
        rows = curve_rows(tables.curves, self.letter, self.curve, self.metric)
        last = rows["step"].max()
        moment = last if self.moment is None else min(self.moment, last)
        return rows[rows["step"] >= moment].iloc[0]

    def heading(self, tables: Tables) -> str:
        if not self.summary:
            return self.title
        row = self.evaluation(tables)
        spread = f" ± {row['standard_error']:.2f}" if row["n"] > 1 else ""
        return self.title + "\n" + self.summary.format(f"{row['mean']:.2f}{spread}")

    def draw(self, axes: Axes, tables: Tables) -> None:
        """Darker cells hold more states; a cell includes its lower and left edge."""
        states = state_rows(tables.states, self.letter, self.curve)
        shown = states[states["seed"] == self.seed]
        counts, _, _ = np.histogram2d(shown["x"], shown["y"], bins=CELLS, range=((0, 1), (0, 1)))  # [x, y]
        axes.imshow(counts.T, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest", cmap=COLOURS)
        _frame(axes)
        _add_walls(axes, self.walls, facecolor="none", edgecolor="black", linewidth=0.8)

    def describe(self, tables: Tables) -> str:
        by_seed = state_rows(tables.states, self.letter, self.curve).groupby("seed").size()
        step = self.evaluation(tables)["step"]
        return (
            f"seed {self.seed} of {len(by_seed)} shown, {by_seed[self.seed]:,} states at environment step {step:,.0f}"
        )


def share_colours(figure: Figure) -> None:
    """One colour scale for all heatmaps of the figure, with its bar at the right.

    The shade follows ln(1 + count): a cell with a single state can be told from an empty one even if the cell where the
    episodes start holds hundreds.
    """
    axes = list(figure.axes)
    images = [image for each in axes for image in each.images]
    fullest = max(image.get_array().max() for image in images)
    norm = FuncNorm((np.log1p, np.expm1), vmin=0, vmax=fullest)
    for image in images:
        image.set_norm(norm)
    ticks = [count for count in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if count <= fullest]
    bar = figure.colorbar(images[0], ax=axes, label="states per cell", pad=0.01, ticks=ticks, format="%d")
    bar.minorticks_off()


def _frame(axes: Axes) -> None:
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=(0, 0.5, 1), yticks=(0, 0.5, 1), xlabel="$x$", ylabel="$y$")
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(True)


def _add_place(axes: Axes, low: float, high: float, colour: str, name: str) -> None:
    """The square [low, high]^2, its name beside it on the side of the world's middle."""
    axes.add_patch(Rectangle((low, low), high - low, high - low, facecolor=colour, edgecolor="none"))
    centre = (low + high) / 2
    inwards = 8 if centre < 0.5 else -8  # points
    axes.annotate(
        name,
        (centre, centre),
        (inwards, inwards),
        textcoords="offset points",
        color=colour,
        horizontalalignment="center",
        verticalalignment="center",
    )


def _add_walls(axes: Axes, walls: Sequence[Wall], **look) -> None:
    """Each wall in two pieces, below and above its hole, of which one may be empty."""
    for wall in walls:
        width = wall.x_high - wall.x_low
        for low, high in ((0, wall.hole_low), (wall.hole_high, 1)):
            if high > low:
                axes.add_patch(Rectangle((wall.x_low, low), width, high - low, **look))
