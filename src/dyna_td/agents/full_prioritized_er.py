"""FullPrioritizedER: PrioritizedER with priorities that are never outdated (figure 1c)."""

import tensorflow as tf

from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.learning.networks import map_blocks
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import build_levels, draw_leaves
from dyna_td.learning.xla import call_where
from dyna_td.settings import ControlSettings


class FullPrioritizedER(PrioritizedER):
    """This is PrioritizedER with: all of B_er's priorities recomputed at the current parameters before every draw.

    The targets y change only when theta is copied to the target network, so they are stored. Recomputing |y - Q| for
    the whole buffer then costs one forward pass instead of two, with the same numbers.
    """

    def __init__(self, settings: ControlSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        targets = tf.zeros([streams.count, self.replay.capacity])
        self.targets = tf.Variable(targets, trainable=False)  # y of every stored transition

    def observe(self, transition: Transition) -> tf.Tensor:
        index = self.replay.add(transition)
        seeds = tf.range(self.streams.count)
        entries = tf.stack([seeds, tf.fill([self.streams.count], index)], axis=-1)
        target = self.learner.td_target(transition)[:, 0]
        self.targets.assign(tf.tensor_scatter_nd_update(self.targets.read_value(), entries, target))
        return index

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        self.priorities.assign_all(self.current_priorities())
        return super().draw(step, k)

    def sample_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        # The tree's priorities are older than the last update, so a new tree is built.
        uniforms = self.streams.uniform(Purpose.OWN_DRAWS, (count,), step=step)
        indices, _ = draw_leaves(build_levels(self.current_priorities()), uniforms)
        return self.replay.gather(indices).state

    def current_priorities(self) -> tf.Tensor:
        """The priority of every stored transition at the current parameters, 0 where there is none: [S, C]."""

        def priorities(start, size):
            stored = self.replay.block(start, size)
            target = tf.slice(self.targets.read_value(), [0, start], [self.streams.count, size])
            return self.priority(target - self.learner.q_value(stored.state, stored.action), stored)

        is_stored = tf.range(self.replay.capacity) < self.replay.size
        return tf.where(is_stored, self._map_stored(priorities), 0.0)

    def after_update(self, indices: tf.Tensor, td_error: tf.Tensor, batch: Transition) -> None:
        call_where(self.learner.target_has_moved(), self._renew_targets)

    def _renew_targets(self) -> None:
        self.targets.assign(
            self._map_stored(lambda start, size: self.learner.td_target(self.replay.block(start, size)))
        )

    def _map_stored(self, function) -> tf.Tensor:
        return map_blocks(function, self.replay.capacity, max(self.settings.hidden))
