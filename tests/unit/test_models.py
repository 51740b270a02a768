"""The models of search control: the true one, and the network that learns it."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import Space
from helpers import PlainSteps, gradient_of, observe, parameters_of, perceptron, random_transitions, run_of

from dyna_td.learning.models import LearnedModel
from dyna_td.learning.replay import Replay, Transition
from dyna_td.learning.streams import Streams
from dyna_td.programs.program import make_program
from dyna_td.settings import DynaSettings

SEEDS = 2
D, ACTIONS = 3, 2


class World(Space):
    """A large box; states with a large first coordinate are terminal."""

    state_dim, actions, noise_dim = D, ACTIONS, 0
    low, high = np.full(D, -4.0, np.float32), np.full(D, 4.0, np.float32)

    def is_terminal(self, state):
        return state[..., 0] > 1.0


def learned_model(**settings):
    return LearnedModel(DynaSettings(model="learned", **settings), Streams(tuple(range(SEEDS))), World())


def test_an_update_follows_the_slope_of_the_mean_squared_error_of_a_mini_batch():
    replay = Replay(SEEDS, 400, D)
    observe(SimpleNamespace(observe=replay.add), random_transitions(World, 60, SEEDS))
    model = learned_model(model_hidden=(8, 6), model_batch_size=32)
    drawn = []
    gather = replay.gather
    replay.gather = lambda indices: drawn.append((indices.numpy(), gather(indices))) or drawn[-1][1]
    model.optimizer = PlainSteps(model.network.parameters)
    model.update(tf.constant(5), replay)
    indices, batch = drawn[0]
    assert indices.shape == (SEEDS, 32) and indices.max() < 60
    assert len(set(indices[0])) > 15 and set(indices[0]) != set(indices[1])
    for seed in range(SEEDS):
        state, action, reward, next_state, _ = (np.asarray(part[seed], np.float64) for part in batch)
        inputs = np.concatenate([state, np.eye(ACTIONS)[action.astype(int)]], axis=1)
        wanted = np.concatenate([next_state - state, reward[:, None]], axis=1)

        def loss(parameters, inputs=inputs, wanted=wanted):
            return ((perceptron(parameters, inputs) - wanted) ** 2).mean()

        expected = gradient_of(loss, parameters_of(model.network, seed))
        for mine, theirs in zip(model.optimizer.kept, expected, strict=True):
            np.testing.assert_allclose(mine[seed], theirs, rtol=1e-3, atol=1e-6)


def test_predictions_stay_in_the_box_and_end_where_the_known_rule_says():
    model = learned_model()
    rng = np.random.default_rng(5)
    for kernel in model.network.kernels:
        kernel.assign(0.3 * tf.cast(rng.normal(size=kernel.shape), tf.float32))
    state = tf.constant(rng.uniform(-4, 4, size=(SEEDS, 200, D)), tf.float32)
    predicted = model.predict(state, tf.ones([SEEDS, 200], tf.int32), None)
    next_state, reward, terminated = (part.numpy() for part in predicted)
    assert (np.abs(next_state) <= 4.0).all() and (np.abs(next_state) == 4.0).mean() > 0.2
    assert np.abs(reward).max() > 4.0  # rewards are not clipped
    np.testing.assert_array_equal(terminated, (next_state[..., 0] > 1.0).astype(np.float32))
    assert 0.1 < terminated.mean() < 0.9


def test_an_agent_learns_a_model_and_uses_it_only_from_model_start_to_model_stop():
    numbers = {"model": "learned", "model_start": 14, "model_stop": 24, "model_batch_size": 8}
    numbers |= {"search_every": 3, "chain_steps": 10}
    agent = make_program(run_of("MountainCar-v0", "dyna_td", steps=100, hidden=(8,), batch_size=4, **numbers)).agent
    budgets, model_updates = [], []
    agent.search = lambda step, chain_steps: budgets.append(int(chain_steps))
    zero, state = tf.zeros([2, 1]), tf.zeros([2, 1, 2])
    transition = Transition(state, tf.cast(zero, tf.int32), zero, state + 1.0, zero)
    for step in range(30):
        agent.observe(transition)
        agent.learn(tf.constant(step, tf.int64), tf.constant(0 if step == 18 else 1))
        model_updates.append(int(agent.model.optimizer.updates))
    # Every third step, but never in a step that makes no updates.
    assert [step for step, budget in enumerate(budgets) if budget] == [15, 21]
    assert set(budgets) == {0, 10}
    assert model_updates == [0] * 7 + list(range(1, 17)) + [17] * 7  # from the 8th transition on, once a step
    simulated = agent.replay.gather(tf.zeros([2, 2], tf.int32))._replace(reward=tf.fill([2, 2], np.nan))
    agent.simulate = lambda step, k: simulated
    agent.queue.add(state, tf.ones([2], tf.int32))
    for step, is_simulated in ((13, False), (14, True), (23, True), (24, False)):
        batch, *_ = agent.mini_batch(tf.constant(step, tf.int64), tf.constant(0))
        assert np.isnan(batch.reward).any() == is_simulated
    optimizers = agent.learner.optimizer, agent.model.optimizer
    assert [float(optimizer.learning_rate) for optimizer in optimizers] == pytest.approx([1e-3, 1e-4])


@pytest.mark.parametrize(("clip_to_box", "highest"), [(False, 9.0), (True, 5.0)])
def test_predictions_leave_the_box_that_chains_keep_to_unless_they_may_not(clip_to_box, highest):
    small = {"hidden": (8, 8), "model_hidden": (8,)}  # Hopper's observations have no bounds
    model = make_program(run_of("Hopper-v4", "dyna_td", steps=100, clip_to_box=clip_to_box, **small)).agent.model
    for weights in model.network.kernels:
        weights.assign(tf.zeros(weights.shape))
    model.network.biases[-1].assign(tf.fill(model.network.biases[-1].shape, 9.0))
    next_state, *_ = model.predict(tf.zeros([2, 1, 11]), tf.zeros([2, 1, 3]), None)
    np.testing.assert_array_equal(next_state, np.full((2, 1, 11), highest))
