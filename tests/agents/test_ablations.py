"""Ablations: each agent differs from its base only in the part that it names."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from helpers import parameters_of, perceptron, untrained
from scipy import stats

from dyna_td.learning.xla import compiled, xla_function
from dyna_td.measures.sampling import CELLS, SamplingDistributions, histogram

SEEDS = 3
STEP = tf.constant(7, tf.int64)
FIRST = tf.constant(0)


def agent_of(name, environment="GridWorld", **settings):
    """An untrained agent whose B_er holds 40 short moves, anywhere in the box of states."""
    return untrained(environment, name, 40, SEEDS, steps=2_000, **settings).agent


cached = functools.cache(agent_of)  # for tests that do not change the agent


def gradient_of(agent, state, step=STEP, i=FIRST):
    return agent.criterion_gradient(tf.constant(state, tf.float32), step, i).numpy()


STATES = np.random.default_rng(2).uniform(0.2, 0.8, (SEEDS, 2)).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "model", "factor"),
    [("descend_td", "dyna_td", -1), ("descend_value", "dyna_value", -1), ("noise_only", "dyna_td", 0)],
)
def test_descending_is_climbing_the_other_way_and_noise_alone_climbs_nowhere(name, model, factor):
    mine, theirs = (gradient_of(cached(each), STATES) for each in (name, model))
    assert np.abs(theirs).max(axis=1).min() > 0
    np.testing.assert_array_equal(mine, factor * theirs)


@pytest.mark.parametrize("environment", ["GridWorld", "MountainCar-v0"])
def test_a_random_direction_is_any_in_the_units_of_the_rule_and_one_for_a_whole_fill(environment):
    agent = cached("random_direction", environment)
    space, visited = agent.search_control.space, agent.search_control.visited
    gradient, state, fills = xla_function(agent.criterion_gradient), tf.zeros([SEEDS, 2]), []
    for step in map(tf.constant, range(300)):
        first, later = (gradient(state, step, tf.constant(i)).numpy() for i in (0, 5))
        np.testing.assert_array_equal(first, later)
        fills.append(first)
    slopes = np.stack(fills)  # [fills, S, d]
    scaled = slopes[:, 0] * (1.0 if space.shares_one_unit else np.sqrt(np.diag(visited.covariance[0])))
    assert stats.kstest(np.arctan2(*scaled.T), "uniform", (-np.pi, 2 * np.pi)).pvalue > 1e-3
    assert np.abs(np.corrcoef(slopes[:, :, 0].T) - np.eye(SEEDS)).max() < 0.2


def test_random_sign_follows_the_gradient_of_dyna_td_forwards_or_backwards_as_a_fair_coin_says():
    agent, original = cached("random_sign"), cached("dyna_td")
    for step in map(tf.constant, range(4)):
        for i in map(tf.constant, range(3)):
            mine, theirs = (gradient_of(each, STATES, step, i) for each in (agent, original))
            assert np.abs(theirs).max(axis=1).min() > 0
            np.testing.assert_array_equal(mine, agent.sign(step)[:, None] * theirs)  # one coin for the whole fill
    sign = xla_function(agent.sign)
    signs = np.stack([sign(tf.constant(step, tf.int64)) for step in range(700)])
    assert set(signs.ravel()) == {-1.0, 1.0}
    assert stats.binomtest(int((signs > 0).sum()), signs.size).pvalue > 1e-3
    assert np.abs(np.corrcoef(signs.T) - np.eye(SEEDS)).max() < 0.15
    assert np.abs([np.corrcoef(column[1:], column[:-1])[0, 1] for column in signs.T]).max() < 0.15


def test_uniform_states_are_uniform_over_the_box_and_independent():
    agent = cached("uniform_states", "MountainCar-v0")
    space, drawn = agent.search_control.space, agent.draw_states(STEP, 5000).numpy()
    for seed in drawn:
        for coordinate, low, high in zip(seed.T, space.low, space.high, strict=True):
            assert stats.kstest(coordinate, "uniform", (low, high - low)).pvalue > 1e-3
        assert abs(stats.spearmanr(*seed.T).statistic) < 0.06
    assert abs(stats.spearmanr(drawn[0, :, 0], drawn[1, :, 0]).statistic) < 0.06


@pytest.mark.parametrize("name", ["uniform_states", "replayed_states", "ideal_states"])
def test_a_fill_is_counted_holds_no_terminal_state_and_waits_for_the_warm_up(name):
    agent = agent_of(name, states_per_fill=50)
    search = xla_function(agent.search)
    search(STEP, tf.constant(0))
    assert agent.queue.size.numpy().tolist() == [0] * SEEDS
    search(STEP, tf.constant(100))
    search(STEP + 1, tf.constant(100))
    assert agent.counters()["chain_states"].numpy().tolist() == [100.0] * SEEDS
    for states in (agent.queue._states.numpy()[seed, :size] for seed, size in enumerate(agent.queue.size.numpy())):
        assert len(np.unique(states[:50], axis=0)) > 20 and not np.array_equal(states[:50], states[50:])
        assert ((states >= 0) & (states <= 1)).all() and not (states > 0.95).all(axis=1).any()


def test_ideal_states_have_the_distribution_p_star_and_lie_anywhere_in_their_cell():
    agent = cached("ideal_states")
    sampling = SamplingDistributions(agent, agent.streams, agent.search_control.space)
    error, drawn = compiled(lambda: (sampling.absolute_td_errors(STEP), agent.draw_states(STEP, 20_000)))
    by_column, ideal = (
        shares.reshape(SEEDS, 10, 5, 10, 5).sum(axis=(2, 4)).reshape(SEEDS, -1)
        for shares in (histogram(drawn, CELLS).numpy(), error.numpy())
    )
    for observed, expected in zip(by_column, ideal, strict=True):
        assert stats.chisquare(observed * 20_000, expected / expected.sum() * 20_000).pvalue > 1e-3
    within = drawn.numpy().astype(np.float64) * CELLS % 1.0
    assert stats.kstest(within.ravel()[::7], "uniform").pvalue > 1e-3


def test_the_cubic_dqn_weighs_squared_errors_by_their_size_over_the_mini_batchs_mean_and_the_mixed_dqn_by_half():
    # With these weights the gradient is that of 2/3 |delta|^3 / c.
    agent, mixed = cached("cubic_dqn"), cached("mixed_dqn")
    batch, _, weight = agent.mini_batch(STEP, FIRST)
    np.testing.assert_array_equal(mixed.mini_batch(STEP, FIRST)[2], 0.5 + 0.5 * weight)
    for seed in range(SEEDS):
        parameters = parameters_of(agent.learner.q, seed)  # still equal to the target network's
        state, action, reward, next_state, terminated = (part.numpy()[seed] for part in batch)
        y = reward + 0.99 * (1 - terminated) * perceptron(parameters, next_state).max(axis=1)
        error = np.abs(y - perceptron(parameters, state)[np.arange(len(y)), action])
        np.testing.assert_allclose(weight[seed], error / error.mean(), rtol=1e-4)


def test_a_moving_target_is_differentiated_and_a_constant_one_is_not():
    moving, constant = (cached(name, "MountainCar-v0") for name in ("moving_target", "dyna_td"))
    langevin = cached("dyna_td", "MountainCar-v0", search_control="langevin")
    state = STATES * [0.5, 0.01]
    np.testing.assert_array_equal(gradient_of(moving, state), gradient_of(langevin, state))
    assert (gradient_of(moving, state) != gradient_of(constant, state)).any()
