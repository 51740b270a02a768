"""Sampling distributions on GridWorld's square, against NumPy and numbers worked out by hand."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.grid_world import GRID_WALLS, in_goal, transition
from helpers import parameters_of, perceptron, run_of
from scipy import stats

from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import compiled
from dyna_td.measures.sampling import DRAWS, RECENT_STATES, SHOWN, SamplingDistributions, coverage, histogram
from dyna_td.programs.program import make_program
from dyna_td.programs.twin import make_twin
from dyna_td.records.metrics import METRICS
from dyna_td.settings import DQNSettings

SEEDS = 2
STORED = 400
STEP = tf.constant(7, tf.int64)


def random_states(count, seed=0):
    return np.random.default_rng(seed).random((SEEDS, count, 2)).astype(np.float32)


def test_the_far_borders_belong_to_the_last_cells():
    states = tf.constant([[[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]])
    assert np.flatnonzero(histogram(states, 10)[0]).tolist() == [0, 9, 90, 99]


def test_the_coverage_of_states_placed_by_hand():
    # Seed 0: two in one cell of the top left, one in the wall's column, one on the right. Seed 1: all in one place.
    states = [[[0.101, 0.9], [0.11, 0.91], [0.55, 0.2], [0.9, 0.9]], [[0.7, 0.7]] * 4]
    measured = {name: value.numpy().tolist() for name, value in coverage(tf.constant(states)).items()}
    assert measured.pop("occupied_cells") == [3, 1]
    assert measured.pop("mass_top_left") == [0.5, 0.0]
    assert measured.pop("mass_right") == [0.25, 1.0]
    for name in ("entropy_10", "entropy_50"):
        assert measured.pop(name) == pytest.approx([0.5 * np.log(2) + 0.5 * np.log(4), 0.0])
    assert not measured


def sampling_of(seeds, **agent):
    """The measurement of a stand-in for an agent, which has only the given attributes."""
    agent = SimpleNamespace(settings=DQNSettings(), **agent)
    return SamplingDistributions(agent, Streams(tuple(range(seeds))), make_twin("GridWorld"))


def test_distances_of_any_distributions_equal_their_definitions():
    errors = np.random.default_rng(1).exponential(size=(SEEDS, 2500))
    own, buffer, recent = (random_states(DRAWS, seed) ** (seed + 1) for seed in range(3))
    sampling = sampling_of(SEEDS, sample_states=lambda step, count: tf.constant(own))
    sampling.absolute_td_errors = lambda step: tf.constant(errors, tf.float32)
    drawn = {Purpose.RECENT_DRAWS: recent, Purpose.BUFFER_DRAWS: buffer}
    sampling.draw_buffer = lambda step, purpose, newest=None: tf.constant(drawn[purpose])
    metrics, states = sampling.measure(STEP)
    np.testing.assert_array_equal(states["own"], own[:, :SHOWN])
    np.testing.assert_array_equal(states["buffer"], buffer[:, :SHOWN])
    for seed in range(SEEDS):
        ideal = errors[seed] / errors[seed].sum()
        shares = {
            name: np.histogram2d(*of_seeds[seed].T, bins=50, range=[[0, 1], [0, 1]])[0].ravel() / DRAWS
            for name, of_seeds in {"": own, "_buffer": buffer, "recent": recent}.items()
        }
        on_policy = shares.pop("recent")
        for name, p in shares.items():
            difference = np.abs(p - ideal)
            for weighing, distance in (("uniform", difference.mean()), ("on_policy", (on_policy * difference).sum())):
                np.testing.assert_allclose(metrics[f"distance_{weighing}{name}"][seed], distance, rtol=1e-4)


def test_the_floor_is_what_3000_draws_from_the_ideal_can_be_expected_to_reach():
    floor = sampling_of(20).draw_ideal(tf.fill([20, 2500], 1 / 2500), STEP).numpy()
    counts = np.arange(40)
    expected = (stats.binom.pmf(counts, DRAWS, 1 / 2500) * np.abs(counts / DRAWS - 1 / 2500)).sum()
    distances = np.abs(floor - 1 / 2500).mean(axis=1)
    np.testing.assert_allclose(floor.sum(axis=1), 1.0, rtol=1e-5)
    assert distances.mean() == pytest.approx(expected, rel=0.01)
    assert distances.std() > 0  # every seed has its own draws


OLD, NEW = (0.1, 0.9), (0.9, 0.1)
OLD_STATES = 5_000


@functools.cache
def dyna():
    """A Dyna agent with random networks of order 1 and random transitions.

    Its queue holds 5000 states at OLD and then 20,000 at NEW.
    """
    program = make_program(run_of("GridWorld", "dyna_td", range(SEEDS), 1500, hidden=(8, 6), warm_up_steps=0))
    agent, rng = program.agent, np.random.default_rng(0)
    for network in (agent.learner.q, agent.learner.q_target):
        for parameter in network.parameters:
            parameter.assign(tf.cast(0.7 * rng.normal(size=parameter.shape), tf.float32))
    agent.replay._rows[:, :STORED, :2].assign(random_states(STORED, seed=3))
    agent.replay._added.assign(STORED)
    program.step.assign(STORED)
    states = np.repeat([OLD, NEW], [OLD_STATES, RECENT_STATES], axis=0).astype(np.float32)
    agent.queue.add(tf.tile(states[None], [SEEDS, 1, 1]), tf.fill([SEEDS], len(states)))
    return program


def test_the_queue_is_measured_as_a_whole_and_by_its_newest_20000_states_with_every_metric_of_the_glossary():
    metrics, states = ({name: value.numpy() for name, value in part.items()} for part in dyna().measure())
    known = {name for name in METRICS if name.startswith(("distance_", "entropy_", "occupied_", "mass_"))}
    assert set(metrics) == known
    assert all(value.shape == (SEEDS,) and np.isfinite(value).all() for value in metrics.values())
    np.testing.assert_array_equal(metrics["mass_right_recent"], 1.0)
    np.testing.assert_array_equal(metrics["mass_top_left_recent"], 0.0)
    np.testing.assert_allclose(metrics["mass_top_left"], OLD_STATES / (OLD_STATES + RECENT_STATES), atol=0.04)
    assert {tuple(state) for state in states["own"].reshape(-1, 2)} == {tuple(np.float32(s)) for s in (OLD, NEW)}
    assert states["own"].shape == states["buffer"].shape == (SEEDS, SHOWN, 2)


def test_the_ideal_weighs_each_corner_by_its_mean_td_error_under_the_true_model():
    program = dyna()
    agent, sampling = program.agent, program.sampling
    noise = compiled(lambda: program.streams.normal(Purpose.IDEAL_ENVIRONMENT, (2500, 16), step=STEP)).numpy()
    errors = compiled(lambda: sampling.absolute_td_errors(STEP)).numpy()
    corners = np.float32([(column / 50, row / 50) for column in range(50) for row in range(50)])
    blocked = reached = 0
    for seed in range(SEEDS):
        q = perceptron(parameters_of(agent.learner.q, seed), corners)
        each = zip(corners.repeat(16, axis=0), q.argmax(axis=1).repeat(16), noise[seed].ravel(), strict=True)
        outcomes = [transition(*parts, GRID_WALLS) for parts in each]
        next_states, rewards, ends = (np.array(part) for part in zip(*outcomes, strict=True))
        y = rewards + 0.99 * ~ends * perceptron(parameters_of(agent.learner.q_target, seed), next_states).max(axis=1)
        expected = np.abs(y.reshape(2500, 16).mean(axis=1) - q.max(axis=1))
        clear = np.diff(np.sort(q, axis=1)[:, -2:], axis=1)[:, 0] > 1e-4  # elsewhere rounding decides the greedy action
        assert clear.mean() > 0.98
        np.testing.assert_allclose(errors[seed, clear], expected[clear], rtol=1e-4, atol=1e-4)
        stays = (next_states.reshape(2500, 16, 2) == corners[:, None]).all(axis=(1, 2))
        blocked += (stays & clear).sum()
        reached += (ends.reshape(2500, 16).any(axis=1) & ~in_goal(*corners.T) & clear).sum()
    assert blocked > 20 and reached > 3  # so walls, borders and the goal are covered
