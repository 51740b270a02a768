"""An agent's update, step by step, against the textbook formula in float64."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from helpers import PlainSteps, gradient_of, observe, parameters_of, perceptron, random_transitions, stored, untrained
from scipy import stats

from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose
from dyna_td.learning.xla import xla_function

SEEDS = 2
STEP, FIRST = tf.constant(7, tf.int64), tf.constant(0)


def agent_of(name, count=50, environment="CartPole-v1", **settings):
    """An agent that was shown `count` random transitions; its buffer is a ring of 60."""
    small = {"planning_updates": 1, "hidden": (8, 8), "buffer_capacity": 60, "target_period": 3}
    return untrained(environment, name, count, SEEDS, **small | settings).agent


cached = functools.cache(agent_of)  # for tests that do not change the agent


def of_seed(agent, seed, indices=slice(None)):
    """Stored transitions of one seed, in float64."""
    return Transition(*(np.asarray(part, np.float64)[seed][indices] for part in stored(agent)))


def networks_of(agent, seed):
    """The parameters of Q and of its target network."""
    return parameters_of(agent.learner.q, seed), parameters_of(agent.learner.q_target, seed)


def td_errors(online, target, batch, discount=0.99):
    chosen = perceptron(online, batch.state)[np.arange(len(batch.state)), batch.action.astype(int)]
    bootstrap = perceptron(target, batch.next_state).max(axis=1)
    return batch.reward + discount * (1 - batch.terminated) * bootstrap - chosen


def gradients(online, target, batch, weight):
    """The gradients of the weighted mean squared TD error, with a constant target."""
    return gradient_of(lambda moved: np.mean(weight * td_errors(moved, target, batch) ** 2), online)


@pytest.mark.parametrize("name", ["er", "prioritized_er", "full_prioritized_er", "schaul_prioritized_er", "laber"])
def test_updates_descend_the_mean_squared_td_error_neither_halved_nor_summed(name):
    agent, rate = agent_of(name), 0.05
    agent.learner.optimizer = PlainSteps(agent.learner.q.parameters, rate)
    batches = []
    agent.draw = lambda step, k, draw=agent.draw: batches.append(draw(step, k)) or batches[-1]
    before = [networks_of(agent, seed) for seed in range(SEEDS)]
    for k in range(5):
        agent.update(STEP, tf.constant(k))

    for seed in range(SEEDS):
        online, target = before[seed]
        for t, (indices, weight) in enumerate(batches, start=1):
            batch = of_seed(agent, seed, indices.numpy()[seed])
            slopes = gradients(online, target, batch, np.broadcast_to(weight, indices.shape)[seed])
            online = [parameter - rate * slope for parameter, slope in zip(online, slopes, strict=True)]
            if t % agent.settings.target_period == 0:
                target = [parameter.copy() for parameter in online]  # gradient_of moves `online`
        for mine, expected in zip(networks_of(agent, seed), (online, target), strict=True):
            for parameter, theirs in zip(mine, expected, strict=True):
                np.testing.assert_allclose(parameter, theirs, rtol=1e-3, atol=2e-5)


def test_er_draws_every_stored_transition_equally_often_and_no_other():
    agent = cached("er", 40)
    counts = np.bincount(np.concatenate([agent.draw(3, k)[0].numpy().ravel() for k in range(60)]), minlength=60)
    assert not counts[40:].any() and stats.chisquare(counts[:40]).pvalue > 1e-3


def test_actions_are_greedy_but_for_an_epsilon():
    agent = cached("er", 40)
    state = tf.constant(np.random.default_rng(0).normal(size=(SEEDS, 4)), tf.float32)
    greedy = [perceptron(networks_of(agent, seed)[0], state[seed][None]).argmax() for seed in range(SEEDS)]
    explore = tf.constant([[0.1, 0.0], [0.1, 0.999]])
    act = [agent.learner.act(state[:, None], epsilon, explore[:, None])[:, 0] for epsilon in (0.1, 0.11)]
    np.testing.assert_array_equal(act[0], greedy)
    np.testing.assert_array_equal(act[1], [0, 1])


def current_errors(agent, seed):
    """|delta| of every stored transition at the current parameters."""
    return np.abs(td_errors(*networks_of(agent, seed), of_seed(agent, seed)))


def test_prioritized_er_has_the_td_errors_of_when_a_transition_entered_or_was_drawn_last():
    exponent = 0.5
    agent = agent_of("prioritized_er", 70, batch_size=8, priority_exponent=exponent)  # the ring of 60 is full
    before, drawn, refresh = agent.priorities.priorities.numpy(), [], agent.after_update
    agent.after_update = lambda *update: drawn.append(update) or refresh(*update)
    for seed in range(SEEDS):  # before learning, every priority is current
        np.testing.assert_allclose(before[seed], current_errors(agent, seed) ** exponent, rtol=1e-4, atol=1e-6)
    agent.update(STEP, FIRST)
    ((*found, batch),) = drawn
    indices, errors = (part.numpy() for part in found)
    assert np.array_equal(batch.state, agent.replay.gather(indices).state)
    after = agent.priorities.priorities.numpy()
    for seed in range(SEEDS):
        np.testing.assert_allclose(after[seed, indices[seed]], np.abs(errors[seed]) ** exponent, rtol=1e-6)
        others = np.setdiff1d(np.arange(60), indices[seed])
        np.testing.assert_array_equal(after[seed, others], before[seed, others])


def test_half_of_a_prioritized_mini_batch_follows_the_priorities_and_half_is_uniform():
    agent = agent_of("prioritized_er", 60)
    agent.priorities.assign_all(tf.one_hot([[11], [37]], 60)[:, 0])
    indices = agent.draw(0, 0)[0].numpy()
    assert (indices[0, :16] == 11).all() and (indices[1, :16] == 37).all()
    assert len(set(indices[0, 16:])) > 8


@pytest.mark.parametrize("count", [50, 75])
def test_full_prioritized_er_always_knows_every_current_td_error(count):
    agent = agent_of("full_prioritized_er", count)
    for k in range(4):  # one of these updates copies the target network
        agent.update(STEP, tf.constant(k))
        priorities = agent.current_priorities().numpy()
        for seed in range(SEEDS):
            expected = current_errors(agent, seed)
            np.testing.assert_allclose(priorities[seed, : len(expected)], expected, rtol=1e-4, atol=1e-6)
            assert not priorities[seed, len(expected) :].any()


def test_schauls_draws_are_stratified():
    agent = agent_of("schaul_prioritized_er", 60, batch_size=4)
    agent.priorities.assign_all(tf.ones([2, 60]))  # each share of the total has 15 leaves
    for k in range(20):
        indices = agent.draw(STEP, tf.constant(k))[0].numpy()
        np.testing.assert_array_equal(indices // 15, [[0, 1, 2, 3]] * 2)


def test_schauls_weights_undo_the_sampling_bias_and_new_transitions_are_drawn_first():
    program = untrained("CartPole-v1", "schaul_prioritized_er", 30, SEEDS, hidden=(8, 8), buffer_capacity=60)
    agent = program.agent
    np.testing.assert_array_equal(agent.priorities.priorities[:, :30], 1.0)  # p_1 = 1 is the largest so far
    agent.after_update(tf.constant([[4], [5]]), tf.constant([[32.0], [-1.0]]), None)
    np.testing.assert_allclose(agent.largest, [8.0, 1.0], rtol=1e-5)  # 32 ** 0.6 = 8
    observe(agent, random_transitions(program.twin, 1, SEEDS))
    np.testing.assert_allclose(agent.priorities.priorities[:, 30], [8.0, 1.0], rtol=1e-5)

    agent.priorities.assign_all(tf.tile([[1.0, 7.0] + [0.0] * 58], [2, 1]))  # P = 1/8 and 7/8, N = 31
    drawn = tf.constant([[1.0, 7.0], [7.0, 7.0]])
    np.testing.assert_allclose(agent.importance_weights(drawn, step=agent.steps), [[1, 1 / 7], [1, 1]], rtol=1e-4)
    np.testing.assert_allclose(agent.importance_weights(drawn, step=0), [[1, 7**-0.4], [1, 1]], rtol=1e-4)


def test_laber_draws_in_proportion_to_the_current_td_errors_of_a_larger_uniform_batch():
    agent, count = agent_of("laber", 6, batch_size=4, large_batch=50), 100
    errors = [current_errors(agent, seed) for seed in range(SEEDS)]
    draw = xla_function(lambda k: agent.draw(STEP, k))
    found, expected = np.zeros((2, SEEDS, 6))
    for k in map(tf.constant, range(count)):
        indices, weights = (part.numpy() for part in draw(k))
        large = agent.streams.integers(Purpose.UNIFORM_BATCH, (200,), 6, step=STEP, inner=k).numpy()
        for seed, error in enumerate(errors):
            total = error[large[seed]].sum()
            np.testing.assert_allclose(weights[seed], total / 200 / error[indices[seed]], rtol=1e-3)
            found[seed] += np.bincount(indices[seed], minlength=6) / 4 / count
            expected[seed] += np.bincount(large[seed], error[large[seed]], minlength=6) / total / count
    np.testing.assert_allclose(found, expected, atol=0.08)
    _, weight = agent_of("laber", importance_weights=False).draw(STEP, FIRST)
    assert weight == 1.0


def test_lap_and_pal_have_their_losses_priorities_and_weights_by_hand():
    lap, pal, huber = cached("lap"), cached("pal"), cached("huber_dqn")
    errors = tf.constant([[0.5, -1.0, 2.0, -4.0]])
    for agent in (lap, huber):
        np.testing.assert_allclose(agent.loss(errors), [[0.125, 0.5, 1.5, 3.5]])
    np.testing.assert_allclose(lap.priority(errors, None), [[1.0, 1.0, 2**0.4, 4**0.4]], rtol=1e-6)
    mean = (1 + 1 + 2**0.4 + 4**0.4) / 4
    expected = np.array([[0.125, 0.5, 2**1.4 / 1.4, 4**1.4 / 1.4]]) / mean
    np.testing.assert_allclose(pal.loss(errors), expected, rtol=1e-6)
    assert lap.draw(STEP, FIRST)[1] == pal.draw(STEP, FIRST)[1] == huber.draw(STEP, FIRST)[1] == 1.0


def test_pals_gradient_is_the_one_that_lap_has_in_expectation():
    lap, pal = agent_of("lap"), agent_of("pal")
    for agent in (lap, pal):
        agent.learner.optimizer = PlainSteps(agent.learner.q.parameters)
    everything = stored(lap)
    delta = lap.learner.td_error(everything)  # the two learners have the same weights
    assert (tf.abs(delta) < 1).numpy().any() and (tf.abs(delta) > 1).numpy().any()
    priority = lap.priority(delta, everything).numpy()
    probability = priority / priority.sum(axis=1, keepdims=True)
    # The mean over all N transitions with the weights N P(i) is the expectation over draws with P(i).
    lap.learner.update(everything, tf.constant(priority.shape[1] * probability), lap.loss)
    pal.learner.update(everything, tf.ones([]), pal.loss)
    for one, other in zip(lap.learner.optimizer.kept, pal.learner.optimizer.kept, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
