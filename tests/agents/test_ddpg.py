"""DDPG's acting and learning against the textbook formulas in float64."""

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import Space
from helpers import PlainSteps, gradient_of, parameters_of, perceptron, randomise

from dyna_td.learning.ddpg import DDPG
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Streams
from dyna_td.learning.xla import xla_function
from dyna_td.settings import DDPGSettings

D, A, B, SEEDS = 3, 2, 5, 2
SETTINGS = DDPGSettings(hidden=(7, 6), target_rate=0.1, discount=0.9)


class Plain(Space):
    state_dim, actions, action_dim = D, None, A


def learner_of():
    """A DDPG learner whose output layers are as large as the others, so that its actions differ visibly."""
    learner = DDPG(SETTINGS, Streams(tuple(range(SEEDS))), Plain())
    for index, network in enumerate((learner.critic, learner.actor, learner.critic_target, learner.actor_target)):
        randomise(network, range(SEEDS), index)
    return learner


def pi(parameters, states):
    """The policy of one seed: states [B, D] -> [B, A]."""
    return np.tanh(perceptron(parameters, states))


def q(parameters, states, actions):
    """The critic of one seed, whose action joins the first hidden layer's outputs: [B]."""
    kernels, biases = parameters[:3], parameters[3:]
    layer = np.maximum(kernels[0] @ states.T + biases[0], 0)
    layer = np.maximum(kernels[1] @ np.concatenate([layer, actions.T]) + biases[1], 0)
    return (kernels[2] @ layer + biases[2])[0]


def test_an_update_is_the_critics_then_the_actors_and_then_the_targets_follow():
    learner, rng, weight = learner_of(), np.random.default_rng(1), np.linspace(0.2, 2.0, B)
    state, next_state = rng.normal(size=(2, SEEDS, B, D))
    action, reward = rng.uniform(-1, 1, (SEEDS, B, A)), rng.normal(size=(SEEDS, B))
    parts = (state, action, reward, next_state, [[0, 1, 0, 0, 1]] * SEEDS)
    batch = Transition(*(tf.constant(part, tf.float32) for part in parts))
    learner.optimizer = PlainSteps(learner.critic.parameters, rate=0.1)
    learner.actor_optimizer = PlainSteps(learner.actor.parameters, rate=0.1)
    names = ("critic", "actor", "critic_target", "actor_target")
    before = [{name: parameters_of(getattr(learner, name), seed) for name in names} for seed in range(SEEDS)]
    error = learner.update(batch, tf.constant(np.broadcast_to(weight, (SEEDS, B)), tf.float32)).numpy()
    for seed in range(SEEDS):
        old, own = before[seed], Transition(*(part.numpy()[seed].astype(np.float64) for part in batch))
        new = {name: parameters_of(getattr(learner, name), seed) for name in names}
        following = q(old["critic_target"], own.next_state, pi(old["actor_target"], own.next_state))
        y = own.reward + 0.9 * (1 - own.terminated) * following
        np.testing.assert_allclose(error[seed], y - q(old["critic"], own.state, own.action), rtol=1e-4, atol=1e-5)

        def critic_loss(parameters, own=own, y=y):
            return np.mean(weight * (y - q(parameters, own.state, own.action)) ** 2)

        def actor_loss(parameters, own=own, new=new):  # by the updated critic
            return -np.mean(q(new["critic"], own.state, pi(parameters, own.state)))

        kept = {"critic": learner.optimizer.kept, "actor": learner.actor_optimizer.kept}
        for name, loss in (("critic", critic_loss), ("actor", actor_loss)):
            for mine, theirs in zip(kept[name], gradient_of(loss, old[name]), strict=True):
                np.testing.assert_allclose(mine[seed], theirs, rtol=2e-3, atol=2e-5)
            for target, previous, online in zip(new[f"{name}_target"], old[f"{name}_target"], new[name], strict=True):
                np.testing.assert_allclose(target, 0.1 * online + 0.9 * previous, rtol=1e-5, atol=1e-6)
        values = learner.q_value(batch.state, batch.action)[seed]
        np.testing.assert_allclose(values, q(new["critic"], own.state, own.action), rtol=1e-4, atol=1e-5)


def test_the_gradient_of_the_value_goes_through_the_state_and_through_the_policy():
    learner = learner_of()
    states = np.random.default_rng(2).normal(size=(SEEDS, B, D))
    columns = tf.constant(states.transpose(0, 2, 1), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(columns)
        value = learner.value(columns)
    slopes = tape.gradient(value, columns).numpy().transpose(0, 2, 1)
    for seed in range(SEEDS):
        critic, actor = parameters_of(learner.critic, seed), parameters_of(learner.actor, seed)

        def h(parameters, critic=critic, actor=actor):
            return q(critic, parameters[0], pi(actor, parameters[0])).sum()

        np.testing.assert_allclose(value[seed], q(critic, states[seed], pi(actor, states[seed])), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(slopes[seed], gradient_of(h, [states[seed]])[0], rtol=2e-3, atol=1e-4)


def test_behaviour_is_the_policy_with_noise_that_decays_and_is_driven():
    learner = learner_of()
    state = tf.constant(np.random.default_rng(3).normal(size=(SEEDS, D)), tf.float32)
    greedy, explore = learner.greedy(state[:, None])[:, 0].numpy(), xla_function(learner.explore)
    noises, previous = [], np.zeros((SEEDS, A))
    for step in range(1000):
        action = explore(state, tf.constant(step, tf.int64), tf.constant(False)).numpy()
        noise = learner.noise.numpy()
        np.testing.assert_allclose(action, np.clip(greedy + noise, -1, 1), atol=1e-6)
        noises.append(noise - 0.85 * previous)
        previous = noise
    innovations = np.concatenate(noises).ravel()
    assert innovations.std() == pytest.approx(0.2, rel=0.05) and abs(innovations.mean()) < 0.015
