"""Gradients of the criteria of search control, on frozen networks, against derivatives written out in float64."""

import functools

import numpy as np
import tensorflow as tf
from dyna_td.envs.grid_world import GRID_WALLS, transition
from helpers import gradient_of, parameters_of, perceptron, randomise, run_of

from dyna_td.learning.streams import Purpose
from dyna_td.learning.xla import compiled, xla_function
from dyna_td.programs.program import make_program
from dyna_td.search.rules import gradient

STACK = 40  # seeds, with one state each
STEP = tf.constant(3, tf.int64)
DISCOUNT = 0.99
NUMPY_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}


def slope_and_curvature(parameters, state):
    """The gradient [d] and the Hessian [d, d] of max_a Q at one state, of a tanh perceptron with two hidden layers."""
    w1, w2, w3, b1, b2, _ = parameters
    t1 = np.tanh(w1 @ state + b1[:, 0])
    t2 = np.tanh(w2 @ t1 + b2[:, 0])
    output = w3[perceptron(parameters, state[None], np.tanh)[0].argmax()]
    into_second = w2 @ ((1 - t1**2)[:, None] * w1)  # d z2 / d s
    slope = (output * (1 - t2**2)) @ into_second
    bend_of_second = -2 * output * t2 * (1 - t2**2)
    bend_of_first = -2 * ((output * (1 - t2**2)) @ w2) * t1 * (1 - t1**2)
    return slope, into_second.T @ (bend_of_second[:, None] * into_second) + w1.T @ (bend_of_first[:, None] * w1)


def frequency(parameters, state):
    slope, curvature = slope_and_curvature(parameters, state)
    return (slope**2).sum() + (curvature**2).sum()


class Frozen:
    """A Dyna agent with random networks of order 1, and its criterion's gradient, compiled."""

    def __init__(self, environment, name, **settings):
        run = run_of(environment, name, range(STACK), 100, hidden=(8, 6), **settings)
        program = make_program(run)
        self.agent = program.agent
        self.activation = NUMPY_ACTIVATIONS[run.settings.activation]
        networks = self.agent.learner.q, self.agent.learner.q_target
        for index, network in enumerate(networks):
            randomise(network, range(STACK), index)
            network.kernels[0].assign(network.kernels[0] * 4.0 / (program.twin.high - program.twin.low))
        self.online, self.target = ([parameters_of(network, seed) for seed in range(STACK)] for network in networks)
        self._gradient = xla_function(self.agent.criterion_gradient)

    def gradient(self, states, i=0):
        return self._gradient(tf.constant(states, tf.float32), STEP, tf.constant(i)).numpy()

    def model_noise(self, i):
        """The noise of the chain's query of the model at step i: [S]."""
        return compiled(lambda: self.agent.noise(Purpose.CHAIN_MODEL, 1, STEP, i)).numpy()[:, 0, 0]

    def greedy(self, seed, state):
        return int(perceptron(self.online[seed], state[None], self.activation).argmax())

    def v(self, seed, state):
        return perceptron(self.online[seed], state[None], self.activation).max()

    def bootstrap(self, seed, state):
        return DISCOUNT * perceptron(self.target[seed], state[None], self.activation).max()


def smooth_gradient(h, state, width=(1.0, 1.0)):
    """The gradient of h at `state`, or None where a pole or a seam is near; `width` is each coordinate's unit."""
    width = np.asarray(width)
    place = [state.astype(np.float64) / width]
    near, far = (gradient_of(lambda parts: h(parts[0] * width), place, step)[0] for step in (1e-6, 1e-4))
    return near / width if np.linalg.norm(near - far) < 1e-3 * np.linalg.norm(near) else None


def assert_compared(actual, expected, width=(1.0, 1.0)):
    """Gradients [..., d] agree, up to float32, with each coordinate measured in its own unit."""
    expected = np.asarray(width) * expected
    np.testing.assert_allclose(np.asarray(width) * actual, expected, rtol=2e-3, atol=2e-4 * np.linalg.norm(expected))


def test_dyna_td_holds_the_models_target_constant():
    case = Frozen("GridWorld", "dyna_td")
    rng = np.random.default_rng(0)
    compared = terminal = 0
    for i in range(4):
        states = rng.uniform(0.91 if i == 0 else 0.0, 1.0, (STACK, 2)).astype(np.float32)
        actual, noise = case.gradient(states, i), case.model_noise(i)
        for seed, state in enumerate(states):
            next_state, reward, ends = transition(state, case.greedy(seed, state), noise[seed], GRID_WALLS)
            y = reward + (0.0 if ends else case.bootstrap(seed, next_state))
            expected = smooth_gradient(lambda s, seed=seed, y=y: np.log(abs(y - case.v(seed, s)) + 1e-5), state)
            if expected is not None:
                assert_compared(actual[seed], expected)
                compared, terminal = compared + 1, terminal + ends
    assert compared > 0.7 * 4 * STACK and terminal > 5


def test_langevin_follows_the_target_as_it_moves_with_the_state():
    case = Frozen("MountainCar-v0", "dyna_td", search_control="langevin")
    width = np.array([1.8, 0.14])
    states = np.random.default_rng(1).uniform([-1.1, -0.06], [0.4, 0.06], (STACK, 2)).astype(np.float32)
    cosines = []
    for seed, (state, actual) in enumerate(zip(states, case.gradient(states), strict=True)):
        action = case.greedy(seed, state)

        def y(s, seed=seed, action=action):  # by the dynamics of MountainCar-v0, away from its borders
            velocity = s[1] + 0.001 * (action - 1) - 0.0025 * np.cos(3 * s[0])
            return -1.0 + case.bootstrap(seed, np.array([s[0] + velocity, velocity]))

        def h(target, s, seed=seed):
            return np.log(abs(target(s) - case.v(seed, s)) + 1e-5)

        here = y(state.astype(np.float64))
        moving, constant = (smooth_gradient(functools.partial(h, of), state, width) for of in (y, lambda s, y=here: y))
        if moving is None or constant is None:
            continue
        assert_compared(actual, moving, width)
        cosines.append((width * moving) @ (width * constant) / np.linalg.norm(width * moving))
        cosines[-1] /= np.linalg.norm(width * constant)
    assert len(cosines) > 0.7 * STACK
    assert np.mean(np.abs(cosines) < 0.99) > 0.3  # the other rules' gradient, with a constant target, differs


def test_a_vanishing_td_error_leaves_a_finite_gradient():
    agent = Frozen("GridWorld", "dyna_td").agent
    columns = tf.constant(np.random.default_rng(5).random((STACK, 2, 7)), tf.float32)
    y = agent.learner.value(columns)
    h = agent.h(columns, y)
    np.testing.assert_allclose(h, np.full(h.shape, np.log(1e-5)), rtol=1e-6)
    assert np.isfinite(gradient(lambda s: agent.h(s, y), columns)).all()


def test_dyna_value_climbs_the_value():
    case = Frozen("GridWorld", "dyna_value")
    states = np.random.default_rng(2).random((STACK, 2)).astype(np.float32)
    expected = [smooth_gradient(functools.partial(case.v, seed), state) for seed, state in enumerate(states)]
    for actual, by_hand in zip(case.gradient(states), expected, strict=True):
        if by_hand is not None:
            assert_compared(actual, by_hand)
    assert sum(by_hand is not None for by_hand in expected) > 0.7 * STACK


def test_dyna_frequency_climbs_the_value_in_half_of_its_fills_and_the_frequency_in_the_others():
    case = Frozen("GridWorld", "dyna_frequency")
    states = np.random.default_rng(3).random((STACK, 2)).astype(np.float32)
    each = [(of_seed, state.astype(float)) for of_seed, state in zip(case.online, states, strict=True)]
    by_value = np.stack([slope_and_curvature(of_seed, state)[0] for of_seed, state in each])
    heights = [(lambda parts, of_seed=of_seed: frequency(of_seed, *parts), [state]) for of_seed, state in each]
    by_frequency = np.stack([gradient_of(height, place, 1e-5)[0] for height, place in heights])
    assert_compared(case.gradient(states), by_value)  # the queue is still empty
    case.agent.queue.add(tf.zeros([STACK, 1, 2]), tf.ones([STACK], tf.int32))
    filled = case.gradient(states)
    climbs_value = np.linalg.norm(filled - by_value, axis=1) < 1e-3 * np.linalg.norm(by_value, axis=1)
    assert_compared(filled[~climbs_value], by_frequency[~climbs_value])
    coins = np.concatenate([case.agent.climbs_frequency(tf.constant(step, tf.int64)).numpy() for step in range(50)])
    assert abs(coins.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(case.agent.climbs_frequency(STEP), ~climbs_value)


def test_relu_leaves_the_frequency_no_gradient_and_the_value_one():  # claim 34
    case = Frozen("GridWorld", "dyna_frequency", activation="relu")
    states = np.random.default_rng(3).random((STACK, 2))
    assert np.mean(np.linalg.norm(case.gradient(states), axis=1) > 1e-3) > 0.9  # of V: the queue is empty
    case.agent.queue.add(tf.zeros([STACK, 1, 2]), tf.ones([STACK], tf.int32))
    climbs = case.agent.climbs_frequency(STEP).numpy()
    assert climbs.any() and not case.gradient(states)[climbs].any()
