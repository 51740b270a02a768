"""LAP: loss-adjusted prioritized replay (Fujimoto, Meger, Precup, 2020, Section 5)."""

import tensorflow as tf

from dyna_td.agents.schaul_prioritized_er import SchaulPrioritizedER
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose


class LAP(SchaulPrioritizedER):
    """This is SchaulPrioritizedER with: Huber's loss, priorities max(|delta|, 1)^alpha, and no importance weights.

    Where |delta| <= 1, draws are uniform and the loss is squared, as in ER. Larger errors are drawn in proportion to
    |delta|^alpha, and the loss's gradient keeps only their sign, so no weights are needed. As in the authors' code,
    draws are independent, not stratified.
    """

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (self.settings.batch_size,), step=step, inner=k)
        return self.priorities.draw(uniforms)[0], tf.ones([])

    def priority(self, td_error: tf.Tensor, batch: Transition) -> tf.Tensor:
        return lap_priority(td_error, self.settings.priority_exponent)

    def loss(self, td_error: tf.Tensor) -> tf.Tensor:
        return huber(td_error)


def huber(td_error: tf.Tensor) -> tf.Tensor:
    """Huber's loss, in the shape of `td_error`: delta^2 / 2 where |delta| <= 1, else |delta| - 1/2."""
    error = tf.abs(td_error)
    return tf.where(error <= 1.0, 0.5 * td_error**2, error - 0.5)


def lap_priority(td_error: tf.Tensor, alpha: float) -> tf.Tensor:
    """max(|delta|, 1)^alpha, in the shape of `td_error`."""
    return tf.maximum(tf.abs(td_error), 1.0) ** alpha
