import numpy as np
import tensorflow as tf
from helpers import random_transitions

from dyna_td.learning.replay import Replay, Transition
from dyna_td.programs.twin import make_twin


def test_a_full_ring_forgets_its_oldest_transition_and_each_seed_gathers_its_own():
    replay, shown = Replay(seeds=2, capacity=4, state_dim=2), random_transitions(make_twin("GridWorld"), 11, 2)
    indices = [int(replay.add(Transition(*(part[:, t : t + 1] for part in shown)))) for t in range(11)]
    assert indices == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2]
    for held, numbers in (
        (replay.gather(tf.constant([[0, 1, 2, 3]] * 2)), [[8, 9, 10, 7]] * 2),
        (replay.gather(tf.constant([[0, 3, 3], [2, 1, 0]])), [[8, 7, 7], [10, 9, 8]]),
        (replay.block(1, 2), [[9, 10]] * 2),
    ):
        for mine, theirs in zip(held, shown, strict=True):
            np.testing.assert_array_equal(mine, tf.gather(theirs, numbers, batch_dims=1))
