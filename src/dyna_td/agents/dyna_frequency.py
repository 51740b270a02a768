"""Dyna-Frequency: search control on how fast the value changes in space (Pan et al., 2020)."""

from collections.abc import Callable

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sums import sum_of_features
from dyna_td.search.rules import gradient
from dyna_td.settings import DynaSettings

# The counters of fills that climb the frequency, each with the counter of all fills.
COUNTED = {
    "frequency_steps_made": "chain_steps_made",
    "frequency_vanished_gradients": "chain_vanished_gradients",
    "frequency_nonfinite_gradients": "chain_nonfinite_gradients",
}


class DynaFrequency(Dyna):
    """This is HC-Dyna with: h(s) = ||grad V||^2 + ||Hessian V||_F^2 in half of the fills, h(s) = V(s) in the others.

    A fair coin decides once per fill. The released code also tosses at each restart, and climbs the target network's
    frequency (docs/deviations.md). Section 2 of the paper names ||grad V|| alone; Section 5 adds the Hessian. Chains
    that climb the frequency start from states of B_sc, those that climb V from states of B_er.
    """

    def __init__(self, settings: DynaSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.frequency_counters = {
            name: tf.Variable(tf.zeros([streams.count], tf.int64), trainable=False) for name in COUNTED
        }

    def search(self, step: tf.Tensor, chain_steps: tf.Tensor) -> None:
        climbs, counters = self.climbs_frequency(step), self.search_control.counters
        before = {counter: counters[counter].read_value() for counter in COUNTED.values()}
        super().search(step, chain_steps)
        for name, counter in COUNTED.items():
            number = counters[counter] - before[counter]
            self.frequency_counters[name].assign_add(tf.where(climbs, number, tf.zeros_like(number)))

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        columns = state[..., None]
        by_value = gradient(self.learner.value, columns)
        by_frequency = gradient(lambda s: frequency(self.learner.value, s), columns)
        return tf.where(self.climbs_frequency(step)[:, None], by_frequency[..., 0], by_value[..., 0])

    def start(self, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        queued = self.queue.draw(self.streams, Purpose.CHAIN_RESTART, 1, step, i)[:, 0]
        return tf.where(self.climbs_frequency(step)[:, None], queued, super().start(step, i))

    def climbs_frequency(self, step: tf.Tensor) -> tf.Tensor:
        """Whether this fill climbs the frequency, bool [S]; never while the queue is empty."""
        coin = self.streams.uniform(Purpose.CHAIN_CRITERION, (1,), step=step)[:, 0]
        return (coin < 0.5) & (self.queue.size > 0)

    def counters(self) -> dict[str, tf.Tensor]:
        counted = {name: tf.cast(number, tf.float64) for name, number in self.frequency_counters.items()}
        return {**super().counters(), **counted}


def frequency(v: Callable[[tf.Tensor], tf.Tensor], states: tf.Tensor) -> tf.Tensor:
    """||grad V||^2 + ||Hessian V||_F^2 of a value V that maps [S, d, B] to [S, B]: [S, d, B] -> [S, B]."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(states)
        slope = gradient(v, states)  # [S, d, B]
        slopes = tf.unstack(slope, axis=1)
    # Piecewise linear activations have no second derivative; it counts as zero.
    curvatures = [tape.gradient(part, states, unconnected_gradients="zero") for part in slopes]
    return sum(sum_of_features(part**2) for part in (slope, *curvatures))
