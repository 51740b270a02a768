"""The model that completes states of search control: the truth, and the network that learns it."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import Gradients, gradient_of, parameters_of, perceptron, run_of

from dyna_td.learning.models import LearnedModel
from dyna_td.learning.replay import Replay, Transition
from dyna_td.learning.streams import Streams
from dyna_td.settings import DynaSettings
from dyna_td.training.program import make_program
from envs.spaces import Space

SEEDS = 2
D, ACTIONS = 3, 2
RNG = np.random.default_rng


class LinearWorld(Space):
    """s' = A s + B[a], r = c . s on a large box; states with a large first coordinate are terminal."""

    state_dim, actions, noise_dim = D, ACTIONS, 0
    low, high = np.full(D, -4.0, np.float32), np.full(D, 4.0, np.float32)

    def __init__(self):
        rng = RNG(0)
        self.a, self.b, self.c = rng.normal(size=(D, D)) * 0.4, rng.normal(size=(ACTIONS, D)) * 0.4, rng.normal(size=D)

    def transitions(self, rng, count):
        state = rng.uniform(-1, 1, size=(SEEDS, count, D))
        action = rng.integers(ACTIONS, size=(SEEDS, count))
        next_state = state @ self.a.T + self.b[action]
        parts = (state, action, state @ self.c, next_state, np.zeros((SEEDS, count)))
        dtypes = (tf.float32, tf.int32, tf.float32, tf.float32, tf.float32)
        return Transition(*(tf.constant(part, dtype) for part, dtype in zip(parts, dtypes, strict=True)))

    def is_terminal(self, state):
        return state[..., 0] > 1.0


def filled_replay(transitions, count):
    """A buffer of 400 places that holds the first `count` transitions."""
    replay = Replay(SEEDS, 400, D)
    for t in range(count):
        replay.add(Transition(*(part[:, t][:, None] for part in transitions)))
    return replay


def learned_model(**settings):
    return LearnedModel(DynaSettings(model="learned", **settings), Streams(tuple(range(SEEDS))), LinearWorld())


def values_of(model):
    return [parameter.numpy() for parameter in model.network.parameters]


def test_a_learned_model_learns_from_its_first_full_mini_batch_on():
    transitions = LinearWorld().transitions(RNG(2), 16)
    model = learned_model(model_batch_size=16)
    before = values_of(model)
    model.update(tf.constant(14), filled_replay(transitions, 15))
    for mine, unchanged in zip(values_of(model), before, strict=True):
        np.testing.assert_array_equal(mine, unchanged)
    assert model.optimizer.updates == 0
    model.update(tf.constant(15), filled_replay(transitions, 16))
    assert model.optimizer.updates == 1
    for mine, old in zip(model.network.kernels, before, strict=False):
        assert (mine.numpy() != old).mean() > 0.5


def loss_by_hand(parameters, batch):
    """The mean of the squared errors of (s' - s, r) over a batch and its d + 1 numbers, for one seed."""
    state, action, reward, next_state, _ = (np.asarray(part, np.float64) for part in batch)
    outputs = perceptron(parameters, np.concatenate([state, np.eye(ACTIONS)[action.astype(int)]], axis=1))
    return ((outputs - np.concatenate([next_state - state, reward[:, None]], axis=1)) ** 2).mean()


def test_an_update_follows_the_slope_of_the_mean_squared_error_of_a_mini_batch():
    replay = filled_replay(LinearWorld().transitions(RNG(3), 60), 60)
    model = learned_model(model_hidden=(8, 6), model_batch_size=32)
    drawn = []
    gather = replay.gather
    replay.gather = lambda places: drawn.append((places.numpy(), gather(places))) or drawn[-1][1]
    model.optimizer = Gradients()
    model.update(tf.constant(5), replay)
    places, batch = drawn[0]
    assert places.shape == (SEEDS, 32) and places.max() < 60
    assert len(set(places[0])) > 15 and set(places[0]) != set(places[1])
    for seed in range(SEEDS):
        parameters, of_seed = parameters_of(model.network, seed), Transition(*(part[seed] for part in batch))
        expected = gradient_of(lambda moved, batch=of_seed: loss_by_hand(moved, batch), parameters)
        for mine, theirs in zip(model.optimizer.kept, expected, strict=True):
            np.testing.assert_allclose(mine[seed], theirs, rtol=1e-3, atol=1e-6)


def test_predictions_stay_in_the_box_and_end_where_the_known_rule_says():
    model = learned_model()
    rng = RNG(5)
    for kernel in model.network.kernels:
        kernel.assign(0.3 * tf.cast(rng.normal(size=kernel.shape), tf.float32))
    state = tf.constant(rng.uniform(-4, 4, size=(SEEDS, 200, D)), tf.float32)
    next_state, reward, terminated = (
        part.numpy() for part in model.predict(state, tf.ones([SEEDS, 200], tf.int32), None)
    )
    assert (np.abs(next_state) <= 4.0).all() and (np.abs(next_state) == 4.0).mean() > 0.2
    assert np.abs(reward).max() > 4.0  # rewards know no box
    np.testing.assert_array_equal(terminated, (next_state[..., 0] > 1.0).astype(np.float32))
    assert 0.1 < terminated.mean() < 0.9


def test_an_agent_searches_with_a_learned_model_only_once_it_may_be_used():
    numbers = {"model": "learned", "model_start": 14, "model_batch_size": 8, "search_every": 3, "chain_steps": 10}
    agent = make_program(run_of("MountainCar-v0", "dyna_td", steps=100, hidden=(8,), batch_size=4, **numbers)).agent
    budgets, model_updates = [], []
    agent.search = lambda step, chain_steps: budgets.append(int(chain_steps))
    transition = Transition(
        tf.zeros([2, 1, 2]), tf.zeros([2, 1], tf.int32), tf.zeros([2, 1]), tf.ones([2, 1, 2]), tf.zeros([2, 1])
    )
    for step in range(20):
        agent.observe(transition)
        agent.learn(tf.constant(step, tf.int64), tf.constant(0 if step == 18 else 1))
        model_updates.append(int(agent.model.optimizer.updates))
    # From model_start on, every third step, and never in a step that makes no updates.
    assert [step for step, budget in enumerate(budgets) if budget] == [15]
    assert set(budgets) == {0, 10}
    assert model_updates == [0] * 7 + list(range(1, 14))  # from the 8th transition on, once a step
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
