"""The search-control queue B_sc (Algorithms 1 and 3)."""

import tensorflow as tf

from dyna_td.learning.streams import Streams


class StateQueue(tf.Module):
    """The search-control queue B_sc: a ring of states for each of S seeds; each fills at its own pace.

    Args:
      seeds: S.
      capacity: states kept for each seed.
      state_dim: d.
    """

    def __init__(self, seeds: int, capacity: int, state_dim: int):
        super().__init__()
        self.capacity = capacity
        # The extra entry takes the states beyond `count`, so that every fill is one scatter of the same shape.
        self._states = tf.Variable(tf.zeros([seeds, capacity + 1, state_dim]), trainable=False)
        self._added = tf.Variable(tf.zeros([seeds], tf.int64), trainable=False)

    @property
    def size(self) -> tf.Tensor:
        """The number of states that each seed holds: int32 [S]."""
        return tf.cast(tf.minimum(self._added, self.capacity), tf.int32)

    def add(self, states: tf.Tensor, count: tf.Tensor) -> None:
        """Stores the first `count` (int32 [S]) of the states [S, m, d], m at most the capacity."""
        seeds, m = states.shape[:2]
        number = tf.range(m)[None]  # [1, m]
        ring = (tf.cast(self._added % self.capacity, tf.int32)[:, None] + number) % self.capacity
        indices = tf.where(number < count[:, None], ring, self.capacity)  # [S, m]
        seed = tf.broadcast_to(tf.range(seeds)[:, None], indices.shape)
        entries = tf.stack([seed, indices], axis=-1)
        self._states.assign(tf.tensor_scatter_nd_update(self._states.read_value(), entries, states))
        self._added.assign_add(tf.cast(count, tf.int64))

    def gather(self, ages: tf.Tensor) -> tf.Tensor:
        """The states of these ages (int32 [S, B], 0 is the newest): [S, B, d]."""
        newest = tf.cast((self._added - 1) % self.capacity, tf.int32)
        indices = (newest[:, None] - ages) % self.capacity
        return tf.gather_nd(self._states.read_value(), indices[..., None], batch_dims=1)

    def draw(self, streams: Streams, purpose: int, count: int, step, inner=0, newest: int | None = None):
        """Draws `count` states a seed uniformly from all or the `newest`: [S, count, d]; zeros from an empty queue."""
        held = self.size if newest is None else tf.minimum(self.size, newest)
        return self.gather(streams.integers(purpose, (count,), tf.maximum(held, 1), step=step, inner=inner))
