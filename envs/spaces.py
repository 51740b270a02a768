"""The space of an environment: its states, its actions, and the end of its episodes, but not its dynamics."""

from collections.abc import Callable

import gymnasium
import numpy as np
import tensorflow as tf
from dyna_td.envs import UnusableEnvironment

UNBOUNDED = 1.0e6  # a bound beyond this counts as none
WIDEST = 10.0  # bound of search control on an unbounded coordinate, either side (the released code's for velocities)
MUJOCO_WIDEST = 5.0  # the same in MuJoCo's environments (code)


class Space:
    """The states and actions of one environment.

    Attributes:
      name: the environment's Gymnasium id.
      state_dim: d, length of a flattened observation.
      actions: number of discrete actions, or None where actions are vectors.
      action_dim: length of an action vector, whose parts lie in [-1, 1]; 0 where actions are discrete.
      noise_dim: standard normal numbers that the environment's true model needs; 0 where there is none.
      low: lower corner of the box of states that search control keeps to, float32 [d].
      high: upper corner, float32 [d].
      shares_one_unit: whether all coordinates of a state have one unit, so they need no rescaling.
      knows_termination: whether `is_terminal` is the environment's rule; otherwise a learned model predicts the end.
    """

    name: str
    state_dim: int
    actions: int | None
    action_dim: int = 0
    noise_dim: int = 0
    low: np.ndarray
    high: np.ndarray
    shares_one_unit: bool = False
    knows_termination: bool = True

    def is_terminal(self, state: tf.Tensor) -> tf.Tensor:
        """Whether an episode ends in each state, float32 [..., d] -> bool [...]."""
        raise NotImplementedError

    def nearest_state(self, point: tf.Tensor) -> tf.Tensor:
        """Moves points, float32 [..., d], into the space of states by clipping them to its box."""
        return tf.clip_by_value(point, self.low, self.high)

    def nearest_observation(self, point: tf.Tensor) -> tf.Tensor:
        """Moves points, float32 [..., d], to possible observations, here into the box; `GymSpace` is wider."""
        return self.nearest_state(point)


class GymSpace(Space):
    """The space of any Gymnasium environment with Box observations and discrete or bounded Box actions.

    An environment of the user's own may have the method `is_terminal_state`, see `Space.is_terminal`.

    Args:
      name: its id.
      environment: made by `envs.make`.

    Raises:
      UnusableEnvironment: `is_terminal_state` is no such rule.
    """

    def __init__(self, name: str, environment: gymnasium.Env):
        observations, actions = environment.observation_space, environment.action_space
        self.name = name
        self.state_dim = int(np.prod(observations.shape))
        is_discrete = isinstance(actions, gymnasium.spaces.Discrete)
        self.actions = int(actions.n) if is_discrete else None
        self.action_dim = 0 if is_discrete else int(np.prod(actions.shape))
        widest = MUJOCO_WIDEST if "mujoco" in str(environment.spec.entry_point) else WIDEST
        low, high = _bounded(observations.low, np.nan), _bounded(observations.high, np.nan)
        self.low = np.where(np.isnan(low), np.fmin(-widest, high - widest), low)
        self.high = np.where(np.isnan(high), np.fmax(widest, low + widest), high)
        self._lowest = _bounded(observations.low, -np.inf)
        self._highest = _bounded(observations.high, np.inf)
        self._rule = _TERMINATION_RULES.get(name) or getattr(environment.unwrapped, "is_terminal_state", None)
        self.knows_termination = self._rule is not None
        if self._rule:
            self._require_sound_rule()

    def is_terminal(self, state):
        """See `Space.is_terminal`; without a known rule, no state is terminal."""
        return self._rule(state) if self._rule else tf.zeros(tf.shape(state)[:-1], tf.bool)

    def _require_sound_rule(self):
        """Raises UnusableEnvironment unless the rule gives a boolean for each state of several seeds."""
        expected = "expected states [..., d] -> bool [...], as states[..., 0] > 1"
        # [S, B, d] as in mini-batches, all lengths unequal unless d = 1; and [S, d] as in chains.
        for shape in [2, self.state_dim + 1, self.state_dim], [self.state_dim + 1, self.state_dim]:
            states = tf.broadcast_to(tf.constant(self.low), shape)
            try:
                ends = tf.convert_to_tensor(tf.function(self._rule, autograph=False)(states))  # as in training
            except Exception as error:  # a user's rule may raise anything
                words = f"raised {type(error).__name__} for states {shape}: {' '.join(str(error).split())}"
                raise UnusableEnvironment(f"environment {self.name}: is_terminal_state {words}; {expected}.") from error
            if ends.dtype != tf.bool or ends.shape != shape[:-1]:
                given = f"{ends.dtype.name} {list(ends.shape)} for states {shape}"
                raise UnusableEnvironment(f"environment {self.name}: is_terminal_state returns {given}; {expected}.")

    def nearest_observation(self, point):
        """See `Space.nearest_observation`: coordinates without bounds stay as they are."""
        return tf.clip_by_value(point, self._lowest, self._highest)


def _bounded(bounds: np.ndarray, otherwise: float) -> np.ndarray:
    bounds = np.asarray(bounds, np.float64).ravel()
    return np.where(np.abs(bounds) < UNBOUNDED, bounds, otherwise).astype(np.float32)


def _hopper_falls(state: tf.Tensor) -> tf.Tensor:
    """Hopper ends where its height z <= 0.7 or its angle is not within 0.2 rad; its limits of 100 are ignored."""
    return (state[..., 0] <= 0.7) | (tf.abs(state[..., 1]) >= 0.2)


def _walker_falls(state: tf.Tensor) -> tf.Tensor:
    """Walker2d ends where its height is not within (0.8, 2) or its angle not within 1 rad."""
    height = state[..., 0]
    return (height <= 0.8) | (height >= 2.0) | (tf.abs(state[..., 1]) >= 1.0)


_TERMINATION_RULES: dict[str, Callable[[tf.Tensor], tf.Tensor]] = {
    f"{name}-{version}": rule
    for name, rule in {"Hopper": _hopper_falls, "Walker2d": _walker_falls}.items()
    for version in ("v4", "v5")
}
