"""An ordinary Keras DQN of GridWorld's size, one seed, one `tf.function` an update: what benchmarks compare with."""

import keras
import numpy as np
import tensorflow as tf

BATCH = 32
TARGET_PERIOD = 1_000


class KerasDQN:
    """Learns from a full buffer of random transitions; see `dyna_td.learning.q_learning.DQN` for what it computes.

    Attributes:
      q, q_target: Keras models of 32x32 ReLU units, states [B, 2] to values [B, 4].
      buffer: NumPy arrays by name, 50,000 transitions.
    """

    def __init__(self):
        self.q, self.q_target = _network(), _network()
        self.q_target.set_weights(self.q.get_weights())
        self.optimizer = keras.optimizers.Adam(1e-3, epsilon=1e-8)
        self.optimizer.build(self.q.trainable_variables)
        self.rng = np.random.default_rng(0)
        self.buffer = {
            "state": self.rng.random((50_000, 2), dtype=np.float32),
            "action": self.rng.integers(0, 4, 50_000, dtype=np.int32),
            "reward": -np.ones(50_000, np.float32),
            "next_state": self.rng.random((50_000, 2), dtype=np.float32),
            "terminated": np.zeros(50_000, np.float32),
        }
        self.updates = 0

    def learn(self, updates: int) -> None:
        """Draws as many mini-batches uniformly, and learns from them."""
        for _ in range(updates):
            places = self.rng.integers(0, len(self.buffer["state"]), BATCH)
            self.update(*(tf.constant(values[places]) for values in self.buffer.values()))
            self.updates += 1
            if self.updates % TARGET_PERIOD == 0:
                self.q_target.set_weights(self.q.get_weights())

    @tf.function
    def update(self, state, action, reward, next_state, terminated) -> None:
        """One update from a mini-batch: float32 [B, 2], int32 [B], float32 [B], [B, 2], [B]."""
        target = reward + 0.99 * (1.0 - terminated) * tf.reduce_max(self.q_target(next_state), axis=1)
        with tf.GradientTape() as tape:
            value = tf.gather(self.q(state), action, axis=1, batch_dims=1)
            loss = tf.reduce_mean((target - value) ** 2)
        gradients = tape.gradient(loss, self.q.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.q.trainable_variables, strict=True))


def _network() -> keras.Model:
    layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(32, activation="relu")]
    return keras.Sequential([keras.Input((2,)), *layers, keras.layers.Dense(4)])
