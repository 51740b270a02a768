"""Panels that show an environment: the roundabout as it is rendered, and the grid worlds of maps.py."""

from functools import partial

import numpy as np
from dyna_td.envs import KNOWN
from dyna_td.envs.roundabout import Roundabout
from matplotlib.axes import Axes

from drawing.maps import draw_world
from drawing.panels import Drawing
from dyna_td.runs.registry import task

SEED, IDLE_DECISIONS = 0, 2  # after these the agent is about to enter the circle, between other vehicles
IDLE = 1
REACH = 40.0  # m, from the centre of the circle to each edge of the picture: the circle's outer edge is at 26 m
PIXELS_PER_METRE = 10


def scene(environment: str) -> Drawing:
    """Panel a of a figure: the environment itself."""
    walls = KNOWN[environment].walls
    decorate = partial(draw_world, walls) if walls else draw_roundabout
    return Drawing("a", task(environment), decorate=decorate)


def draw_roundabout(axes: Axes) -> None:
    """Draws a moment of an episode, in metres from the centre of the circle; y points down."""
    picture, position = render_scene()
    axes.imshow(picture, extent=(-REACH, REACH, REACH, -REACH))
    axes.annotate("agent", tuple(position), (8, 0), textcoords="offset points", color="white", va="center")
    ticks = (-40, -20, 0, 20, 40)
    axes.set(xticks=ticks, yticks=ticks, xlabel="$x$ (m)", ylabel="$y$ (m)")
    axes.spines[["top", "right"]].set_visible(True)


def render_scene() -> tuple[np.ndarray, np.ndarray]:
    """The picture (uint8 [pixels, pixels, 3], the same each time) and the agent's position (m) [2] in it."""
    environment = Roundabout("rgb_array")
    try:
        environment.reset(seed=SEED)
        for _ in range(IDLE_DECISIONS):
            environment.step(IDLE)
        position = environment.vehicle.position.copy()
        pixels = int(2 * REACH * PIXELS_PER_METRE)
        environment.config.update(
            screen_width=pixels,
            screen_height=pixels,
            scaling=PIXELS_PER_METRE,
            # The agent's place in the picture, as shares of its sides, so that the circle's centre is in the middle.
            centering_position=list((position + REACH) / (2 * REACH)),
        )
        return np.asarray(environment.render()), position
    finally:
        environment.close()
