"""Episodes of a trained policy in its Gymnasium environment."""

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

import gymnasium
import numpy as np

from dyna_td import envs
from dyna_td.envs import MAX_EPISODE_STEPS
from dyna_td.errors import UserError
from dyna_td.records.policy import Policy

MIN_FRAME = 0.04  # seconds: most viewers of GIFs show 25 pictures a second
_WALKERS = ("Hopper-", "Walker2d-", "HalfCheetah-")  # their models have a camera that follows them
_EPISODES = 1_000_000  # key that separates the episodes' random numbers from those of training


@dataclass(frozen=True)
class Episode:
    """One episode: its return, and its length in steps."""

    total: float
    length: int


def make_environment(environment: str, pictures: bool = False) -> gymnasium.Env:
    """The environment of a policy; with `pictures` it renders."""
    if pictures and sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        os.environ.setdefault("MUJOCO_GL", "egl")  # MuJoCo and SDL draw without a display
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    options: dict = {"render_mode": "rgb_array"} if pictures else {}
    if pictures and environment.startswith(_WALKERS):
        options["camera_name"] = "track"
    try:
        return envs.make(environment, **options)
    except envs.UnusableEnvironment as error:
        hint = " Pictures need a class that takes render_mode='rgb_array' and has `render`." if pictures else ""
        if "camera_name" in options:
            hint = " Its pictures need OpenGL: set MUJOCO_GL to egl, osmesa or glfw."
        raise UserError(f"{error}{hint}") from error


def play(
    policy: Policy,
    environment: gymnasium.Env,
    seed: int,
    number: int,
    epsilon: float,
    show: Callable[[np.ndarray], None] | None = None,
) -> Episode:
    """Plays the `number`-th episode of a seed's policy; the same call gives the same episode.

    Args:
      policy: of this environment.
      environment: made by `make_environment`.
      seed: the seed with which the policy was trained.
      number: from 0, keys the episode's random numbers.
      epsilon: the share of random actions where actions are discrete.
      show: called with pictures, about one each `MIN_FRAME` seconds of the environment's time.
    """
    entropy = np.random.SeedSequence([seed, _EPISODES, number])
    random, space = np.random.default_rng(entropy), environment.action_space
    count = int(space.n) if isinstance(space, gymnasium.spaces.Discrete) else space.sample().size
    if policy.actions != count:
        raise UserError(f"the policy has {policy.actions} actions, but {policy.environment} has {count}: train again.")
    rendered = _Pictures(environment, show)
    total, length, ended = 0.0, 0, False
    try:
        state, _ = environment.reset(seed=int(entropy.generate_state(1)[0]))
        rendered.after_step()
        while not ended and length < MAX_EPISODE_STEPS:
            action = policy.act(np.asarray(state, np.float32).reshape(1, -1), seed)[0]
            if random.random() < epsilon and isinstance(space, gymnasium.spaces.Discrete):
                action = random.integers(space.n)
            state, reward, terminated, truncated, _ = environment.step(envs.as_declared(action, space))
            total, length, ended = total + np.asarray(reward).item(), length + 1, bool(terminated or truncated)
            rendered.after_step(ended)
    except UserError:
        raise
    except NotImplementedError as error:
        raise UserError(
            f"environment {policy.environment} lacks a method that Gymnasium asks for, perhaps `render`: implement it."
        ) from error
    except Exception as error:  # a foreign environment may raise anything
        words = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ") + envs.place_of(error)
        raise UserError(f"environment {policy.environment}, seed {seed}, step {length}: {words}.") from error
    return Episode(total, length)


class _Pictures:
    """Passes an environment's pictures to `show`, among them those within a decision of the roundabout."""

    def __init__(self, environment: gymnasium.Env, show: Callable[[np.ndarray], None] | None):
        self._environment, self._show, self._steps = environment, show, 0
        self._every = max(1, round(MIN_FRAME * rate_of(environment)))
        if show and hasattr(environment.unwrapped, "set_record_video_wrapper"):  # highway-env's
            environment.unwrapped.set_record_video_wrapper(self)

    def after_step(self, ended: bool = False) -> None:
        """Shows the picture, if it is due."""
        if ended or self._steps % self._every == 0:
            self._capture_frame()
        self._steps += 1

    def _capture_frame(self) -> None:
        """Shows a picture; highway-env calls this by its name for pictures within a decision."""
        if self._show:
            self._show(np.asarray(self._environment.unwrapped.render()))


def rate_of(environment: gymnasium.Env) -> float:
    """The environment's pictures per second."""
    config = getattr(environment.unwrapped, "config", None)  # highway-env's is a dict
    frequency = config.get("simulation_frequency") if isinstance(config, dict) else None
    return float(frequency or environment.metadata.get("render_fps") or 25)
