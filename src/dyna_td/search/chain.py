"""The chain of search control: the inner while loop of Algorithm 4, for all S seeds together.

A seed that is done waits, unchanged, for the others. `rules` has the three rules of a chain step.
"""

from collections.abc import Callable

import tensorflow as tf

from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sums import length
from dyna_td.learning.xla import with_tensor_loops
from dyna_td.search.rules import RULES
from dyna_td.search.visited import VisitedStates
from dyna_td.settings import SearchControlSettings

MAX_ITERATIONS = 4_000  # a fill has no more, because `Streams` numbers inner steps below 4096
MAX_ITERATIONS_A_STEP = 10  # bounds restarts, which may cost no step of `chain_steps` (ours)

# Counters since training began, named as their metrics (`records.metrics.DYNA_METRICS`).
COUNTERS = (
    "chain_steps_made",
    "chain_restarts",
    "chain_states",
    "chain_vanished_gradients",
    "chain_nonfinite_gradients",
)


class SearchControl(tf.Module):
    """Chains that fetch states, and their counters.

    Args:
      settings: k, the chain's length, rule, step size, noise and distance of acceptance.
      streams: the S seeds.
      space: the space of states (`envs.spaces.Space`).
    """

    def __init__(self, settings: SearchControlSettings, streams: Streams, space):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.space = space
        self.rule = RULES[settings.search_control]
        self.visited = VisitedStates(streams.count, space.state_dim)
        self.counters = {
            name: tf.Variable(tf.zeros([streams.count], tf.int64), trainable=False, name=name) for name in COUNTERS
        }
        self.chain = tf.Variable(tf.zeros([streams.count, space.state_dim]), trainable=False)
        self.has_begun = tf.Variable(False, trainable=False)

    @with_tensor_loops
    def fill(
        self,
        step: tf.Tensor,
        chain_steps: tf.Tensor,
        gradient: Callable[[tf.Tensor, tf.Tensor], tf.Tensor],
        start: Callable[[tf.Tensor], tf.Tensor],
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Climbs until every seed has k states or its chain has made k_b steps; full chains make them all.

        Letters are those of Algorithm 4: the loop ends at c = k accepted states or after i = k_b steps. A restart may
        cost no step, so a cap on iterations bounds restarts.

        Args:
          step: the environment step.
          chain_steps: k_b, int32 scalar; 0 does nothing.
          gradient: maps states [S, d] and the chain's iteration to grad h, [S, d].
          start: maps the chain's iteration to states where chains may start, [S, d].

        Returns:
          States [S, k, d] and their number, int32 [S]. With full chains these are the last k accepted.
        """
        k, d, seeds = self.settings.states_per_fill, self.space.state_dim, self.streams.count
        rule = self.rule(self.space, self.visited, self.settings)
        states, c, i = tf.zeros([seeds, k, d]), tf.zeros([seeds], tf.int32), tf.zeros([seeds], tf.int32)
        restarts, vanished, nonfinite = tf.zeros_like(i), tf.zeros_like(i), tf.zeros_like(i)
        iteration = tf.constant(0)
        state = rule.first(start(iteration), self.normals(step, iteration)[1])
        if rule.continues:
            state = tf.where(self.has_begun, self.chain, state)
        last = state  # s tilde, the last accepted state
        max_iterations = tf.minimum(MAX_ITERATIONS, MAX_ITERATIONS_A_STEP * chain_steps)
        max_states = tf.int32.max if self.settings.full_chains else k
        active = (c < max_states) & (i < chain_steps)
        while tf.reduce_any(active) & (iteration < max_iterations):
            slope, is_finite = _finite(gradient(state, iteration))
            iteration += 1
            noise, first_noise = self.normals(step, iteration)
            moved, must_restart, is_flat = rule.move(state, slope, noise)
            restart = active & (must_restart | ~is_finite)
            distance = length(moved - last) / d**0.5
            accept = active & ~restart & rule.accepts(distance, moved, i)

            states = _put(states, tf.where(accept, c % k, -1), moved)
            fresh = rule.first(start(iteration), first_noise)
            state = _choose(restart, fresh, _choose(active, moved, state))
            last = _choose(restart, fresh, _choose(accept, moved, last))
            c += _as_count(accept)
            restarts += _as_count(restart)
            vanished += _as_count(active & is_finite & is_flat)
            nonfinite += _as_count(active & ~is_finite)
            # A gradient that is not finite costs a step, so that a diverged seed does not keep the others waiting.
            is_free = rule.restart_is_free & must_restart & is_finite
            i += _as_count(active & ~is_free)
            active = (c < max_states) & (i < chain_steps)
        c = tf.minimum(c, k)
        if rule.continues:
            self._remember(state, chain_steps > 0)
        self._count(i, restarts, c, vanished, nonfinite)
        return states, c

    def normals(self, step, iteration) -> tuple[tf.Tensor, tf.Tensor]:
        """The noise of a chain step and of a new start: [S, d] each."""
        d = self.space.state_dim
        normals = self.streams.normal(Purpose.CHAIN_NOISE, (2 * d,), step=step, inner=iteration)
        if self.settings.chain_noise != 1.0:
            normals *= self.settings.chain_noise
        return normals[:, :d], normals[:, d:]

    def _remember(self, state: tf.Tensor, has_moved: tf.Tensor) -> None:
        """Keeps the chains' states for the next fill."""
        self.chain.assign(tf.where(has_moved, state, self.chain))
        self.has_begun.assign(self.has_begun | has_moved)

    def _count(self, *numbers: tf.Tensor) -> None:
        """Adds numbers [S], one for each of `COUNTERS`."""
        for name, number in zip(COUNTERS, numbers, strict=True):
            self.counters[name].assign_add(tf.cast(number, tf.int64))


def _finite(slope: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The gradient [S, d], zero where its length overflows, and whether its length is finite: bool [S]."""
    is_finite = tf.math.is_finite(length(slope))
    return tf.where(is_finite[:, None], slope, 0.0), is_finite


def _put(states: tf.Tensor, slot: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    """The states [S, k, d] with `state` [S, d] at each seed's `slot` (int32 [S]); slot -1 changes nothing."""
    is_taken = tf.one_hot(slot, states.shape[1], on_value=True, off_value=False, dtype=tf.bool)  # [S, k]
    return tf.where(is_taken[..., None], state[:, None], states)


def _choose(condition, chosen, other):
    return tf.where(condition[:, None], chosen, other)


def _as_count(condition):
    return tf.cast(condition, tf.int32)
