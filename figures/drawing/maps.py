"""Panels that show a grid world from above: the world itself, and where sampled states lie in it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from dyna_td.envs import KNOWN
from dyna_td.envs.grid_world import START_HIGH, Dials, Wall
from matplotlib.axes import Axes
from matplotlib.colors import FuncNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from drawing.panels import Drawing
from drawing.style import Look
from drawing.tables import Tables
from dyna_td.plan.planned import Panel

CELLS = 20  # a side of the histograms: a cell is as wide as a step, and no cell lies across the edge of a wall
COLOURS = "Blues"  # white where no state is

# Second line of a heatmap's title, by the beginning of its metric; {} is the mean with its standard error.
SUMMARIES = {"entropy_": "entropy {} nats", "beta_": r"$\beta$ = {}"}


def draw_world(walls: Sequence[Wall], axes: Axes) -> None:
    """Draws the world itself, from the environment's own geometry: walls grey, the start S blue, the goal G green."""
    _frame(axes)
    _add_walls(axes, walls, facecolor="dimgray", edgecolor="none")
    _add_place(axes, 0.0, START_HIGH, "tab:blue", "S")
    _add_place(axes, Dials.corner - Dials.goal, Dials.corner, "tab:green", "G")


@dataclass
class Heatmap(Drawing):
    """The number of one seed's sampled states in each cell, [x, y], with the outlines of the walls."""

    counts: np.ndarray
    walls: Sequence[Wall]

    def draw(self, axes: Axes) -> None:
        axes.imshow(self.counts.T, origin="lower", extent=(0, 1, 0, 1), interpolation="nearest", cmap=COLOURS)
        _frame(axes)
        _add_walls(axes, self.walls, facecolor="none", edgecolor="black", linewidth=0.8)


def heatmap(panel: Panel, tables: Tables, median_of: tuple[str, str] | None = None) -> Heatmap:
    """The states of a panel, darker where a cell has more; a cell includes its lower and left edge.

    The seed shown is 0, or the one that has the median share of states right of the wall, the lower of two middle ones,
    in the panel and the curve `median_of`.
    """
    place, walls, seed = (panel.key, next(iter(panel.curves))), KNOWN[panel.run.environment].walls, 0
    if median_of:
        others = tables.states_of(*median_of)
        shares = (others["x"] > walls[-1].x_high).groupby(others["seed"]).mean().sort_values(kind="stable")
        seed = int(shares.index[(len(shares) - 1) // 2])
    states = tables.states_of(*place)
    shown = states[states["seed"] == seed]
    counts, _, _ = np.histogram2d(shown["x"], shown["y"], bins=CELLS, range=((0, 1), (0, 1)))

    rows = tables.rows(*place, panel.metric)
    moment = panel.run.moments[panel.states["moment"]]
    row = rows[rows["step"] >= min(moment, rows["step"].max())].iloc[0]  # the last one if training was shorter
    error = row["standard_error"]
    digits = max(2, -math.floor(math.log10(error))) if row["n"] > 1 and error > 0 else 2  # no "± 0.00"
    number = f"{row['mean']:.{digits}f}" + (f" ± {error:.{digits}f}" if row["n"] > 1 else "")
    summaries = [text.format(number) for start, text in SUMMARIES.items() if panel.metric.startswith(start)]
    return Heatmap(
        panel.key,
        "\n".join([panel.title, *summaries]),
        counts,
        walls,
        notes=("±: one standard error over seeds.",) if summaries else (),
        facts=(
            f"seed {seed} of {states['seed'].nunique()} shown",
            f"{len(shown):,} states at environment step {row['step']:,.0f}",
        ),
    )


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
