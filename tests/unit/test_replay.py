import numpy as np
import tensorflow as tf

from dyna_td.learning.replay import Replay, Transition


def transition(number, seeds=2, state_dim=3):
    """A transition whose every number tells which one it is."""
    base = tf.cast(number, tf.float32) + 0.25 * tf.range(seeds, dtype=tf.float32)[:, None]
    state = base[..., None] + 100.0 * tf.range(state_dim, dtype=tf.float32)
    return Transition(
        state, tf.fill([seeds, 1], number % 7), -base, state + 0.5, tf.fill([seeds, 1], float(number % 2))
    )


def assert_equal(actual, expected):
    for name, mine, theirs in zip(Transition._fields, actual, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs, err_msg=name)


def test_a_full_ring_forgets_its_oldest_transition_and_each_seed_gathers_its_own():
    replay = Replay(seeds=2, capacity=4, state_dim=3)
    places = [int(replay.add(transition(number))) for number in range(11)]
    assert places == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
    for place, number in enumerate([8, 9, 10, 7]):
        assert_equal(replay.gather(tf.fill([2, 1], place)), transition(number))
    reward = replay.gather(tf.constant([[0, 3, 3], [2, 1, 0]])).reward
    np.testing.assert_array_equal(reward, [[-8, -7, -7], [-10.25, -9.25, -8.25]])
    assert_equal(replay.block(1, 2), replay.gather(tf.constant([[1, 2]] * 2)))
