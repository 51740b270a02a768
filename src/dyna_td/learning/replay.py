"""The experience-replay buffer B_er: a ring of transitions for S seeds."""

from typing import NamedTuple

import tensorflow as tf


class Transition(NamedTuple):
    """A batch of real or simulated experience, B transitions a seed.

    `terminated` is 1 where s' is terminal; a learned model may give a probability. A time limit leaves it 0, so the
    target still bootstraps. In the roundabout every end sets it to 1, as in the released code.
    """

    state: tf.Tensor  # [S, B, d]
    action: tf.Tensor  # int32 [S, B], or vectors [S, B, a]
    reward: tf.Tensor  # [S, B]
    next_state: tf.Tensor  # [S, B, d]
    terminated: tf.Tensor  # float32 [S, B]


class Replay(tf.Module):
    """A ring buffer; when it is full, a new transition replaces the oldest.

    Args:
      seeds: S.
      capacity: transitions kept for each seed.
      state_dim: d.
      action_dim: a, or 0 for discrete actions.
    """

    def __init__(self, seeds: int, capacity: int, state_dim: int, action_dim: int = 0):
        super().__init__()
        self.capacity = capacity
        self._state_dim, self._action_dim = state_dim, action_dim
        # One row per transition (s, s', a, r, terminated), so that drawing a mini-batch is one gather.
        self._rows = tf.Variable(tf.zeros([seeds, capacity, 2 * state_dim + (action_dim or 1) + 2]), trainable=False)
        self._added = tf.Variable(0, dtype=tf.int64)  # the same for all seeds: one transition an environment step

    @property
    def size(self) -> tf.Tensor:
        """The number of transitions that a seed holds: int32 scalar."""
        return tf.cast(tf.minimum(self._added, self.capacity), tf.int32)

    def add(self, transition: Transition) -> tf.Tensor:
        """Stores one transition a seed (B = 1) and returns its index: int32 scalar."""
        index = tf.cast(self._added % self.capacity, tf.int32)
        row = tf.concat(
            [
                transition.state,
                transition.next_state,
                transition.action if self._action_dim else tf.cast(transition.action, tf.float32)[..., None],
                transition.reward[..., None],
                transition.terminated[..., None],
            ],
            axis=-1,
        )  # [S, 1, 2 d + a + 2]
        seeds = tf.range(row.shape[0])
        entries = tf.stack([seeds, tf.fill([row.shape[0]], index)], axis=-1)
        self._rows.assign(tf.tensor_scatter_nd_update(self._rows.read_value(), entries, row[:, 0]))
        self._added.assign_add(1)
        return index

    def gather(self, indices: tf.Tensor) -> Transition:
        """The transitions at int32 [S, B]."""
        # read_value: gathering from the variable itself has no XLA kernel.
        return self._unpack(tf.gather_nd(self._rows.read_value(), indices[..., None], batch_dims=1))

    def index_of(self, ages: tf.Tensor) -> tf.Tensor:
        """The indices of the transitions of these ages (0 is the newest): int32, in the shape of `ages`."""
        return tf.cast((self._added - 1 - tf.cast(ages, tf.int64)) % self.capacity, tf.int32)

    def block(self, start: tf.Tensor, length: int) -> Transition:
        """The transitions at indices start, ..., start + length - 1, unused ones included."""
        rows = self._rows.read_value()
        return self._unpack(tf.slice(rows, [0, start, 0], [rows.shape[0], length, rows.shape[2]]))

    def _unpack(self, rows: tf.Tensor) -> Transition:
        d = self._state_dim
        return Transition(
            state=rows[..., :d],
            action=rows[..., 2 * d : -2] if self._action_dim else tf.cast(rows[..., 2 * d], tf.int32),
            reward=rows[..., -2],
            next_state=rows[..., d : 2 * d],
            terminated=rows[..., -1],
        )
