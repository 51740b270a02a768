"""What all agents learn with: random numbers keyed by seed and purpose, stacked networks, Adam."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from dyna_td.learning.networks import Adam, map_blocks
from dyna_td.learning.streams import SEEDS, STEPS, Purpose, Streams


@pytest.mark.parametrize("purpose", [Purpose.WEIGHTS, Purpose.EVALUATION_ENVIRONMENT])
def test_draws_differ_between_seeds_steps_and_inner_steps(purpose):
    streams = Streams((0, 1, 255, 256, 4096, SEEDS - 1))
    draw = tf.function(lambda step, inner: streams.uniform(purpose, (3,), step=step, inner=inner), jit_compile=True)
    steps = [-1, 0, 1, 2, 63, 64, 255, 256, 257, 512, 4096, 65_536, 2**20, 2**24, 2**25, STEPS - 1]
    inners = [0, 1, 31, 255, 256, 1999, 4095]
    draws = np.concatenate([draw(tf.constant(step), tf.constant(inner)).numpy() for step in steps for inner in inners])
    assert len(np.unique(draws, axis=0)) == len(draws) == len(steps) * len(inners) * 6


def test_purposes_have_streams_of_their_own():
    streams = Streams((0, 7))
    draws = np.concatenate([streams.uniform(purpose, (3,), step=5).numpy() for purpose in Purpose])
    assert len(np.unique(draws, axis=0)) == 2 * len(Purpose)
    assert not set(Purpose) & set(range(27, 60)) and max(Purpose) < 64  # users' own agents have these


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
    for length, width in [(1, 32), (199, 32), (200, 32), (201, 32), (1003, 32), (1003, 1000)]:
        joined = map_blocks(lambda start, size: tf.slice(values, [0, start], [2, size]), length, width)
        np.testing.assert_array_equal(joined, values[:, :length])
