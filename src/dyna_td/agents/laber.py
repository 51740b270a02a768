"""LaBER: large batch experience replay, with priorities that are never outdated (Lahire, Geist, Rachelson, 2022)."""

import tensorflow as tf

from dyna_td.agents.er import ER
from dyna_td.learning.streams import Purpose
from dyna_td.learning.sum_tree import build_levels, draw_leaves, total


class LaBER(ER):
    """This is ER with: each mini-batch drawn by |delta| from a uniform batch that is `large_batch` times larger.

    The large batch's TD errors are computed for each draw, so no priority is outdated, and no model is needed. With
    importance weights the expected gradient is that of the large batch.
    """

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        b, large = self.settings.batch_size, self.settings.large_batch * self.settings.batch_size
        places = self.streams.integers(Purpose.UNIFORM_BATCH, (large,), self.replay.size, step=step, inner=k)
        batch = self.replay.gather(places)
        priority = tf.abs(self.learner.td_target(batch) - self.learner.q_value(batch.state, batch.action))  # [S, B]
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (b,), step=step, inner=k)
        chosen, drawn_priority = draw_leaves(build_levels(priority), uniforms)  # [S, b]
        places = tf.gather(places, chosen, batch_dims=1)
        if not self.settings.importance_weights:
            return places, tf.ones([])
        return places, tf.math.divide_no_nan(total(priority)[:, None] / large, drawn_priority)
