"""A sum tree with sixteen children a node, for S seeds side by side.

The tree of Schaul et al. (2016, Appendix B.2.1), but wide: 65,536 priorities are four levels deep instead of sixteen.
A node's children lie side by side in memory. A picture with four children a node and 6 leaves (two are padding):

    level 0 (leaves)   3 0 2 1 | 4 0 . .
    level 1            6         4           each entry is the sum of one group of leaves below

To draw in proportion to the leaves, take u = 0.65 of the top level's total 10, i.e. 6.5. The top's running sums are
(6, 10), which gives the second child, with 6.5 - 6 = 0.5 left. Its group's running sums are (4, 4, ...), which gives
the first leaf, number 4. Leaf 1 has priority zero and is never drawn: its running sum equals its left neighbour's.

Parents are always recomputed from their children, never adjusted by increments, so rounding errors do not pile up.
"""

import tensorflow as tf

from dyna_td.learning.sums import total

WIDTH = 16  # children a node


def build_levels(priorities: tf.Tensor) -> list[tf.Tensor]:
    """Sums priorities [S, N] >= 0 into levels [S, groups, WIDTH], leaves first, top (one group) last."""
    levels = [_grouped(priorities)]
    while levels[-1].shape[1] > 1:
        levels.append(_grouped(total(levels[-1])))
    return levels


def draw_leaves(levels: list[tf.Tensor], uniforms: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws leaves in proportion to their priorities.

    Args:
      levels: as `build_levels` returns them.
      uniforms: float32 [S, B] in [0, 1).

    Returns:
      Leaf numbers, int32 [S, B], and their priorities, float32 [S, B]; leaf 0 where all priorities are zero.
    """
    node = tf.zeros_like(uniforms, tf.int32)
    remaining = tf.cast(uniforms, tf.float64) * tf.reduce_sum(tf.cast(levels[-1], tf.float64), axis=[1, 2])[:, None]
    for level in reversed(levels):
        children = tf.gather_nd(level, node[..., None], batch_dims=1)  # [S, B, WIDTH]
        running = tf.cumsum(tf.cast(children, tf.float64), axis=-1)
        # Rounding may leave `remaining` at or above the group's own total. Then the last non-zero child is drawn,
        # the first whose running sum reaches the total.
        passed = (running <= remaining[..., None]) & (running < running[..., -1:])
        child = tf.reduce_sum(tf.cast(passed, tf.int32), axis=-1)
        remaining -= tf.reduce_max(tf.where(passed, running, tf.zeros([], tf.float64)), axis=-1)
        node = node * WIDTH + child
    return node, tf.reduce_sum(children * tf.one_hot(child, WIDTH), axis=-1)


class SumTree(tf.Module):
    """Priorities of S seeds, updated a few at a time.

    Args:
      seeds: S.
      capacity: number of leaves, at least 1; all start at priority zero.
    """

    def __init__(self, seeds: int, capacity: int):
        super().__init__()
        self.capacity = capacity
        self._levels = [tf.Variable(level, trainable=False) for level in build_levels(tf.zeros([seeds, capacity]))]

    @property
    def priorities(self) -> tf.Tensor:
        """All leaves, float32 [S, capacity]."""
        leaves = self._levels[0].read_value()
        return tf.reshape(leaves, [leaves.shape[0], -1])[:, : self.capacity]

    @property
    def total(self) -> tf.Tensor:
        """The sum of all priorities, float32 [S]."""
        return tf.reduce_sum(self._levels[-1], axis=[1, 2])

    def assign(self, leaves: tf.Tensor, priorities: tf.Tensor) -> None:
        """Sets leaves int32 [S, B] to priorities float32 [S, B] >= 0; if a leaf occurs twice, the last counts."""
        seed = tf.broadcast_to(tf.range(leaves.shape[0])[:, None], leaves.shape)
        for level in self._levels:
            node, child = leaves // WIDTH, leaves % WIDTH
            entries = tf.stack([seed, node, child], axis=-1)
            level.assign(tf.tensor_scatter_nd_update(level.read_value(), entries, priorities))
            children = tf.gather_nd(level.read_value(), node[..., None], batch_dims=1)  # [S, B, WIDTH]
            leaves, priorities = node, total(children)

    def assign_all(self, priorities: tf.Tensor) -> None:
        """Sets every leaf: float32 [S, capacity] >= 0."""
        for level, values in zip(self._levels, build_levels(priorities), strict=True):
            level.assign(values)

    def draw(self, uniforms: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Draws leaves in proportion to their priorities.

        Uniforms float32 [S, B] in [0, 1) give leaves int32 [S, B] and their priorities float32 [S, B]. Reading the
        priorities later, after an update, would make XLA copy the tree.
        """
        return draw_leaves([level.read_value() for level in self._levels], uniforms)


def _grouped(values: tf.Tensor) -> tf.Tensor:
    """Pads values [S, N] with zeros to whole groups: [S, groups, WIDTH]."""
    padding = -values.shape[1] % WIDTH
    return tf.reshape(tf.pad(values, [[0, 0], [0, padding]]), [values.shape[0], -1, WIDTH])
