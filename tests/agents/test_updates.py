"""An agent's update, step by step, against the textbook formula in float64."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from helpers import Gradients, gradient_of, observe, parameters_of, perceptron, random_transitions, stored, untrained

from dyna_td.learning.replay import Transition

SEEDS = 2
STEP, FIRST = tf.constant(7, tf.int64), tf.constant(0)


def agent_of(name, count=50, environment="CartPole-v1", **settings):
    """An agent whose buffer, a ring of 60, was shown `count` random transitions."""
    small = {"planning_updates": 1, "hidden": (8, 8), "buffer_capacity": 60, "target_period": 3}
    return untrained(environment, name, count, SEEDS, **small | settings).agent


cached = functools.cache(agent_of)  # for tests that leave the agent as it is


def of_seed(agent, seed, places=slice(None)):
    """Stored transitions of one seed, in float64."""
    return Transition(*(np.asarray(part, np.float64)[seed][places] for part in stored(agent)))


def networks_of(agent, seed):
    """The parameters of Q and of its target network."""
    return parameters_of(agent.learner.q, seed), parameters_of(agent.learner.q_target, seed)


def td_errors(online, target, batch, discount=0.99):
    chosen = perceptron(online, batch.state)[np.arange(len(batch.state)), batch.action.astype(int)]
    bootstrap = perceptron(target, batch.next_state).max(axis=1)
    return batch.reward + discount * (1 - batch.terminated) * bootstrap - chosen


def gradients(online, target, batch, weight):
    """Of the weighted mean squared TD error, whose target stays as it is."""
    return gradient_of(lambda moved: np.mean(weight * td_errors(moved, target, batch) ** 2), online)


@pytest.mark.parametrize("name", ["er", "prioritized_er", "full_prioritized_er", "schaul_prioritized_er", "laber"])
def test_updates_equal_adam_by_hand_on_the_slope_of_the_loss(name):
    agent = agent_of(name)
    batches = []
    agent.draw = lambda step, k, draw=agent.draw: batches.append(draw(step, k)) or batches[-1]
    before = [networks_of(agent, seed) for seed in range(SEEDS)]
    for k in range(5):
        agent.update(STEP, tf.constant(k))

    for seed in range(SEEDS):
        online, target = before[seed]
        m, v = ([np.zeros_like(parameter) for parameter in online] for _ in range(2))
        for t, (places, weight) in enumerate(batches, start=1):
            weight = np.broadcast_to(weight, places.shape)[seed]
            batch = of_seed(agent, seed, places.numpy()[seed])
            for i, gradient in enumerate(gradients(online, target, batch, weight)):
                m[i] = 0.9 * m[i] + 0.1 * gradient
                v[i] = 0.999 * v[i] + 0.001 * gradient**2
                step = agent.settings.learning_rate * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
                online[i] = online[i] - step * m[i] / (v[i] ** 0.5 + 1e-8)
            if t % agent.settings.target_period == 0:
                target = [parameter.copy() for parameter in online]  # gradient_of moves `online`
        for mine, expected in zip(networks_of(agent, seed), (online, target), strict=True):
            for parameter, theirs in zip(mine, expected, strict=True):
                np.testing.assert_allclose(parameter, theirs, atol=2e-4)


def test_the_loss_is_the_mean_squared_td_error_neither_halved_nor_summed():
    agent = agent_of("er")
    agent.learner.optimizer = Gradients()
    places, weight = agent.draw(STEP, FIRST)
    agent.update(STEP, FIRST)
    for seed in range(SEEDS):
        batch = of_seed(agent, seed, places.numpy()[seed])
        expected = gradients(*networks_of(agent, seed), batch, np.ones(len(batch.reward)))
        for mine, theirs in zip(agent.learner.optimizer.kept, expected, strict=True):
            np.testing.assert_allclose(mine[seed], theirs, rtol=1e-3, atol=1e-6)
    assert weight.numpy() == 1.0


def test_er_draws_every_stored_transition_equally_often_and_no_other():
    agent = cached("er", 40)
    counts = np.bincount(np.concatenate([agent.draw(3, k)[0].numpy().ravel() for k in range(200)]), minlength=60)
    assert not counts[40:].any()
    assert abs(counts[:40] / counts.sum() - 1 / 40).max() < 0.006


def test_actions_are_greedy_but_for_an_epsilon():
    agent = cached("er", 40)
    state = tf.constant(np.random.default_rng(0).normal(size=(SEEDS, 4)), tf.float32)
    greedy = [perceptron(networks_of(agent, seed)[0], state[seed][None]).argmax() for seed in range(SEEDS)]
    explore = tf.constant([[0.1, 0.0], [0.1, 0.999]])
    act = [agent.learner.act(state[:, None], epsilon, explore[:, None])[:, 0] for epsilon in (0.1, 0.11)]
    np.testing.assert_array_equal(act[0], greedy)
    np.testing.assert_array_equal(act[1], [0, 1])


# Priorities


def current_errors(agent, seed):
    """|delta| of every stored transition at the current parameters."""
    return np.abs(td_errors(*networks_of(agent, seed), of_seed(agent, seed)))


@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_a_new_transition_enters_with_its_current_td_error(exponent):
    agent = agent_of("prioritized_er", 70, priority_exponent=exponent)  # the ring of 60 has wrapped around
    for seed in range(SEEDS):  # nothing was learned yet, so every priority is still current
        expected = current_errors(agent, seed) ** exponent
        np.testing.assert_allclose(agent.priorities.priorities[seed], expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("exponent", [1.0, 0.5])
def test_prioritized_er_refreshes_the_mini_batch_and_leaves_all_other_priorities_outdated(exponent):
    agent = agent_of("prioritized_er", batch_size=8, priority_exponent=exponent)
    before = agent.priorities.priorities.numpy()
    drawn, errors = [], []
    agent.after_update = lambda places, error, refresh=agent.after_update: (
        drawn.append(places.numpy()),
        errors.append(error.numpy()),
        refresh(places, error),
    )
    agent.update(STEP, FIRST)
    after = agent.priorities.priorities.numpy()
    for seed in range(SEEDS):
        np.testing.assert_allclose(after[seed, drawn[0][seed]], np.abs(errors[0][seed]) ** exponent, rtol=1e-6)
        others = np.setdiff1d(np.arange(60), drawn[0][seed])
        np.testing.assert_array_equal(after[seed, others], before[seed, others])


def test_half_of_a_prioritized_mini_batch_follows_the_priorities_and_half_is_uniform():
    agent = agent_of("prioritized_er", 60)
    agent.priorities.assign_all(tf.one_hot([[11], [37]], 60)[:, 0])
    places = agent.draw(0, 0)[0].numpy()
    assert (places[0, :16] == 11).all() and (places[1, :16] == 37).all()
    assert len(set(places[0, 16:])) > 8


@pytest.mark.parametrize("count", [50, 75])
def test_full_prioritized_er_always_knows_every_current_td_error(count):
    agent = agent_of("full_prioritized_er", count)
    for k in range(4):  # one of them copies the target network
        agent.update(STEP, tf.constant(k))
        priorities = agent.current_priorities().numpy()
        for seed in range(SEEDS):
            expected = current_errors(agent, seed)
            np.testing.assert_allclose(priorities[seed, : len(expected)], expected, rtol=1e-4, atol=1e-6)
            assert not priorities[seed, len(expected) :].any()


def test_full_prioritized_er_is_measured_by_the_current_td_errors():
    agent = agent_of("full_prioritized_er")
    agent.priorities.assign_all(tf.one_hot([7] * SEEDS, agent.replay.capacity))  # outdated
    drawn = agent.sample_states(tf.constant(50, tf.int64), 20_000).numpy()
    states = stored(agent).state.numpy()
    for seed in range(SEEDS):
        p = current_errors(agent, seed)
        matches = (drawn[seed][:, None] == states[seed]).all(axis=-1)
        np.testing.assert_allclose(matches.mean(axis=0), p / p.sum(), atol=0.015)


def test_schauls_draws_are_stratified():
    agent = agent_of("schaul_prioritized_er", 60, batch_size=4)
    agent.priorities.assign_all(tf.ones([2, 60]))  # one share of the total is 15 leaves
    for k in range(20):
        places = agent.draw(STEP, tf.constant(k))[0].numpy()
        np.testing.assert_array_equal(places // 15, [[0, 1, 2, 3]] * 2)


def test_schauls_weights_undo_the_sampling_bias_and_new_transitions_are_drawn_first():
    program = untrained("CartPole-v1", "schaul_prioritized_er", 30, SEEDS, hidden=(8, 8), buffer_capacity=60)
    agent = program.agent
    np.testing.assert_array_equal(agent.priorities.priorities[:, :30], 1.0)  # p_1 = 1, and nothing larger seen
    agent.after_update(tf.constant([[4], [5]]), tf.constant([[32.0], [-1.0]]))
    np.testing.assert_allclose(agent.largest, [8.0, 1.0], rtol=1e-5)  # 32 ** 0.6 = 8
    observe(agent, random_transitions(program.twin, 1, SEEDS))
    np.testing.assert_allclose(agent.priorities.priorities[:, 30], [8.0, 1.0], rtol=1e-5)

    agent.priorities.assign_all(tf.tile([[1.0, 7.0] + [0.0] * 58], [2, 1]))  # P = 1/8 and 7/8, N = 31
    drawn = tf.constant([[1.0, 7.0], [7.0, 7.0]])
    np.testing.assert_allclose(agent.importance_weights(drawn, step=agent.steps), [[1, 1 / 7], [1, 1]], rtol=1e-4)
    np.testing.assert_allclose(agent.importance_weights(drawn, step=0), [[1, 7**-0.4], [1, 1]], rtol=1e-4)
