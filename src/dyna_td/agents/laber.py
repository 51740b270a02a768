"""LaBER: large batch experience replay, with priorities that are never outdated (Lahire, Geist, Rachelson, 2022)."""

import tensorflow as tf

from dyna_td.agents.er import ER
from dyna_td.learning.streams import Purpose
from dyna_td.learning.sum_tree import build_levels, draw_leaves
from dyna_td.learning.sums import total


class LaBER(ER):
    """This is ER with: each mini-batch drawn by |delta| from a uniform batch `large_batch` times as large.

    The large batch's TD errors are computed for each draw, so no priority is outdated. With importance weights the
    expected gradient is that of the large batch.
    """

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        purposes = Purpose.UNIFORM_BATCH, Purpose.PRIORITIZED_BATCH
        indices, weight = self.draw_by_priority(purposes, self.settings.batch_size, step, k)
        return indices, weight if self.settings.importance_weights else tf.ones([])

    def sample_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        # p* is drawn with the same purpose, so both share random numbers. A change would alter published runs.
        indices, _ = self.draw_by_priority((Purpose.OWN_DRAWS, Purpose.IDEAL_DRAWS), count, step)
        return self.replay.gather(indices).state

    def draw_by_priority(self, purposes, count: int, step, inner=0) -> tuple[tf.Tensor, tf.Tensor]:
        """Draws `count` indices by |delta| from a uniform batch, with their importance weights: [S, count] each."""
        size = self.settings.large_batch * count
        large = self.streams.integers(purposes[0], (size,), self.replay.size, step=step, inner=inner)
        priority = tf.abs(self.learner.td_error(self.replay.gather(large)))  # [S, size]
        uniforms = self.streams.uniform(purposes[1], (count,), step=step, inner=inner)
        chosen, drawn_priority = draw_leaves(build_levels(priority), uniforms)
        weight = tf.math.divide_no_nan(total(priority)[:, None] / size, drawn_priority)
        return tf.gather(large, chosen, batch_dims=1), weight
