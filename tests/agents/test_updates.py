"""An agent's update, step by step, against the textbook formula in float64."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

from dyna_td.learning.replay import Transition
from dyna_td.settings import DQNSettings, Run
from dyna_td.training.twin_program import ControlProgram

SETTINGS = DQNSettings(planning_updates=0, warm_up_steps=10**6, hidden=(8, 8), buffer_capacity=60, target_period=3)
SEEDS = 2


def agent_after(name, steps=50, environment="CartPole-v1", **settings):
    """An agent whose buffer holds `steps` random transitions."""
    run = Run(environment, name, replace(SETTINGS, **settings), tuple(range(SEEDS)), steps=1000)
    program = ControlProgram(run)
    program.train(tf.constant(steps))
    return program.agent


def stored(agent):
    """All stored transitions of each seed, as NumPy arrays [S, size, ...]."""
    places = tf.tile(tf.range(agent.replay.size)[None], [SEEDS, 1])
    return Transition(*(np.asarray(part, np.float64) for part in agent.replay.gather(places)))


def forward(parameters, states):
    """Q of one seed: parameters as the network lists them, states [B, d] -> [B, A]; also the hidden layers."""
    kernels, biases = parameters[:3], parameters[3:]
    layers = [states.T]
    for layer, (kernel, bias) in enumerate(zip(kernels, biases, strict=True)):
        output = kernel @ layers[-1] + bias
        layers.append(np.maximum(output, 0) if layer < 2 else output)
    return layers[-1].T, layers


def td_errors(online, target, batch, discount):
    q, _ = forward(online, batch.state)
    bootstrap = forward(target, batch.next_state)[0].max(axis=1)
    chosen = q[np.arange(len(q)), batch.action.astype(int)]
    return batch.reward + discount * (1 - batch.terminated) * bootstrap - chosen


def gradients(online, target, batch, discount, weight):
    """Of the weighted mean squared TD error, by hand-written backpropagation."""
    _, layers = forward(online, batch.state)
    delta = td_errors(online, target, batch, discount)
    signal = np.zeros_like(layers[-1])
    signal[batch.action.astype(int), np.arange(len(delta))] = -2 * weight * delta / len(delta)
    kernels, biases = [], []
    for layer in (2, 1, 0):
        kernels.insert(0, signal @ layers[layer].T)
        biases.insert(0, signal.sum(axis=1, keepdims=True))
        signal = (online[layer].T @ signal) * (layers[layer] > 0)
    return kernels + biases


def parameters_of(network, seed):
    return [parameter.numpy()[seed].astype(np.float64) for parameter in network.parameters]


@pytest.mark.parametrize("name", ["er", "prioritized_er", "full_prioritized_er", "schaul_prioritized_er"])
def test_updates_equal_backpropagation_and_adam_by_hand(name):
    agent = agent_after(name)
    batches = []
    agent.draw = lambda step, k, draw=agent.draw: batches.append(draw(step, k)) or batches[-1]
    before = [
        (parameters_of(agent.learner.q, seed), parameters_of(agent.learner.q_target, seed)) for seed in range(SEEDS)
    ]
    for k in range(5):
        agent.update(tf.constant(7, tf.int64), tf.constant(k))

    for seed in range(SEEDS):
        online, target = before[seed]
        m, v = ([np.zeros_like(parameter) for parameter in online] for _ in range(2))
        for t, (places, weight) in enumerate(batches, start=1):
            weight = np.broadcast_to(weight, places.shape)[seed]
            batch = Transition(*(part[seed][places.numpy()[seed]] for part in stored(agent)))
            for i, gradient in enumerate(gradients(online, target, batch, agent.settings.discount, weight)):
                m[i] = 0.9 * m[i] + 0.1 * gradient
                v[i] = 0.999 * v[i] + 0.001 * gradient**2
                step = agent.settings.learning_rate * (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)
                online[i] = online[i] - step * m[i] / (v[i] ** 0.5 + 1e-8)
            if t % agent.settings.target_period == 0:
                target = list(online)
        for mine, expected in zip(parameters_of(agent.learner.q, seed), online, strict=True):
            np.testing.assert_allclose(mine, expected, atol=2e-4)
        for mine, expected in zip(parameters_of(agent.learner.q_target, seed), target, strict=True):
            np.testing.assert_allclose(mine, expected, atol=2e-4)


class _Gradients:
    """Stands in for Adam, which hides a gradient's scale, and keeps the gradients."""

    def descend(self, gradients):
        self.kept = [gradient.numpy() for gradient in gradients]


def test_the_loss_is_the_mean_squared_td_error_neither_halved_nor_summed():
    agent = agent_after("er")
    agent.learner.optimizer = _Gradients()
    places, weight = agent.draw(tf.constant(0, tf.int64), tf.constant(0))
    agent.update(tf.constant(0, tf.int64), tf.constant(0))
    for seed in range(SEEDS):
        batch = Transition(*(part[seed][places.numpy()[seed]] for part in stored(agent)))
        online, target = parameters_of(agent.learner.q, seed), parameters_of(agent.learner.q_target, seed)
        expected = gradients(online, target, batch, agent.settings.discount, np.ones(len(places[seed])))
        for mine, theirs in zip(agent.learner.optimizer.kept, expected, strict=True):
            np.testing.assert_allclose(mine[seed], theirs, rtol=1e-3, atol=1e-6)
    assert weight.numpy() == 1.0


def test_schauls_draws_are_stratified():
    agent = agent_after("schaul_prioritized_er", steps=60, batch_size=4)
    agent.priorities.assign_all(tf.ones([2, 60]))  # one share of the total is 15 leaves
    for k in range(20):
        places = agent.draw(tf.constant(0, tf.int64), tf.constant(k))[0].numpy()
        np.testing.assert_array_equal(places // 15, [[0, 1, 2, 3]] * 2)


def test_er_draws_every_stored_transition_equally_often_and_no_other():
    agent = agent_after("er", steps=40)
    places = np.concatenate([agent.draw(3, k)[0].numpy().ravel() for k in range(200)])
    counts = np.bincount(places, minlength=60)
    assert not counts[40:].any()
    assert abs(counts[:40] / counts.sum() - 1 / 40).max() < 0.006


def test_a_new_transition_enters_with_its_current_td_error():
    agent = agent_after("prioritized_er", steps=70)  # the ring of 60 has wrapped around
    everything = stored(agent)
    for seed in range(SEEDS):
        batch = Transition(*(part[seed] for part in everything))
        expected = np.abs(
            td_errors(
                parameters_of(agent.learner.q, seed),
                parameters_of(agent.learner.q_target, seed),
                batch,
                agent.settings.discount,
            )
        )  # nothing was learned yet, so every priority is still current
        np.testing.assert_allclose(agent.priorities.priorities[seed], expected, rtol=1e-4, atol=1e-6)


def test_prioritized_er_refreshes_the_mini_batch_and_leaves_all_other_priorities_outdated():
    agent = agent_after("prioritized_er", batch_size=8)
    before = agent.priorities.priorities.numpy()
    drawn, errors = [], []
    agent.after_update = lambda places, error, refresh=agent.after_update: (
        drawn.append(places.numpy()),
        errors.append(error.numpy()),
        refresh(places, error),
    )
    agent.update(tf.constant(0, tf.int64), tf.constant(0))
    after = agent.priorities.priorities.numpy()
    for seed in range(SEEDS):
        np.testing.assert_array_equal(after[seed, drawn[0][seed]], np.abs(errors[0][seed]))
        others = np.setdiff1d(np.arange(60), drawn[0][seed])
        np.testing.assert_array_equal(after[seed, others], before[seed, others])


def test_half_of_a_prioritized_mini_batch_follows_the_priorities_and_half_is_uniform():
    agent = agent_after("prioritized_er", steps=60)
    agent.priorities.assign_all(tf.one_hot([[11], [37]], 60)[:, 0])
    places = agent.draw(0, 0)[0].numpy()
    assert (places[0, :16] == 11).all() and (places[1, :16] == 37).all()
    assert len(set(places[0, 16:])) > 8


@pytest.mark.parametrize("steps", [50, 75])
def test_full_prioritized_er_always_knows_every_current_td_error(steps):
    agent = agent_after("full_prioritized_er", steps=steps)
    for k in range(4):  # one of them copies the target network
        agent.update(tf.constant(0, tf.int64), tf.constant(k))
        priorities = agent.current_priorities().numpy()
        everything = stored(agent)
        for seed in range(SEEDS):
            batch = Transition(*(part[seed] for part in everything))
            online, target = parameters_of(agent.learner.q, seed), parameters_of(agent.learner.q_target, seed)
            expected = np.abs(td_errors(online, target, batch, agent.settings.discount))
            np.testing.assert_allclose(priorities[seed, : len(expected)], expected, rtol=1e-4, atol=1e-6)
            assert not priorities[seed, len(expected) :].any()


def test_full_prioritized_er_is_measured_by_the_current_td_errors():
    agent = agent_after("full_prioritized_er", steps=50)
    agent.priorities.assign_all(tf.one_hot([7] * SEEDS, agent.replay.capacity))  # outdated
    drawn = agent.sample_states(tf.constant(50, tf.int64), 20_000).numpy()
    states, priorities = stored(agent).state, agent.current_priorities().numpy()
    for seed in range(SEEDS):
        p = priorities[seed, : states.shape[1]] / priorities[seed].sum()
        matches = (drawn[seed][:, None] == states[seed].astype(np.float32)).all(axis=-1)
        np.testing.assert_allclose(matches.mean(axis=0), p, atol=0.015)


def test_schauls_weights_undo_the_sampling_bias_and_new_transitions_are_drawn_first():
    agent = agent_after("schaul_prioritized_er", steps=30)
    np.testing.assert_array_equal(agent.priorities.priorities[:, :30], 1.0)  # p_1 = 1, and nothing larger seen
    agent.after_update(tf.constant([[4], [5]]), tf.constant([[32.0], [-1.0]]))
    np.testing.assert_allclose(agent.largest, [8.0, 1.0], rtol=1e-5)  # 32 ** 0.6 = 8
    agent.observe(
        Transition(
            tf.zeros([2, 1, 4]), tf.zeros([2, 1], tf.int32), *[tf.zeros([2, 1])], tf.zeros([2, 1, 4]), tf.zeros([2, 1])
        )
    )
    np.testing.assert_allclose(agent.priorities.priorities[:, 30], [8.0, 1.0], rtol=1e-5)

    agent.priorities.assign_all(tf.tile([[1.0, 7.0] + [0.0] * 58], [2, 1]))  # P = 1/8 and 7/8, N = 31
    drawn = tf.constant([[1.0, 7.0], [7.0, 7.0]])
    np.testing.assert_allclose(agent.importance_weights(drawn, step=agent.steps), [[1, 1 / 7], [1, 1]], rtol=1e-4)
    np.testing.assert_allclose(agent.importance_weights(drawn, step=0), [[1, 7**-0.4], [1, 1]], rtol=1e-4)


def test_actions_are_greedy_but_for_an_epsilon():
    agent = agent_after("er", steps=1)
    state = tf.constant(np.random.default_rng(0).normal(size=(SEEDS, 4)), tf.float32)
    greedy = [
        forward(parameters_of(agent.learner.q, seed), state.numpy()[seed][None])[0].argmax() for seed in range(SEEDS)
    ]
    explore = tf.constant([[0.1, 0.0], [0.1, 0.999]])
    act = [agent.learner.act(state[:, None], epsilon, explore[:, None])[:, 0] for epsilon in (0.1, 0.11)]
    np.testing.assert_array_equal(act[0], greedy)
    np.testing.assert_array_equal(act[1], [0, 1])
