"""Search control: chains of states that climb a criterion h, and the queue B_sc that they fill (Algorithms 1, 3, 4).

The inner loop of Algorithm 4 is `SearchControl.fill`. Its step has three named rules; all seeds step together, and a
seed that is done waits without changing. `released` is the authors' running code, `algorithm_4` the paper's box to the
letter, `langevin` the dynamics that converge to the density proportional to exp h, i.e. to |delta| for Dyna-TD
(for short steps, and where the model has no noise).
"""

from collections.abc import Callable

import tensorflow as tf

from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import with_tensor_loops
from dyna_td.search.rules import STEP_SIZE, Algorithm4, Langevin, Released
from dyna_td.search.visited import VisitedStates
from dyna_td.settings import SearchControlSettings

MOST_ITERATIONS = 4_000  # of one fill, whatever the rule
MOST_ITERATIONS_A_STEP = 10  # of chain_steps, the rest being restarts that cost no step; our choice

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
