"""GridWorld and MazeGridWorld: walk from the lower left to the upper right corner of a unit square with walls.

The geometry is plain data (`GRID_WALLS`, `MAZE_WALLS` and the constants below); the dynamics, the rendering and the
TensorFlow twins all read it from here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar, NamedTuple

import gymnasium
import numpy as np
from gymnasium import spaces


class Wall(NamedTuple):
    """A wall over the whole height of the square at x in [x_low, x_high], open where y in [hole_low, hole_high]."""

    x_low: float
    x_high: float
    hole_low: float
    hole_high: float


GRID_WALLS = (Wall(0.5, 0.6, 0.4, 0.5),)
# Three walls, as in the released code; the paper's text says two.
MAZE_WALLS = (Wall(0.2, 0.3, 0.4, 0.5), Wall(0.4, 0.5, 0.9, 1.0), Wall(0.7, 0.8, 0.1, 0.2))

UP, RIGHT, DOWN, LEFT = range(4)
STEP_LENGTH = 0.05
STEP_NOISE = 0.01  # standard deviation of a step's length
START_HIGH = 0.05  # an episode starts uniformly in [0, START_HIGH]^2


@dataclass(frozen=True)
class Dials:
    """The numbers of GridWorld that the study `when` changes; the defaults are the paper's.

    An environment's name contains those that differ, as in `GridWorld-goal0.2-rewardnoise1`.

    Attributes:
      goal: edge of the goal's square.
      corner: the goal's upper right corner is (corner, corner).
      rewardnoise: standard deviation of the normal noise on each reward.
      stepnoise: standard deviation of a step's length.
    """

    goal: float = 0.05
    corner: float = 1.0
    rewardnoise: float = 0.0
    stepnoise: float = STEP_NOISE

    @classmethod
    def of(cls, environment: str) -> "Dials":
        """The dials in the name of a GridWorld; raises ValueError with one sentence for another name."""
        names = [each.name for each in fields(cls)]
        number = r"(\d+(?:\.\d+)?)"
        match = re.fullmatch("GridWorld" + "".join(f"(?:-{name}{number})?" for name in names), environment)
        if not match:
            expected = "".join(f"[-{name}X]" for name in names)
            raise ValueError(f"environment is {environment!r}, expected GridWorld{expected} with a number for each X.")
        dials = cls(**{name: float(value) for name, value in zip(names, match.groups(), strict=True) if value})
        for name, (least, most) in _BOUNDS.items():
            if not least <= (value := getattr(dials, name)) <= most:
                expected = f"{name} is {value:g}, expected a number from {least:g} to {most:g}"
                raise ValueError(f"environment is {environment!r}: {expected}.")
        if environment != dials.environment:
            raise ValueError(f"environment is {environment!r}: a world has one name, write {dials.environment}.")
        low = dials.corner - dials.goal
        x, y = np.meshgrid(*[np.linspace(low, dials.corner, 21)[1:]] * 2)
        if low < START_HIGH or in_wall(x, y, GRID_WALLS).all():
            raise ValueError(f"environment is {environment!r}: its goal lies in a wall, or over the start; move it.")
        return dials

    @property
    def environment(self) -> str:
        """The name of the GridWorld with these dials."""
        numbers = {each.name: getattr(self, each.name) for each in fields(self)}
        differing = {each.name: numbers[each.name] for each in fields(self) if numbers[each.name] != each.default}
        texts = [f"-{name}{np.format_float_positional(value, trim='-')}" for name, value in differing.items()]
        return "".join(["GridWorld", *texts])


PAPER = Dials()
_BOUNDS = {"goal": (0.01, 0.9), "corner": (0.1, 1.0), "rewardnoise": (0.0, 1000.0), "stepnoise": (0.0, 1.0)}

_WHITE, _GREY, _BLUE, _GREEN, _RED = (255, 255, 255), (90, 90, 90), (170, 200, 255), (120, 200, 120), (220, 50, 50)
_SIZE = 400  # edge of a picture in pixels
_AGENT_RADIUS = 0.015
_FRAME = 2  # pixels of the line around the world


def in_wall(x, y, walls: Sequence[Wall]):
    """Whether each point lies in a wall; walls and holes contain their edges.

    Args:
      x: horizontal coordinates [...], NumPy or TensorFlow.
      y: vertical coordinates [...], NumPy or TensorFlow.
      walls: the walls of the world.

    Returns:
      Booleans [...].
    """
    inside = False
    for wall in walls:
        inside |= (x >= wall.x_low) & (x <= wall.x_high) & ((y < wall.hole_low) | (y > wall.hole_high))
    return inside


def in_goal(x, y, dials: Dials = PAPER):
    """Whether each point (x [...], y [...], NumPy or TensorFlow) lies in the goal, which excludes its inner edges."""
    low, high = dials.corner - dials.goal, dials.corner
    inside = (x > low) & (y > low)
    return inside if high == 1.0 else inside & (x <= high) & (y <= high)


def transition(
    state: np.ndarray, action: int, noise: float, walls: Sequence[Wall], dials: Dials = PAPER
) -> tuple[np.ndarray, float, bool]:
    """One step of a grid world.

    A move that would end in a wall leaves the state unchanged. The wall is tested before the clipping to the square. So
    a move out of the square through the top hole of MazeGridWorld is blocked as well.

    Args:
      state: (x, y) in [0, 1]^2, float32 [2].
      action: 0 up, 1 right, 2 down, 3 left.
      noise: a draw from N(0, 1), in units of `dials.stepnoise`.
      walls: the walls of the world.
      dials: see `Dials`; noise of the reward is not added here.

    Returns:
      The next state (float32 [2]), the reward (0 on reaching the goal, else -1) and whether the goal is reached.
    """
    direction = 1 if action in (UP, RIGHT) else -1
    moved = state.copy()
    moved[0 if action in (LEFT, RIGHT) else 1] += np.float32(direction * STEP_LENGTH + dials.stepnoise * noise)
    next_state = np.clip(state if in_wall(*moved, walls) else moved, 0, 1)
    terminated = bool(in_goal(*next_state, dials))
    return next_state, 0.0 if terminated else -1.0, terminated


def draw(walls: Sequence[Wall], agent: np.ndarray, dials: Dials = PAPER) -> np.ndarray:
    """A picture of the world: walls grey, start blue, goal green and the agent at its place [2] a red disc.

    It is uint8 [_SIZE, _SIZE, 3], the first row on top.
    """
    picture, (x, y) = _world(tuple(walls), dials).copy(), _centres()
    picture[np.hypot(x - agent[0], y - agent[1]) <= _AGENT_RADIUS] = _RED
    return picture


@cache  # a video has thousands of pictures of one world
def _world(walls: tuple[Wall, ...], dials: Dials) -> np.ndarray:
    """The picture without an agent."""
    x, y = np.broadcast_arrays(*_centres())
    picture = np.full((_SIZE, _SIZE, 3), _WHITE, np.uint8)
    picture[(x <= START_HIGH) & (y <= START_HIGH)] = _BLUE
    picture[in_goal(x, y, dials)] = _GREEN
    picture[in_wall(x, y, walls)] = _GREY
    for edge in (picture[:_FRAME], picture[-_FRAME:], picture[:, :_FRAME], picture[:, -_FRAME:]):
        edge[...] = _GREY
    return picture


def _centres() -> tuple[np.ndarray, np.ndarray]:
    """The pixels' x [1, _SIZE] and y [_SIZE, 1], the first row on top."""
    centres = (np.arange(_SIZE) + 0.5) / _SIZE
    return centres[None], centres[::-1, None]


class GridWorld(gymnasium.Env):
    """A unit square with one wall (Section 4.2, figure 2a); reward -1 a step, 0 on reaching the goal.

    Observations are the state (x, y), float32 [2]; the four actions move up, right, down and left. The render mode is
    None or "rgb_array"; any other raises ValueError. `dials` make it one of the worlds of the study `when`.
    """

    metadata: ClassVar[dict] = {"render_modes": ["rgb_array"], "render_fps": 30}
    walls = GRID_WALLS

    def __init__(self, render_mode: str | None = None, dials: Dials = PAPER):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(
                f"unknown render mode {render_mode!r} of {type(self).__name__}: choose 'rgb_array' or None."
            )
        self.render_mode = render_mode
        self.dials = dials
        self.observation_space = spaces.Box(0, 1, (2,), np.float32)
        self.action_space = spaces.Discrete(4)
        self.state = np.zeros(2, np.float32)

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode at a uniform point of the start square; returns (observation [2], {}). No options."""
        super().reset(seed=seed)
        self.state = self.np_random.uniform(0, START_HIGH, size=2).astype(np.float32)
        return self.state.copy(), {}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Moves once; returns (observation [2], reward, terminated, False, {}).

        Raises:
          ValueError: the action is not one of 0, 1, 2, 3.
        """
        if not self.action_space.contains(action):
            raise ValueError(
                f"unknown action {action!r} of {type(self).__name__}: choose 0 (up), 1 (right), 2 (down) or 3 (left)."
            )
        noise = self.np_random.standard_normal()
        self.state, reward, terminated = transition(self.state, action, noise, self.walls, self.dials)
        if self.dials.rewardnoise:
            reward += self.dials.rewardnoise * self.np_random.standard_normal()
        return self.state.copy(), reward, terminated, False, {}

    def render(self) -> np.ndarray | None:
        """The picture of `draw` with the agent (uint8 [400, 400, 3]), or None without a render mode."""
        return None if self.render_mode is None else draw(self.walls, self.state, dials=self.dials)


class MazeGridWorld(GridWorld):
    """GridWorld with three walls, whose holes lie in the middle, at the top and at the bottom."""

    walls = MAZE_WALLS
