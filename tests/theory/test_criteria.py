"""Gradients of the criteria of search control, on frozen networks, against derivatives written out in float64."""

import functools
import itertools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from helpers import finite_differences, parameters_of, perceptron, run_of

from dyna_td.agents.dyna_frequency import frequency
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.learning.networks import ACTIVATIONS, StackedNetwork
from dyna_td.learning.q_learning import DQN
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import compiled, xla_function
from dyna_td.search.rules import gradient
from dyna_td.training.program import make_program
from envs.grid_world import GRID_WALLS, transition

ACTIONS = 3
SEEDS = 2
STATES = 20
NUMPY_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}


def random_parameters(rng, sizes):
    """Kernels, then biases, of one perceptron; its outputs vary by about 1 over states of order 1."""
    kernels = [rng.normal(size=(fan_out, fan_in)) / fan_in**0.5 for fan_in, fan_out in itertools.pairwise(sizes)]
    return [*kernels, *(rng.normal(size=(out, 1)) * 0.5 for out in sizes[1:])]


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


def numpy_value(parameters, activation):
    return lambda states: perceptron(parameters, states, NUMPY_ACTIVATIONS[activation]).max(axis=1)


def numpy_frequency(parameters):
    def h(states):
        parts = [slope_and_curvature(parameters, state) for state in states]
        return np.array([(slope**2).sum() + (curvature**2).sum() for slope, curvature in parts])

    return h


def smooth_states(rng, parameters, d, activation):
    """States [STATES, d] away from the seams where another action becomes greedy or a ReLU unit switches."""
    states = rng.normal(size=(20 * STATES, d))
    reference = finite_differences(numpy_value(parameters, activation), states, 1e-6)
    wide = finite_differences(numpy_value(parameters, activation), states, 1e-3)
    is_smooth = np.abs(wide - reference).max(axis=1) < 1e-4
    greedy = [
        perceptron(parameters, states + shift, NUMPY_ACTIVATIONS[activation]).argmax(axis=1)
        for shift in (-1e-3, 0.0, 1e-3)
    ]
    is_smooth &= (greedy[0] == greedy[1]) & (greedy[1] == greedy[2])
    assert is_smooth.sum() >= STATES
    return states[is_smooth][:STATES]


class Case:
    """V of frozen networks in float64, the parameters of each seed, and smooth states [S, N, d]."""

    def __init__(self, d, activation):
        rng = np.random.default_rng(d)
        sizes = (d, 8, 6, ACTIONS)
        self.parameters = [random_parameters(rng, sizes) for _ in range(SEEDS)]
        self.states = np.stack([smooth_states(rng, of_seed, d, activation) for of_seed in self.parameters])
        self.columns = tf.constant(self.states.transpose(0, 2, 1))
        network = StackedNetwork(Streams(tuple(range(SEEDS))), sizes, ACTIVATIONS[activation])
        stacked = [tf.constant(np.stack(layer)) for layer in zip(*self.parameters, strict=True)]
        network.kernels, network.biases = stacked[:3], stacked[3:]
        self.value = functools.partial(DQN.value, SimpleNamespace(q=network))

    def slopes(self, criterion):
        """grad h at the states: [S, N, d]."""
        return gradient(criterion, self.columns).numpy().transpose(0, 2, 1)


def assert_close(actual, expected, tolerance):
    """Each gradient [N, d] is off by less than `tolerance` of its length, or of 1% of the median length."""
    length = np.linalg.norm(expected, axis=-1)
    error = np.linalg.norm(actual - expected, axis=-1)
    worst = (error / np.maximum(length, 0.01 * np.median(length))).max()
    assert worst < tolerance, f"relative error {worst:.1e}"


class Criterion(DynaTD):
    """h of Dyna-TD alone, with a given V."""

    def __init__(self, v):
        self.learner = type("Learner", (), {"value": staticmethod(v)})


def test_a_vanishing_td_error_leaves_a_finite_gradient():
    case = Case(2, "tanh")
    y = case.value(case.columns)
    h = Criterion(case.value).h(case.columns, y)
    np.testing.assert_allclose(h, np.full(h.shape, np.log(1e-5)), rtol=1e-6)
    assert np.isfinite(case.slopes(lambda s: Criterion(case.value).h(s, y))).all()


@pytest.mark.parametrize("d", [2, 4])
def test_the_gradient_of_the_frequency_equals_finite_differences(d):
    case = Case(d, "tanh")
    slopes = case.slopes(lambda s: frequency(case.value, s))
    for seed in range(SEEDS):
        h = numpy_frequency(case.parameters[seed])
        np.testing.assert_allclose(frequency(case.value, case.columns)[seed], h(case.states[seed]), rtol=1e-10)
        assert_close(slopes[seed], finite_differences(h, case.states[seed], 1e-5), 1e-6)
    for state in case.states[0]:  # the Hessian written out above is the slope of the slope
        _, curvature = slope_and_curvature(case.parameters[0], state)
        for row, shift in zip(curvature, 1e-6 * np.eye(d), strict=True):
            ahead, behind = (slope_and_curvature(case.parameters[0], state + sign * shift)[0] for sign in (1, -1))
            np.testing.assert_allclose((ahead - behind) / 2e-6, row, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("d", [2, 4])
def test_relu_leaves_the_frequency_no_gradient_and_tanh_does(d):  # claim 34
    relu, tanh = Case(d, "relu"), Case(d, "tanh")
    np.testing.assert_array_equal(relu.slopes(lambda s: frequency(relu.value, s)), np.zeros(relu.states.shape))
    assert np.linalg.norm(relu.slopes(relu.value), axis=2).min() > 1e-3
    assert np.linalg.norm(tanh.slopes(lambda s: frequency(tanh.value, s)), axis=2).min() > 1e-4


# Agents: one state a seed, so many seeds.

STACK = 40
STEP = tf.constant(3, tf.int64)
DISCOUNT = 0.99


class Frozen:
    """A Dyna agent with random networks of order 1 and the gradient of its criterion, compiled.

    `online` and `target` list the parameters of Q and of the target network for each seed.
    """

    def __init__(self, environment, name, rule="released"):
        run = run_of(environment, name, range(STACK), 100, search_control=rule, hidden=(8, 6))
        program = make_program(run)
        self.agent = program.agent
        self.activation = NUMPY_ACTIVATIONS[run.settings.activation]
        rng = np.random.default_rng(7)
        box = program.twin.high - program.twin.low
        learner = self.agent.learner
        self.online, self.target = (self._set(rng, network, box) for network in (learner.q, learner.q_target))
        self._gradient = xla_function(self.agent.criterion_gradient)

    def _set(self, rng, network, box):
        """Random weights that make Q vary over the box, whatever its units."""
        parameters = [random_parameters(rng, (len(box), 8, 6, self.agent.learner.actions)) for _ in range(STACK)]
        for of_seed in parameters:
            of_seed[0] *= 4.0 / box
        for variable, layer in zip(network.parameters, zip(*parameters, strict=True), strict=True):
            variable.assign(np.stack(layer).astype(np.float32))
        return [parameters_of(network, seed) for seed in range(STACK)]

    def gradient(self, states, i=0):
        return self._gradient(tf.constant(states, tf.float32), STEP, tf.constant(i)).numpy()

    def model_noise(self, i):
        """The noise of the chain's query of the model at step i: [S]."""
        return compiled(lambda: self.agent.noise(Purpose.CHAIN_MODEL, 1, STEP, i)).numpy()[:, 0, 0]

    def greedy(self, seed, state):
        """argmax_a Q at one state [d]."""
        return int(perceptron(self.online[seed], state[None], self.activation).argmax())

    def v(self, seed, state):
        """max_a Q at one state [d]."""
        return perceptron(self.online[seed], state[None], self.activation).max()

    def bootstrap(self, seed, state):
        """gamma max_a Q_target at one state [d]."""
        return DISCOUNT * perceptron(self.target[seed], state[None], self.activation).max()


def smooth_gradient(h, state, width=(1.0, 1.0)):
    """The gradient of h at `state`, or None where a pole or a seam is near; `width` is each coordinate's unit."""
    width = np.asarray(width)

    def scaled(s):
        return np.array([h(row * width) for row in s])

    place = state[None].astype(np.float64) / width
    near, far = (finite_differences(scaled, place, step)[0] for step in (1e-6, 1e-4))
    return near / width if np.linalg.norm(near - far) < 1e-3 * np.linalg.norm(near) else None


def assert_compared(actual, expected, width=(1.0, 1.0)):
    """The gradients [d] of one state agree, up to float32, with each coordinate measured in its own unit."""
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


def mountain_car(state, action):
    """The next state of MountainCar-v0 (position, velocity) away from its borders; every step costs 1."""
    velocity = state[1] + 0.001 * (action - 1) - 0.0025 * np.cos(3 * state[0])
    return np.array([state[0] + velocity, velocity])


@pytest.mark.parametrize("rule", ["langevin", "released"])
def test_only_langevin_follows_the_target_as_it_moves_with_the_state(rule):
    case = Frozen("MountainCar-v0", "dyna_td", rule)
    width = np.array([1.8, 0.14])
    states = np.random.default_rng(1).uniform([-1.1, -0.06], [0.4, 0.06], (STACK, 2)).astype(np.float32)
    actual = case.gradient(states)
    cosines = []
    for seed, state in enumerate(states):
        action = case.greedy(seed, state)

        def y(s, seed=seed, action=action):
            return -1.0 + case.bootstrap(seed, mountain_car(s, action))

        def h(target, s, seed=seed):
            return np.log(abs(target(s) - case.v(seed, s)) + 1e-5)

        here = y(state.astype(np.float64))
        criteria = [functools.partial(h, y), functools.partial(h, lambda s, here=here: here)]
        gradients = [smooth_gradient(h, state, width) for h in criteria]
        if any(expected is None for expected in gradients):
            continue
        assert_compared(actual[seed], gradients[0 if rule == "langevin" else 1], width)
        directions = [width * g / np.linalg.norm(width * g) for g in gradients]
        cosines.append(directions[0] @ directions[1])
    assert len(cosines) > 0.7 * STACK
    assert np.mean(np.abs(cosines) < 0.99) > 0.3  # the two gradients are not the same


def test_dyna_frequency_climbs_the_value_in_half_of_its_fills_and_the_frequency_in_the_others():
    case = Frozen("GridWorld", "dyna_frequency")
    states = np.random.default_rng(3).random((STACK, 2)).astype(np.float32)
    each = [(of_seed, state.astype(float)) for of_seed, state in zip(case.online, states, strict=True)]
    by_value = np.stack([slope_and_curvature(of_seed, state)[0] for of_seed, state in each])
    by_frequency = np.concatenate(
        [finite_differences(numpy_frequency(of_seed), state[None], 1e-5) for of_seed, state in each]
    )
    assert_close(case.gradient(states), by_value, 1e-3)  # nothing to start from in the queue yet
    case.agent.queue.add(tf.zeros([STACK, 1, 2]), tf.ones([STACK], tf.int32))
    filled = case.gradient(states)
    climbs_value = np.linalg.norm(filled - by_value, axis=1) < 1e-3 * np.linalg.norm(by_value, axis=1)
    assert_close(filled[~climbs_value], by_frequency[~climbs_value], 1e-2)
    coins = np.concatenate([case.agent.climbs_frequency(tf.constant(step, tf.int64)).numpy() for step in range(50)])
    assert abs(coins.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(case.agent.climbs_frequency(STEP), ~climbs_value)
