"""An ordinary Keras DQN of GridWorld's size: one seed, a `tf.function` call per update; both benchmarks time it."""

import keras
import numpy as np
import tensorflow as tf
import work


class KerasDQN:
    """Learns from a full buffer of random transitions as `dyna_td.learning.q_learning.DQN` does; see `work.Learner`.

    Attributes:
      q, q_target: Keras models of 32x32 ReLU units, states [B, 2] to values [B, 4].
      buffer: 50,000 transitions.
    """

    def __init__(self):
        self.q, self.q_target = _network(), _network()
        self.q_target.set_weights(self.q.get_weights())
        self.optimizer = keras.optimizers.Adam(work.LEARNING_RATE, epsilon=work.EPSILON)
        self.optimizer.build(self.q.trainable_variables)
        self.rng = np.random.default_rng(0)
        self.buffer = work.transitions(work.BUFFER)
        self.updates = 0
        kernels = self.q.get_weights()[::2]
        self.facts = {
            "version": f"Keras {keras.__version__}, TensorFlow {tf.__version__}",
            "seeds": 1,
            "sizes": [kernels[0].shape[0], *(kernel.shape[1] for kernel in kernels)],
            "batch": work.BATCH,
            "filled": len(self.buffer.state),
            "target_period": work.TARGET_PERIOD,
        }

    def learn(self, updates: int) -> None:
        """Draws `updates` mini-batches uniformly, and learns from each."""
        for _ in range(updates):
            places = self.rng.integers(0, len(self.buffer.state), work.BATCH)
            self.update(*(tf.constant(values[places]) for values in self.buffer))
            self.updates += 1
            if self.updates % work.TARGET_PERIOD == 0:
                self.q_target.set_weights(self.q.get_weights())

    @tf.function
    def update(self, state, action, reward, next_state, terminated) -> None:
        """One update from a mini-batch: float32 [B, 2], int32 [B], float32 [B], [B, 2], [B]."""
        target = reward + work.DISCOUNT * (1.0 - terminated) * tf.reduce_max(self.q_target(next_state), axis=1)
        with tf.GradientTape() as tape:
            value = tf.gather(self.q(state), action, axis=1, batch_dims=1)
            loss = tf.reduce_mean((target - value) ** 2)
        gradients = tape.gradient(loss, self.q.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.q.trainable_variables, strict=True))

    def train(self) -> None:
        self.learn(work.STEPS * work.PLANNING_UPDATES)

    def done(self) -> int:
        return int(self.optimizer.iterations)

    def improve(self, asked: work.Problem) -> work.Layers:
        for network, weights in ((self.q, asked.weights), (self.q_target, asked.target_weights)):
            network.set_weights([array[0] for layer in weights for array in layer])
        for batch in asked.batches:
            self.update(*(tf.constant(part[0]) for part in batch))
        arrays = [array[None] for array in self.q.get_weights()]
        return list(zip(arrays[::2], arrays[1::2], strict=True))


make = KerasDQN  # `worker.py` calls it


def _network() -> keras.Model:
    layers = [keras.layers.Dense(units, activation="relu") for units in work.SIZES[1:-1]]
    return keras.Sequential([keras.Input((work.SIZES[0],)), *layers, keras.layers.Dense(work.SIZES[-1])])
