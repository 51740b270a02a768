"""Controls and the agents with an open number: each differs from its model in the one thing that it says."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from dyna_td.errors import UserError
from dyna_td.learning.replay import Transition
from dyna_td.measures.sampling import CELLS, SamplingDistributions, histogram
from dyna_td.registry import require_agent, settings_type
from dyna_td.settings import Run
from dyna_td.training.program import make_program

SEEDS = 3
STORED = 40
STEP = tf.constant(7, tf.int64)
FIRST = tf.constant(0)


def agent_of(name, environment="GridWorld", **settings):
    """An untrained agent whose B_er holds 40 short moves, anywhere in the box of states."""
    kind = settings_type(environment, name)
    program = make_program(Run(environment, name, kind(**settings), tuple(range(SEEDS)), steps=STORED + 2000))
    twin, random = program.twin, np.random.default_rng(0)
    for _ in range(STORED):
        unit = random.uniform(size=(SEEDS, 1, twin.state_dim)).astype(np.float32)
        state, next_state = (twin.low + (twin.high - twin.low) * (start + 0.8 * unit) for start in (0.1, 0.12))
        action = tf.constant(random.integers(0, twin.actions, (SEEDS, 1)), tf.int32)
        ones = tf.ones([SEEDS, 1])
        program.agent.observe(Transition(state, action, -ones, next_state, 0.0 * ones))
    return program.agent


cached = functools.cache(agent_of)  # for tests that leave the agent as it is


def queued(agent):
    """The states of each seed's queue, in the order in which they came."""
    return [agent.queue._states.numpy()[seed, :size] for seed, size in enumerate(agent.queue.size.numpy())]


def forward(learner, state):
    """Q(s, .) of the network in NumPy: [S, b, d] -> [S, b, A]."""
    kernels, biases = (
        [part.numpy().astype(np.float64) for part in parts] for parts in (learner.q.kernels, learner.q.biases)
    )
    return values(kernels, biases, state)


def values(kernels, biases, state):
    x = np.swapaxes(np.asarray(state, np.float64), 1, 2)  # [S, d, b]
    for layer, (kernel, bias) in enumerate(zip(kernels, biases, strict=True)):
        x = np.einsum("soi,sib->sob", kernel, x) + bias
        x = np.maximum(x, 0.0) if layer + 1 < len(kernels) else x
    return np.swapaxes(x, 1, 2)


# What the chains follow


@pytest.mark.parametrize(("name", "direction"), [("dyna_value", 1), ("descend_value", -1)])
def test_a_step_along_the_gradient_raises_v_and_lowers_it_in_the_control_that_descends(name, direction):
    agent, random = cached(name), np.random.default_rng(1)
    for _ in range(20):
        state = random.uniform(0.2, 0.8, (SEEDS, 2)).astype(np.float32)
        slope = agent.criterion_gradient(tf.constant(state), STEP, FIRST).numpy()
        ahead = state + 1e-4 * slope / np.linalg.norm(slope, axis=1, keepdims=True)
        change = forward(agent.learner, ahead[:, None]).max(axis=2) - forward(agent.learner, state[:, None]).max(axis=2)
        assert (direction * change > 0).all()


def test_descending_the_td_error_is_climbing_it_the_other_way():
    control, original = cached("descend_td"), cached("dyna_td")
    state = tf.constant(np.random.default_rng(2).uniform(0.2, 0.8, (SEEDS, 2)), tf.float32)
    mine, theirs = (agent.criterion_gradient(state, STEP, FIRST).numpy() for agent in (control, original))
    assert np.abs(theirs).max(axis=1).min() > 0
    np.testing.assert_array_equal(mine, -theirs)


@pytest.mark.parametrize("environment", ["GridWorld", "MountainCar-v0"])
def test_a_random_direction_is_any_in_the_units_of_the_rule_and_one_for_a_whole_fill(environment):
    agent = cached("random_direction", environment)
    rule, state = agent.search_control.rule(), tf.zeros([SEEDS, 2])
    fills = []
    for step in map(tf.constant, range(500)):
        first, later = (agent.criterion_gradient(state, step, tf.constant(i)).numpy() for i in (0, 5))
        np.testing.assert_array_equal(first, later)
        fills.append(first)
    slopes = np.stack(fills)  # [fills, S, d]
    scaled = slopes[:, 0] * np.sqrt(np.diag(rule.sigma[0]))  # on GridWorld Sigma_s is the identity
    assert stats.kstest(np.arctan2(*scaled.T), "uniform", (-np.pi, 2 * np.pi)).pvalue > 1e-3
    assert np.abs(np.corrcoef(slopes[:, :, 0].T) - np.eye(SEEDS)).max() < 0.2
    assert abs(np.corrcoef(scaled[1:, 0], scaled[:-1, 0])[0, 1]) < 0.2


def test_the_coin_of_random_sign_is_fair_and_tossed_for_each_seed_and_fill():
    agent = cached("random_sign")
    signs = np.stack([agent.sign(tf.constant(step, tf.int64)) for step in range(700)])
    assert set(signs.ravel()) == {-1.0, 1.0}
    assert stats.binomtest(int((signs > 0).sum()), signs.size).pvalue > 1e-3
    assert np.abs(np.corrcoef(signs.T) - np.eye(SEEDS)).max() < 0.15
    assert np.abs([np.corrcoef(column[1:], column[:-1])[0, 1] for column in signs.T]).max() < 0.15


def test_random_sign_follows_the_gradient_of_dyna_td_forwards_or_backwards_for_a_whole_fill():
    control, original = cached("random_sign"), cached("dyna_td")
    state = tf.constant(np.random.default_rng(2).uniform(0.2, 0.8, (SEEDS, 2)), tf.float32)
    for step in map(tf.constant, range(4)):
        for i in map(tf.constant, range(3)):
            mine, theirs = (agent.criterion_gradient(state, step, i) for agent in (control, original))
            assert np.abs(theirs).max(axis=1).min() > 0
            np.testing.assert_array_equal(mine, control.sign(step)[:, None] * theirs)


@pytest.mark.parametrize(("name", "follows"), [("noise_only", False), ("random_direction", False), ("dyna_td", True)])
def test_where_chains_go_depends_on_the_network_unless_chance_alone_moves_them(name, follows):
    agents = [agent_of(name) for _ in range(2)]
    for variable in agents[1].learner.q.parameters:
        variable.assign(-2.0 * variable)
    for agent in agents:
        agent.search(STEP, tf.constant(12))
    for mine, theirs in zip(*map(queued, agents), strict=True):
        assert len(mine) > 3
        assert (mine.shape != theirs.shape or (mine != theirs).any()) == follows


# States without chains


def test_uniform_states_are_uniform_over_the_box_and_independent():
    agent = cached("uniform_states", "MountainCar-v0")
    space, drawn = agent.search_control.space, agent.draw_states(STEP, 5000).numpy()
    for seed in drawn:
        for coordinate, low, high in zip(seed.T, space.low, space.high, strict=True):
            assert stats.kstest(coordinate, "uniform", (low, high - low)).pvalue > 1e-3
        assert abs(stats.spearmanr(*seed.T).statistic) < 0.06
    assert abs(stats.spearmanr(drawn[0, :, 0], drawn[1, :, 0]).statistic) < 0.06


def test_the_first_m_states_that_are_not_terminal_are_queued_in_their_order():
    agent = cached("uniform_states", states_per_fill=3)
    goal, a, b, c, d = [0.99, 0.99], [0.1, 0.2], [0.3, 0.4], [0.5, 0.45], [0.7, 0.8]
    candidates = tf.constant([[goal, a, goal, b, c, d], [a, b, c, d, goal, goal], [goal, goal, d, goal, goal, c]])
    states, count = agent.first_alive(candidates)
    assert count.numpy().tolist() == [3, 3, 2]
    np.testing.assert_allclose(states[0], [a, b, c])
    np.testing.assert_allclose(states[1], [a, b, c])
    np.testing.assert_allclose(states[2, :2], [d, c])


@pytest.mark.parametrize("name", ["uniform_states", "replayed_states", "ideal_states"])
def test_a_fill_is_counted_holds_no_terminal_state_and_waits_for_the_warm_up(name):
    agent = agent_of(name, states_per_fill=50)
    agent.search(STEP, tf.constant(0))
    assert agent.queue.size.numpy().tolist() == [0] * SEEDS
    agent.search(STEP, tf.constant(100))
    agent.search(STEP + 1, tf.constant(100))
    assert agent.counters()["chain_states"].numpy().tolist() == [100.0] * SEEDS
    for states in queued(agent):
        assert len(np.unique(states[:50], axis=0)) > 20 and not np.array_equal(states[:50], states[50:])
        assert ((states >= 0) & (states <= 1)).all() and not (states > 0.95).all(axis=1).any()


def test_replayed_states_are_those_of_the_buffer_each_as_often():
    agent = cached("replayed_states")
    drawn, stored = agent.draw_states(STEP, 4000).numpy(), agent.replay.gather(tf.tile([tf.range(STORED)], [SEEDS, 1]))
    for mine, theirs in zip(drawn, stored.state.numpy(), strict=True):
        matches = (mine[:, None] == theirs[None]).all(axis=2)  # [drawn, stored]
        assert (matches.sum(axis=1) == 1).all()
        assert stats.chisquare(matches.sum(axis=0)).pvalue > 1e-3


def test_ideal_states_have_the_distribution_p_star_and_lie_anywhere_in_their_cell():
    agent = cached("ideal_states")
    error = SamplingDistributions(agent, agent.streams, agent.search_control.space).absolute_td_errors(STEP).numpy()
    drawn = agent.draw_states(STEP, 20_000)
    by_column = histogram(drawn, CELLS).numpy().reshape(SEEDS, 10, 5, 10, 5).sum(axis=(2, 4)).reshape(SEEDS, -1)
    ideal = (error / error.sum(axis=1, keepdims=True)).reshape(SEEDS, 10, 5, 10, 5).sum(axis=(2, 4)).reshape(SEEDS, -1)
    for observed, expected in zip(by_column, ideal, strict=True):
        assert stats.chisquare(observed * 20_000, expected / expected.sum() * 20_000).pvalue > 1e-3
    within = drawn.numpy().astype(np.float64) * CELLS % 1.0
    assert stats.kstest(within.ravel()[::7], "uniform").pvalue > 1e-3


def test_ideal_states_train_on_grid_world_alone():
    assert require_agent("ideal_states", "GridWorld") == "ideal_states"
    with pytest.raises(UserError, match=r"^agent 'ideal_states' does not train on MountainCar-v0: choose one of er, "):
        require_agent("ideal_states", "MountainCar-v0")


# The cubic loss


def test_the_cubic_dqn_has_the_gradient_of_the_cubic_loss_scaled_by_the_mini_batchs_mean_error():
    agent = cached("cubic_dqn")
    batch, _, weight = agent.mini_batch(STEP, FIRST)
    kernels = [kernel.numpy().astype(np.float64) for kernel in agent.learner.q.kernels]
    biases = [bias.numpy().astype(np.float64) for bias in agent.learner.q.biases]
    next_value = values(kernels, biases, batch.next_state).max(axis=2)  # the target network is the same so far
    y = batch.reward.numpy() + 0.99 * next_value

    def td_error(shift, directions):
        moved = [kernel + shift * direction for kernel, direction in zip(kernels, directions, strict=True)]
        q = values(moved, biases, batch.state)
        return y - np.take_along_axis(q, batch.action.numpy()[..., None], axis=2)[..., 0]

    c = np.abs(td_error(0.0, kernels)).mean(axis=1)
    directions = [np.random.default_rng(3).normal(size=kernel.shape) for kernel in kernels]
    ahead, behind = td_error(1e-6, directions), td_error(-1e-6, directions)
    squared = (weight.numpy() * (ahead**2 - behind**2)).mean(axis=1) / 2e-6
    cubic = 2 / 3 * (np.abs(ahead) ** 3 - np.abs(behind) ** 3).mean(axis=1) / c / 2e-6
    np.testing.assert_allclose(squared, cubic, rtol=1e-4)


# Open numbers


@pytest.mark.parametrize("factor", [0.0, 1.0, 2.0])
def test_chain_noise_is_a_factor_of_what_the_chains_of_dyna_td_draw(factor):
    control, original = cached("dyna_td_noise", chain_noise=factor), cached("dyna_td")
    for i in map(tf.constant, range(3)):
        mine, theirs = (agent.search_control._normals(STEP, i).numpy() for agent in (control, original))
        np.testing.assert_array_equal(mine, factor * theirs)


def test_with_the_factor_1_the_queue_is_that_of_dyna_td_and_with_0_every_move_is_a_step_long():
    usual, same, still = agent_of("dyna_td"), agent_of("dyna_td_noise"), agent_of("dyna_td_noise", chain_noise=0.0)
    for agent in (usual, same):
        agent.search(STEP, tf.constant(12))
    for mine, theirs in zip(queued(usual), queued(same), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    start = still.start(STEP, FIRST).numpy()
    still.search(STEP, tf.constant(1))
    moved = [np.linalg.norm(states[0] - start[seed]) for seed, states in enumerate(queued(still))]
    np.testing.assert_allclose(moved, 0.1, atol=1e-6)


def test_a_given_distance_takes_the_place_of_the_mean_moves():
    usual = agent_of("dyna_td")
    chosen = float(usual.search_control.rule().threshold[0])  # of seed 0
    same, far = (agent_of("dyna_td_acceptance", acceptance=distance) for distance in (chosen, 0.2))
    for agent in (usual, same, far):
        agent.search(STEP, tf.constant(12))
    np.testing.assert_array_equal(queued(same)[0], queued(usual)[0])
    for states in queued(far):
        assert (np.linalg.norm(np.diff(states, axis=0), axis=1) >= 0.2 * 2**0.5 - 1e-6).all()
    assert len(queued(usual)[0]) > len(queued(far)[0]) > 1


def goals(agent):
    """Which of each seed's queued states lie in GridWorld's goal, the square above 0.95."""
    return [(states >= 0.95).all(axis=1) for states in queued(agent)]


@pytest.mark.parametrize("name", ["dyna_td", "dyna_value", "dyna_frequency"])
def test_with_goals_a_chain_goes_on_from_a_terminal_state_that_is_queued(name):
    usual, through = agent_of(name), agent_of(f"{name}_goals")
    for agent in (usual, through):
        agent.start = lambda step, i: tf.fill([SEEDS, 2], 0.97)
        agent.search(STEP, tf.constant(100))
    assert not np.concatenate(goals(usual)).any() and np.concatenate(goals(through)).any()
    restarts = {agent: agent.search_control.counters["chain_restarts"].numpy() for agent in (usual, through)}
    assert (restarts[usual] >= restarts[through]).all() and restarts[usual].sum() > restarts[through].sum()
    assert not usual.settings.full_chains


def test_goals_change_nothing_where_chains_meet_none():
    usual, through = agent_of("dyna_td"), agent_of("dyna_td_goals")
    for agent in (usual, through):
        agent.start = lambda step, i: tf.fill([SEEDS, 2], 0.2)
        agent.search(STEP, tf.constant(8))
    for mine, theirs in zip(queued(usual), queued(through), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_exponent_is_that_of_the_priorities_when_stored_and_when_drawn_again():
    control, original = agent_of("prioritized_er_exponent", priority_exponent=0.5), agent_of("prioritized_er")
    places = tf.tile([tf.range(5)], [SEEDS, 1])
    for agent in (control, original):
        agent.after_update(places, tf.constant([[4.0, -9.0, 0.25, 0.0, 1.0]] * SEEDS))
    mine, theirs = control.priorities.priorities.numpy(), original.priorities.priorities.numpy()
    np.testing.assert_allclose(mine[:, :5], [[2.0, 3.0, 0.5, 0.0, 1.0]] * SEEDS)
    assert (theirs[:, 5:STORED] > 0).all()
    np.testing.assert_allclose(mine, theirs**0.5, rtol=1e-6)
