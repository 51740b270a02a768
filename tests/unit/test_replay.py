"""The ring of transitions, how much room its agents give it, and the sum tree of priorities."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import random_transitions, run_of
from hypothesis import given, settings
from hypothesis import strategies as st

from dyna_td.learning.replay import Replay, Transition
from dyna_td.learning.sum_tree import SumTree, build_levels, draw_leaves
from dyna_td.learning.xla import xla_function
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


@settings(max_examples=20, deadline=None)
@given(data=st.data(), capacity=st.integers(1, 700), seeds=st.integers(1, 3), batch=st.integers(1, 40))
def test_random_operations_agree_with_a_cumulative_sum(data, capacity, seeds, batch):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    tree, twin = SumTree(seeds, capacity), np.zeros((seeds, capacity), np.float32)
    for _ in range(4):
        leaves = rng.integers(0, capacity, (seeds, batch))  # duplicates are common in small trees
        priorities = rng.exponential(size=(seeds, batch)).astype(np.float32) * rng.integers(0, 2, (seeds, batch))
        tree.assign(tf.constant(leaves, tf.int32), tf.constant(priorities, tf.float32))
        for seed in range(seeds):
            for leaf, priority in zip(leaves[seed], priorities[seed], strict=True):
                twin[seed, leaf] = priority  # if a leaf occurs twice, the last priority counts
        np.testing.assert_array_equal(tree.priorities, twin)
        np.testing.assert_allclose(tree.total, twin.sum(axis=1), rtol=1e-5)
        uniforms = rng.random((seeds, 64)).astype(np.float32)
        drawn, found = (part.numpy() for part in tree.draw(tf.constant(uniforms)))
        np.testing.assert_array_equal(found, np.take_along_axis(twin, drawn, axis=1))
        for priorities, leaves, u in zip(twin, drawn, uniforms, strict=True):
            if not priorities.any():
                continue
            cumulative = np.cumsum(priorities.astype(np.float64)) / priorities.sum(dtype=np.float64)
            near_edge = np.abs(cumulative[None] - u[:, None]).min(axis=1) < 1e-5
            np.testing.assert_array_equal(leaves[~near_edge], np.searchsorted(cumulative, u[~near_edge], side="right"))
            assert (priorities[leaves] > 0).all(), "a leaf of priority zero was drawn"


@pytest.mark.parametrize(("capacity", "scale"), [(2, 1.0), (17, 1e-30), (256, 1.0), (70_000, 1e30)])
def test_zero_priorities_are_never_drawn_even_at_the_ends_of_the_interval(capacity, scale):
    rng = np.random.default_rng(capacity)
    priorities = (rng.exponential(size=(1, capacity)) * (rng.random((1, capacity)) < 0.3) * scale).astype(np.float32)
    priorities[0, [0, -1]] = 0.0
    priorities[0, capacity // 2] = scale
    priorities[0, 0 if capacity == 2 else -1] = 0.0
    below_one = np.nextafter(np.float32(1), np.float32(0))
    uniforms = np.concatenate([[0.0, below_one], rng.random(5000)]).astype(np.float32)[None]
    draw = xla_function(lambda priorities, u: draw_leaves(build_levels(priorities), u))
    drawn = draw(tf.constant(priorities), tf.constant(uniforms))[0].numpy()
    assert (priorities[0][drawn[0]] > 0).all()
