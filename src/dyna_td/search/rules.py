"""The three rules of a chain step: the authors' code, the paper's box, and the dynamics that converge to exp h.

A step follows the `gradient` of a criterion h. The figures use `released`; `make controls` compares all three. Each
fill makes a new rule, with the current statistics of visited states. `move` proposes a state, and `accepts` decides
whether the queue takes it.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from dyna_td.learning.sums import length, times
from dyna_td.search.visited import VisitedStates
from dyna_td.settings import SearchControlSettings

VANISHED = 1.0e-5  # a shorter gradient has no direction (code)
MIN_MOVE = 1.0e-5  # `released`: a chain that moves less is stuck and restarts (code)
STEP_SIZE = 0.1  # alpha_h (paper)
NOISE_SCALE = 0.05  # `released`: the noise, in standard deviations of the visited states (code)
NOISE_VARIANCE = 0.01  # `algorithm_4`: the noise, in covariances of the visited states (paper)
LANGEVIN_STEP = 1.0e-3  # `langevin`: the step size a, in units of the box of states (ours)


class Proposal(NamedTuple):
    """A chain step that a rule proposes."""

    state: tf.Tensor  # [S, d]
    restarts: tf.Tensor  # bool [S]: the chain restarts: out of the box, or terminal or stuck under `released`
    is_flat: tf.Tensor  # bool [S]: the gradient is shorter than VANISHED; `released` tests Sigma g, and drops it


class Released:
    """The rule of the authors' code: steps of a fixed length along the gradient, plus noise, inside the box.

    The gradient is normalised, so only the sign of Dyna-TD's TD error matters: its chain ascends V where delta < 0, and
    descends it where delta > 0. A chain restarts when it no longer moves, and in a terminal state unless
    `queue_goals`.

    Args:
      space: of states (`envs.spaces.Space`).
      visited: the agent's visited states.
      settings: step size, least distance of acceptance, and whether chains pass through goals.
    """

    restart_is_free = False
    continues = False  # each fill starts a new chain
    through_y = False  # the target y counts as constant in grad h
    online = False  # y bootstraps from the target network

    def __init__(self, space, visited: VisitedStates, settings: SearchControlSettings):
        self.space = space
        self.step_size = settings.step_size or STEP_SIZE
        self.through_goals = settings.queue_goals
        d = space.state_dim
        self.sigma = tf.eye(d)[None] if space.shares_one_unit else visited.covariance  # [S or 1, d, d]
        self.noise = NOISE_SCALE * tf.sqrt(tf.maximum(tf.linalg.diag_part(self.sigma), 0.0))  # [S or 1, d]
        self.threshold = settings.acceptance or visited.mean_move / d**0.5

    def first(self, state, normals):
        """The start of a chain near a state of B_er: [S, d]."""
        return self.space.nearest_state(state + self.noise * normals)

    def move(self, state, gradient, normals) -> Proposal:
        """One step from `state`; all arguments are [S, d]."""
        direction = times(self.sigma, gradient)  # Sigma g
        norm = length(direction)[:, None]
        is_flat = norm < VANISHED
        climb = tf.where(is_flat, 0.0, direction / tf.where(is_flat, 1.0, norm))
        moved = self.space.nearest_state(state + self.step_size * climb + self.noise * normals)
        is_stuck = length(moved - state) < MIN_MOVE
        restarts = is_stuck if self.through_goals else self.space.is_terminal(moved) | is_stuck
        return Proposal(moved, restarts, is_flat[:, 0])

    def accepts(self, distance, state, step):
        """Whether the queue takes a state at this distance from the last accepted one: bool [S].

        `step` counts the chain's steps so far, int32 [S]; only `Langevin` needs it.
        """
        return distance >= self.threshold


class Algorithm4:
    """Algorithm 4 as printed: the plain gradient. A chain that leaves the state space restarts, at no cost.

    Args: see `Released`.
    """

    restart_is_free = True
    continues = False
    through_y = False
    online = True

    def __init__(self, space, visited: VisitedStates, settings: SearchControlSettings):
        self.space = space
        self.step_size = settings.step_size or STEP_SIZE
        covariance = visited.covariance
        self.factor = NOISE_VARIANCE**0.5 * cholesky(covariance)
        self.threshold = settings.acceptance or visited.recent_move

    def first(self, state, normals):
        """The state of B_er itself."""
        return state

    def move(self, state, gradient, normals) -> Proposal:
        """See `Released.move`: s + alpha_h g + N(0, 0.01 Sigma)."""
        noise = times(self.factor, normals)
        moved = state + self.step_size * gradient + noise
        is_outside = tf.reduce_any((moved < self.space.low) | (moved > self.space.high), axis=1)
        return Proposal(moved, is_outside, length(gradient) < VANISHED)

    def accepts(self, distance, state, step):
        """See `Released.accepts`."""
        return distance >= self.threshold


class Langevin:
    """Langevin dynamics in the box of states, reflected at its faces: they converge to the density exp h.

    Steps are in units of the box, so one step size serves every environment; the limit stays the same. The chain
    continues from fill to fill and yields a state every few steps, at any distance from the last.

    Args: see `Released`; `visited` is not used.
    """

    restart_is_free = False
    continues = True
    through_y = True
    online = False

    def __init__(self, space, visited: VisitedStates, settings: SearchControlSettings):
        self.space = space
        self.step_size = settings.step_size or LANGEVIN_STEP  # a; exp h is the limit for a -> 0
        self.through_goals = settings.queue_goals
        self.width = space.high - space.low
        self.interval = max(1, settings.chain_steps // settings.states_per_fill)

    def first(self, state, normals):
        """The state of B_er itself."""
        return state

    def move(self, state, gradient, normals) -> Proposal:
        """See `Released.move`: s + a g + sqrt(2 a) N(0, 1)."""
        drift = self.step_size * self.width**2 * gradient
        moved = state + drift + (2.0 * self.step_size) ** 0.5 * self.width * normals
        return Proposal(self.reflect(moved), tf.zeros([state.shape[0]], tf.bool), length(gradient) < VANISHED)

    def reflect(self, point):
        """Folds points [S, d] back into the box, as often as needed."""
        place = (point - self.space.low) / np.where(self.width > 0, self.width, 1) % 2.0  # a width may be 0
        return self.space.low + self.width * (1.0 - tf.abs(1.0 - place))

    def accepts(self, distance, state, step):
        """See `Released.accepts`. Only `queue_goals` takes terminal states: nothing is simulated from there."""
        is_due = tf.equal((step + 1) % self.interval, 0)
        return is_due if self.through_goals else is_due & ~self.space.is_terminal(state)


RULES = {"released": Released, "algorithm_4": Algorithm4, "langevin": Langevin}


def gradient(criterion: Callable[[tf.Tensor], tf.Tensor], states: tf.Tensor) -> tf.Tensor:
    """grad_s h(s) of each state: columns [S, d, B] -> [S, d, B]; `criterion` maps them to [S, B]."""
    with tf.GradientTape() as tape:
        tape.watch(states)
        h = criterion(states)
    return tape.gradient(h, states, unconnected_gradients="zero")


def cholesky(matrix: tf.Tensor) -> tf.Tensor:
    """The lower triangle L with L L^T = `matrix` [S, d, d]; columns of a singular matrix may be zero.

    Elementwise operations keep a seed's numbers independent of its neighbours.
    """
    d = matrix.shape[-1]
    columns = []
    rest = matrix
    for j in range(d):
        pivot = rest[:, j, j]
        is_positive = pivot > 1.0e-7 * matrix[:, j, j]
        # Not rsqrt, nor a division by sqrt alone, which XLA makes an rsqrt: CPUs estimate it differently.
        root = tf.where(is_positive, tf.sqrt(tf.maximum(pivot, 1.0e-30)), 1.0)
        column = tf.where(is_positive[:, None], rest[:, :, j] / root[:, None], 0.0)
        column *= tf.cast(tf.range(d) >= j, matrix.dtype)
        columns.append(column)
        rest -= column[:, :, None] * column[:, None, :]
    return tf.stack(columns, axis=-1)
