import keras
import numpy as np
import tensorflow as tf

from dyna_td.learning.networks import Adam, StackedNetwork, map_blocks
from dyna_td.learning.streams import Streams


def test_weights_start_in_the_xavier_interval_and_outputs_in_their_own():
    network = StackedNetwork(Streams((5,)), (2, 64, 64, 4), tf.nn.relu, output_limit=0.003)
    for kernel, limit in zip(network.kernels, [(6 / 66) ** 0.5, (6 / 128) ** 0.5, 0.003], strict=True):
        assert 0.9 * limit < np.abs(kernel.numpy()).max() <= limit
        assert abs(kernel.numpy().mean()) < 0.2 * limit
    assert not any(bias.numpy().any() for bias in network.biases)


def test_adam_is_the_one_of_keras():
    rng = np.random.default_rng(0)
    start = rng.normal(size=(3, 4)).astype(np.float32)
    mine, theirs = tf.Variable(start), keras.Variable(start)
    optimizer, oracle = Adam(0.01, [mine]), keras.optimizers.Adam(0.01, epsilon=1e-8)
    for learning_rate in (0.01, 0.01, 0.1, 0.001):
        optimizer.learning_rate.assign(learning_rate)
        oracle.learning_rate = learning_rate
        gradient = tf.constant(rng.normal(size=(3, 4)), tf.float32)
        optimizer.apply([gradient])
        oracle.apply_gradients([(gradient, theirs)])
        np.testing.assert_array_equal(mine, theirs.value)


def test_blocks_join_to_the_whole_for_any_length():
    values = tf.constant(np.random.default_rng(0).normal(size=(2, 1003)), tf.float32)
    for length, width in [(1, 32), (199, 32), (200, 32), (201, 32), (1000, 32), (1003, 32), (1003, 1000)]:
        joined = map_blocks(lambda start, size: tf.slice(values, [0, start], [2, size]), length, width)
        np.testing.assert_array_equal(joined, values[:, :length])
