"""The ring of transitions, and how much room its agents give it."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import random_transitions, run_of

from dyna_td.learning.replay import Replay, Transition
from dyna_td.programs.program import make_program
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


STEPS, SEEDS = 40_000, (0, 1, 2)


@pytest.mark.parametrize(
    ("environment", "agent", "settings", "numbers"),
    [  # numbers per transition: s, s', a, r, terminated; then its priority, its target; per queued state: s
        ("GridWorld", "prioritized_er", {"buffer_capacity": STEPS}, STEPS * (2 + 2 + 3 + 1)),
        ("MountainCar-v0", "full_prioritized_er", {"buffer_capacity": STEPS}, STEPS * (2 + 2 + 3 + 1 + 1)),
        ("GridWorld", "er", {"buffer_capacity": 5_000}, 5_000 * (2 + 2 + 3)),
        ("Acrobot-v1", "dyna_td", {"warm_up_steps": 2_000, "search_every": 10}, STEPS * 15 + 20 * 3_801 * 6),
    ],
)
def test_a_buffer_has_room_for_each_step_up_to_its_capacity(environment, agent, settings, numbers):
    arrays = make_program(run_of(environment, agent, SEEDS, STEPS, hidden=(4,), **settings)).snapshot().values()
    large = sum(array.nbytes for array in arrays if max(array.shape, default=0) > 1_000)  # wider than any layer
    assert large == pytest.approx(len(SEEDS) * 4 * numbers, rel=0.01)
