"""Search control: chains of states that climb a criterion h, and the queue B_sc that they fill (Algorithms 1, 3, 4).

The inner loop of Algorithm 4 is `SearchControl.fill`. Its step has three named rules; all seeds step together, and a
seed that is done waits without changing. `released` is the authors' running code, `algorithm_4` the paper's box to the
letter, `langevin` the dynamics that converge to the density proportional to exp h, i.e. to |delta| for Dyna-TD
(for short steps, and where the model has no noise).
"""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from dyna_td.graph import with_tensor_loops
from dyna_td.replay import Transition
from dyna_td.runs import SearchControlSettings
from dyna_td.streams import Purpose, Streams

VANISHED = 1.0e-5  # a gradient shorter than this points nowhere (code)
SHORTEST_MOVE = 1.0e-5  # under `released`, a chain that moves less is stuck and starts anew (code)
STEP_SIZE = 0.1  # alpha_h (paper)
NOISE_SCALE = 0.05  # of `released`, in standard deviations of the visited states (code)
NOISE_VARIANCE = 0.01  # of `algorithm_4`, in covariances of the visited states (paper)
THRESHOLD_RATE = 0.001  # beta of epsilon_accept (Alg. 4)
LANGEVIN_STEP = 1.0e-3  # a, in units of the box of states; our choice
MOST_ITERATIONS = 4_000  # of one fill, whatever the rule
MOST_ITERATIONS_A_STEP = 10  # of chain_steps, the rest being restarts that cost no step; our choice


class StateQueue(tf.Module):
    """The search-control queue B_sc: a ring of states for each of S seeds, which fill at their own pace.

    Args:
      seeds: S.
      capacity: states kept for each seed.
      state_dim: d.
    """

    def __init__(self, seeds: int, capacity: int, state_dim: int):
        super().__init__()
        self.capacity = capacity
        # The last place takes what is not to be stored, so that every fill is one scatter of the same shape.
        self._states = tf.Variable(tf.zeros([seeds, capacity + 1, state_dim]), trainable=False)
        self._added = tf.Variable(tf.zeros([seeds], tf.int64), trainable=False)

    @property
    def size(self) -> tf.Tensor:
        """How many states each seed holds now: int32 [S]."""
        return tf.cast(tf.minimum(self._added, self.capacity), tf.int32)

    def add(self, states: tf.Tensor, count: tf.Tensor) -> None:
        """Stores the first `count` (int32 [S]) of the states [S, m, d], m at most the capacity."""
        seeds, m = states.shape[:2]
        number = tf.range(m)[None]  # [1, m]
        ring = (tf.cast(self._added % self.capacity, tf.int32)[:, None] + number) % self.capacity
        place = tf.where(number < count[:, None], ring, self.capacity)  # [S, m]
        seed = tf.broadcast_to(tf.range(seeds)[:, None], place.shape)
        index = tf.stack([seed, place], axis=-1)
        self._states.assign(tf.tensor_scatter_nd_update(self._states.read_value(), index, states))
        self._added.assign_add(tf.cast(count, tf.int64))

    def gather(self, ages: tf.Tensor) -> tf.Tensor:
        """The states that were added `ages` (int32 [S, B], 0 is the newest) before: [S, B, d]."""
        newest = tf.cast((self._added - 1) % self.capacity, tf.int32)
        places = (newest[:, None] - ages) % self.capacity
        return tf.gather_nd(self._states.read_value(), places[..., None], batch_dims=1)

    def draw(self, streams: Streams, purpose: Purpose, count: int, step, inner=0, newest: int | None = None):
        """Draws `count` states a seed uniformly, of the `newest` if given: [S, count, d]; zeros from an empty queue."""
        held = self.size if newest is None else tf.minimum(self.size, newest)
        return self.gather(streams.integers(purpose, (count,), tf.maximum(held, 1), step=step, inner=inner))


class VisitedStates(tf.Module):
    """Running statistics of the states that the agent really visits (Alg. 4, first lines).

    Args:
      seeds: S.
      state_dim: d.
    """

    def __init__(self, seeds: int, state_dim: int):
        super().__init__()
        self.state_dim = state_dim
        self._count = tf.Variable(0.0, trainable=False)
        self._mean = tf.Variable(tf.zeros([seeds, state_dim]), trainable=False)  # mu_s
        self._mean_product = tf.Variable(tf.zeros([seeds, state_dim, state_dim]), trainable=False)  # mu_ss
        self.mean_move = tf.Variable(tf.zeros([seeds]), trainable=False)  # mean ||s' - s||
        self.recent_move = tf.Variable(tf.zeros([seeds]), trainable=False)  # epsilon_accept, an exponential mean

    def observe(self, transition: Transition) -> None:
        """Takes the newest transition (B = 1) into account."""
        s, next_s = transition.state[:, 0], transition.next_state[:, 0]  # [S, d]
        move = tf.norm(next_s - s, axis=1)
        self._count.assign_add(1.0)
        share = 1.0 / self._count
        self._mean.assign_add(share * (s - self._mean))
        self._mean_product.assign_add(share * (s[:, :, None] * s[:, None, :] - self._mean_product))
        self.mean_move.assign_add(share * (move - self.mean_move))
        self.recent_move.assign_add(THRESHOLD_RATE * (move - self.recent_move))

    @property
    def covariance(self) -> tf.Tensor:
        """Sigma_s: [S, d, d]."""
        return self._mean_product - self._mean[:, :, None] * self._mean[:, None, :]


class Proposal(NamedTuple):
    """What a rule makes of one chain step."""

    state: tf.Tensor  # [S, d]
    leaves: tf.Tensor  # bool [S]: the chain has to start anew
    is_flat: tf.Tensor  # bool [S]: the gradient is too short to be followed


class Released:
    """The authors' running code: steps of a fixed length along the gradient, inside the box.

    The gradient is normalised, so of the TD error only its sign remains: the chain ascends V where delta < 0 and
    descends it where delta > 0. A chain starts anew in a terminal state or when it no longer moves.
    """

    restart_is_free = False
    goes_on = False  # each fill starts from B_er

    def __init__(self, space, visited: VisitedStates, step_size: float):
        self.space = space
        self.step_size = step_size
        d = space.state_dim
        self.sigma = tf.eye(d)[None] if space.shares_one_unit else visited.covariance  # [S or 1, d, d]
        self.noise = NOISE_SCALE * tf.sqrt(tf.maximum(tf.linalg.diag_part(self.sigma), 0.0))  # [S or 1, d]
        self.threshold = visited.mean_move / d**0.5

    def first(self, state, normals):
        """Where a chain starts, given a state of B_er: near it."""
        return self.space.nearest_state(state + self.noise * normals)

    def move(self, state, gradient, normals) -> Proposal:
        """One step from [S, d]."""
        direction = tf.reduce_sum(self.sigma * gradient[:, None, :], axis=2)  # Sigma g
        length = tf.norm(direction, axis=1, keepdims=True)
        is_flat = length < VANISHED
        climb = tf.where(is_flat, 0.0, direction / tf.where(is_flat, 1.0, length))
        moved = self.space.nearest_state(state + self.step_size * climb + self.noise * normals)
        is_stuck = tf.norm(moved - state, axis=1) < SHORTEST_MOVE
        return Proposal(moved, self.space.is_terminal(moved) | is_stuck, is_flat[:, 0])

    def accepts(self, distance, state, step):
        """Whether a state so far from the last accepted one is kept: bool [S]."""
        return distance >= self.threshold


class Algorithm4:
    """The box of Algorithm 4: the plain gradient, and a new start outside the space of states, which costs no step."""

    restart_is_free = True
    goes_on = False

    def __init__(self, space, visited: VisitedStates, step_size: float):
        self.space = space
        self.step_size = step_size
        covariance = visited.covariance
        self.factor = NOISE_VARIANCE**0.5 * cholesky(covariance)
        self.threshold = visited.recent_move

    def first(self, state, normals):
        """See `Released.first`; here the state itself."""
        return state

    def move(self, state, gradient, normals) -> Proposal:
        """See `Released.move`."""
        noise = tf.reduce_sum(self.factor * normals[:, None, :], axis=2)
        moved = state + self.step_size * gradient + noise
        is_outside = tf.reduce_any((moved < self.space.low) | (moved > self.space.high), axis=1)
        return Proposal(moved, is_outside, tf.norm(gradient, axis=1) < VANISHED)

    def accepts(self, distance, state, step):
        """See `Released.accepts`."""
        return distance >= self.threshold


class Langevin:
    """Langevin dynamics in the box of states, reflected at its faces: they converge to the density exp h.

    Steps are in units of the box, which leaves the limit as it is and serves every environment. The chain goes on from
    fill to fill and every few steps give one state, whatever its distance from the last.

    Args:
      space: of states.
      settings: how many steps there are to a state.
      step_size: a; the limit is that of a -> 0.
    """

    restart_is_free = False
    goes_on = True

    def __init__(self, space, settings: SearchControlSettings, step_size: float = LANGEVIN_STEP):
        self.space = space
        self.step_size = step_size
        self.width = space.high - space.low
        self.interval = max(1, settings.chain_steps // settings.states_per_fill)

    def first(self, state, normals):
        """See `Released.first`; here the state itself."""
        return state

    def move(self, state, gradient, normals) -> Proposal:
        """See `Released.move`."""
        drift = self.step_size * self.width**2 * gradient
        moved = state + drift + (2.0 * self.step_size) ** 0.5 * self.width * normals
        return Proposal(self.reflect(moved), tf.zeros([state.shape[0]], tf.bool), tf.norm(gradient, axis=1) < VANISHED)

    def reflect(self, point):
        """Folds points [S, d] back into the box, as often as needed."""
        place = (point - self.space.low) / self.width % 2.0
        return self.space.low + self.width * (1.0 - tf.abs(1.0 - place))

    def accepts(self, distance, state, step):
        """See `Released.accepts`; never a terminal state, from which nothing can be simulated."""
        is_due = tf.equal((step + 1) % self.interval, 0)
        return is_due & ~self.space.is_terminal(state)


def cholesky(matrix: tf.Tensor) -> tf.Tensor:
    """The lower triangle L with L L^T = `matrix` [S, d, d], for matrices that may be singular; zero columns then.

    Written out for the few dimensions of a state, so that a seed's numbers do not depend on its neighbours.
    """
    d = matrix.shape[-1]
    columns = []
    rest = matrix
    for j in range(d):
        pivot = rest[:, j, j]
        scale = tf.where(pivot > 1.0e-7 * matrix[:, j, j], tf.math.rsqrt(tf.maximum(pivot, 1.0e-30)), 0.0)
        column = rest[:, :, j] * scale[:, None] * tf.cast(tf.range(d) >= j, matrix.dtype)
        columns.append(column)
        rest -= column[:, :, None] * column[:, None, :]
    return tf.stack(columns, axis=-1)


# What is counted since training began; `catalog.DYNA_METRICS` says what each means.
COUNTERS = (
    "chain_steps_made",
    "chain_restarts",
    "chain_states",
    "chain_vanished_gradients",
    "chain_nonfinite_gradients",
)


class SearchControl(tf.Module):
    """Fetches states for S seeds and keeps count of what happens on the way.

    Args:
      settings: m, the chain's length, its rule.
      streams: the S seeds.
      space: the environment's space of states.
      step_size: alpha_h.
    """

    def __init__(self, settings: SearchControlSettings, streams: Streams, space, step_size: float = STEP_SIZE):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.space = space
        self.step_size = step_size
        self.visited = VisitedStates(streams.count, space.state_dim)
        self.counters = {
            name: tf.Variable(tf.zeros([streams.count], tf.int64), trainable=False, name=name) for name in COUNTERS
        }
        self.chain = tf.Variable(tf.zeros([streams.count, space.state_dim]), trainable=False)
        self.has_begun = tf.Variable(False, trainable=False)

    def rule(self) -> Released | Algorithm4 | Langevin:
        """The chain's rule with the statistics of this moment."""
        if self.settings.search_control == "langevin":
            return Langevin(self.space, self.settings)
        rules = {"released": Released, "algorithm_4": Algorithm4}
        return rules[self.settings.search_control](self.space, self.visited, self.step_size)

    @with_tensor_loops
    def fill(
        self,
        step: tf.Tensor,
        chain_steps: tf.Tensor,
        gradient: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        start: Callable[[tf.Tensor], tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Climbs until every seed has m states or its chain has made `chain_steps` steps (Alg. 4, inner while loop).

        Args:
          step: the environment step.
          chain_steps: k_b, int32 scalar; 0 does nothing.
          gradient: maps states [S, d] and the chain's iteration to grad h, [S, d].
          start: maps the chain's iteration to states of B_er (or wherever chains start), [S, d].

        Returns:
          States [S, m, d] and how many of them are found: int32 [S]. With full chains these are the last m accepted.
        """
        m, d, seeds = self.settings.states_per_fill, self.space.state_dim, self.streams.count
        rule = self.rule()
        states, count, used = tf.zeros([seeds, m, d]), tf.zeros([seeds], tf.int32), tf.zeros([seeds], tf.int32)
        restarts, vanished, nonfinite = tf.zeros_like(used), tf.zeros_like(used), tf.zeros_like(used)
        i = tf.constant(0)
        state = rule.first(start(i), self._normals(step, i)[:, d:])
        if rule.goes_on:
            state = tf.where(self.has_begun, self.chain, state)
        last = state  # s tilde, the last accepted state
        most_iterations = tf.minimum(MOST_ITERATIONS, MOST_ITERATIONS_A_STEP * chain_steps)
        most = tf.int32.max if self.settings.full_chains else m
        active = (count < most) & (used < chain_steps)  # Alg. 4: c < k and i < k_b
        while tf.reduce_any(active) & (i < most_iterations):
            slope = gradient(state, i)
            is_finite = tf.math.is_finite(tf.norm(slope, axis=1))  # not even its length overflows
            slope = tf.where(is_finite[:, None], slope, 0.0)
            i += 1
            normals = self._normals(step, i)
            moved, leaves, is_flat = rule.move(state, slope, normals[:, :d])
            restart = active & (leaves | ~is_finite)
            distance = tf.norm(moved - last, axis=1) / d**0.5
            accept = active & ~restart & rule.accepts(distance, moved, used)

            slot = tf.where(accept, count % m, -1)
            is_taken = tf.one_hot(slot, m, on_value=True, off_value=False, dtype=tf.bool)  # [S, m]
            states = tf.where(is_taken[..., None], moved[:, None], states)
            fresh = rule.first(start(i), normals[:, d:])
            state = _choose(restart, fresh, _choose(active, moved, state))
            last = _choose(restart, fresh, _choose(accept, moved, last))
            count += _as_count(accept)
            restarts += _as_count(restart)
            vanished += _as_count(active & is_finite & is_flat)
            nonfinite += _as_count(active & ~is_finite)
            is_free = rule.restart_is_free & leaves & is_finite  # a diverged seed must not keep the others waiting
            used += _as_count(active & ~is_free)
            active = (count < most) & (used < chain_steps)
        count = tf.minimum(count, m)
        if rule.goes_on:
            self.chain.assign(tf.where(chain_steps > 0, state, self.chain))
            self.has_begun.assign(self.has_begun | (chain_steps > 0))
        for name, number in zip(COUNTERS, (used, restarts, count, vanished, nonfinite), strict=True):
            self.counters[name].assign_add(tf.cast(number, tf.int64))
        return states, count

    def _normals(self, step, i):
        """The noise of a chain step and of a new start: [S, 2 d]."""
        return self.streams.normal(Purpose.CHAIN_NOISE, (2 * self.space.state_dim,), step=step, inner=i)


def _choose(condition, chosen, other):
    return tf.where(condition[:, None], chosen, other)


def _as_count(condition):
    return tf.cast(condition, tf.int32)
