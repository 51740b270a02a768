"""SchaulPrioritizedER: prioritized replay with the settings of Schaul et al. (2016), as a second baseline."""

import tensorflow as tf

from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.settings import ControlSettings

FIRST_BETA = 0.4  # importance-sampling exponent at the first step, rising linearly to 1 at the last
PRIORITY_FLOOR = 1e-6  # added to |delta|, so that every transition can be drawn


class SchaulPrioritizedER(PrioritizedER):
    """This is PrioritizedER with: the whole mini-batch prioritized, exponent 0.6, importance weights, and the largest
    priority seen so far for a new transition (Schaul et al., Algorithm 1).
    """

    def __init__(self, settings: ControlSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.steps = steps
        self.largest = tf.Variable(tf.ones([streams.count]), trainable=False)  # p_1 = 1

    def observe(self, transition: Transition) -> tf.Tensor:
        index = self.replay.add(transition)
        self.priorities.assign(tf.fill([self.streams.count, 1], index), self.largest[:, None])
        return index

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # Stratified: one draw from each of b equal shares of the total (Appendix B.2.1).
        b = self.settings.batch_size
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (b,), step=step, inner=k)
        indices, priorities = self.priorities.draw((tf.range(b, dtype=tf.float32) + uniforms) / b)
        return indices, self.importance_weights(priorities, step)

    def importance_weights(self, priorities: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """(N P(i))^-beta, relative to the largest of the mini-batch: [S, b] -> [S, b]."""
        beta = FIRST_BETA + (1.0 - FIRST_BETA) * tf.cast(step, tf.float32) / self.steps
        probability = priorities / self.priorities.total[:, None]
        weight = (tf.cast(self.replay.size, tf.float32) * probability) ** -beta
        return weight / tf.reduce_max(weight, axis=1, keepdims=True)

    def after_update(self, indices: tf.Tensor, td_error: tf.Tensor, batch: Transition) -> None:
        priority = self.priority(td_error, batch)
        self.priorities.assign(indices, priority)
        self.largest.assign(tf.maximum(self.largest, tf.reduce_max(priority, axis=1)))

    def priority(self, td_error: tf.Tensor, batch: Transition) -> tf.Tensor:
        return (tf.abs(td_error) + PRIORITY_FLOOR) ** self.settings.priority_exponent
