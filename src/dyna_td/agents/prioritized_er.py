"""PrioritizedER: proportional prioritized experience replay as the paper's experiments use it."""

import tensorflow as tf

from dyna_td.agents.er import ER
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import SumTree
from dyna_td.settings import ControlSettings


class PrioritizedER(ER):
    """This is ER with: half of each mini-batch drawn in proportion to priorities (appendix "Hyper-parameter settings").

    The priority is |delta|, with exponent 1 and without importance weights; the uniform half reduces the bias. A
    priority is computed when a transition is stored. An update refreshes only its mini-batch's priorities, with TD
    errors from before the update. All others stay outdated: this is the limitation that the paper studies.
    """

    def __init__(self, settings: ControlSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.priorities = SumTree(streams.count, self.replay.capacity)

    def observe(self, transition: Transition) -> tf.Tensor:
        index = super().observe(transition)
        td_error = self.learner.td_error(transition)  # [S, 1]
        self.priorities.assign(tf.fill(td_error.shape, index), self.priority(td_error, transition))
        return index

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        half = self.settings.batch_size // 2
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (half,), step=step, inner=k)
        prioritized, _ = self.priorities.draw(uniforms)
        uniform, weight = super().draw(step, k)
        return tf.concat([prioritized, uniform[:, half:]], axis=1), weight

    def after_update(self, indices: tf.Tensor, td_error: tf.Tensor, batch: Transition) -> None:
        self.priorities.assign(indices, self.priority(td_error, batch))

    def priority(self, td_error: tf.Tensor, batch: Transition) -> tf.Tensor:
        """|delta|^alpha of the transitions `batch`, whose TD errors are [S, B]: [S, B]; alpha is 1 in the paper."""
        return tf.abs(td_error) ** self.settings.priority_exponent

    def sample_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        uniforms = self.streams.uniform(Purpose.OWN_DRAWS, (count,), step=step)
        return self.replay.gather(self.priorities.draw(uniforms)[0]).state
