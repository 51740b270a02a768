"""Gradients of the criteria of search control, on frozen networks, against derivatives written out in float64."""

import functools
import itertools
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.search.criteria import frequency, gradient, log_td_error, value

from dyna_td.learning.networks import ACTIVATIONS, StackedNetwork
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.registry import settings_type
from dyna_td.settings import Run
from dyna_td.training.twin_program import ControlProgram
from envs.grid_world import GRID_WALLS, transition

ACTIONS = 3
SEEDS = 2
STATES = 20
NUMPY_ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}


def random_parameters(rng, sizes):
    """Kernels and biases of one perceptron, whose outputs vary by about 1 over states of order 1."""
    kernels = [rng.normal(size=(fan_out, fan_in)) / fan_in**0.5 for fan_in, fan_out in itertools.pairwise(sizes)]
    return kernels, [rng.normal(size=(out, 1)) * 0.5 for out in sizes[1:]]


def stacked_network(parameters, sizes, activation):
    """The network under test with these parameters of each seed, in float64."""
    network = StackedNetwork(Streams(tuple(range(len(parameters)))), sizes, ACTIVATIONS[activation])
    kernels, biases = zip(*parameters, strict=True)
    network.kernels = [tf.constant(np.stack(layer), tf.float64) for layer in zip(*kernels, strict=True)]
    network.biases = [tf.constant(np.stack(layer), tf.float64) for layer in zip(*biases, strict=True)]
    return network


def action_values(parameters, states, activation):
    """Q of states [N, d] by one perceptron: [N, A]."""
    (*kernels, last_kernel), (*biases, last_bias) = parameters
    layer = states.T
    for kernel, bias in zip(kernels, biases, strict=True):
        layer = NUMPY_ACTIVATIONS[activation](kernel @ layer + bias)
    return (last_kernel @ layer + last_bias).T


def slope_and_curvature(parameters, state):
    """The gradient [d] and the Hessian [d, d] of max_a Q at one state, of a tanh perceptron with two hidden layers."""
    (w1, w2, w3), (b1, b2, _) = parameters
    t1 = np.tanh(w1 @ state + b1[:, 0])
    t2 = np.tanh(w2 @ t1 + b2[:, 0])
    output = w3[action_values(parameters, state[None], "tanh")[0].argmax()]
    into_second = w2 @ ((1 - t1**2)[:, None] * w1)  # d z2 / d s
    slope = (output * (1 - t2**2)) @ into_second
    bend_of_second = -2 * output * t2 * (1 - t2**2)
    bend_of_first = -2 * ((output * (1 - t2**2)) @ w2) * t1 * (1 - t1**2)
    return slope, into_second.T @ (bend_of_second[:, None] * into_second) + w1.T @ (bend_of_first[:, None] * w1)


def finite_differences(h, states, step):
    """Central differences of h, which maps states [N, d] to [N]: [N, d]."""
    shifts = step * np.eye(states.shape[1])
    return np.stack([(h(states + shift) - h(states - shift)) / (2 * step) for shift in shifts], axis=1)


def numpy_value(parameters, activation):
    return lambda states: action_values(parameters, states, activation).max(axis=1)


def v_of(network):
    """V(s) of a network that gives Q(s, .)."""
    return lambda s: value(network, s)


def numpy_log_td_error(parameters, activation, y):
    return lambda states: np.log(np.abs(y - numpy_value(parameters, activation)(states)) + 1e-5)


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
    greedy = [action_values(parameters, states + shift, activation).argmax(axis=1) for shift in (-1e-3, 0.0, 1e-3)]
    is_smooth &= (greedy[0] == greedy[1]) & (greedy[1] == greedy[2])
    assert is_smooth.sum() >= STATES
    return states[is_smooth][:STATES]


def case(d, activation):
    """A frozen network, its seeds' parameters and states [S, N, d] of each seed."""
    rng = np.random.default_rng(d)
    sizes = (d, 8, 6, ACTIONS)
    parameters = [random_parameters(rng, sizes) for _ in range(SEEDS)]
    states = np.stack([smooth_states(rng, of_seed, d, activation) for of_seed in parameters])
    return stacked_network(parameters, sizes, activation), parameters, states


def columns(states):
    return tf.constant(states.transpose(0, 2, 1))


def assert_close(actual, expected, tolerance):
    """Each gradient [N, d] is off by less than `tolerance` of its length, or of 1% of the median length."""
    length = np.linalg.norm(expected, axis=-1)
    error = np.linalg.norm(actual - expected, axis=-1)
    worst = (error / np.maximum(length, 0.01 * np.median(length))).max()
    assert worst < tolerance, f"relative error {worst:.1e}"


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("d", [2, 4])
def test_the_gradient_of_the_value_equals_finite_differences(d, activation):
    network, parameters, states = case(d, activation)
    slopes = gradient(lambda s: value(network, s), columns(states)).numpy().transpose(0, 2, 1)
    for seed in range(SEEDS):
        h = numpy_value(parameters[seed], activation)
        np.testing.assert_allclose(value(network, columns(states))[seed], h(states[seed]), rtol=1e-12)
        assert_close(slopes[seed], finite_differences(h, states[seed], 1e-6), 1e-6)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("d", [2, 4])
def test_the_gradient_of_the_log_td_error_equals_finite_differences_at_constant_targets(d, activation):
    network, parameters, states = case(d, activation)
    rng = np.random.default_rng(d + 10)
    gap = rng.uniform(0.1, 2.0, size=(SEEDS, STATES)) * rng.choice([-1, 1], size=(SEEDS, STATES))  # both signs of delta
    y = value(network, columns(states)).numpy() + gap
    slopes = (
        gradient(lambda s: log_td_error(v_of(network), s, tf.constant(y)), columns(states)).numpy().transpose(0, 2, 1)
    )
    for seed in range(SEEDS):
        h = numpy_log_td_error(parameters[seed], activation, y[seed])
        assert_close(slopes[seed], finite_differences(h, states[seed], 1e-6), 1e-6)


def test_a_vanishing_td_error_leaves_a_finite_gradient():
    network, _, states = case(2, "tanh")
    y = value(network, columns(states))
    h = log_td_error(v_of(network), columns(states), y)
    np.testing.assert_allclose(h, np.full(h.shape, np.log(1e-5)), rtol=1e-6)
    assert np.isfinite(gradient(lambda s: log_td_error(v_of(network), s, y), columns(states))).all()


@pytest.mark.parametrize("d", [2, 4])
def test_the_gradient_of_the_frequency_equals_finite_differences(d):
    network, parameters, states = case(d, "tanh")
    slopes = gradient(lambda s: frequency(v_of(network), s), columns(states)).numpy().transpose(0, 2, 1)
    for seed in range(SEEDS):
        h = numpy_frequency(parameters[seed])
        np.testing.assert_allclose(frequency(v_of(network), columns(states))[seed], h(states[seed]), rtol=1e-10)
        assert_close(slopes[seed], finite_differences(h, states[seed], 1e-5), 1e-6)


@pytest.mark.parametrize("d", [2, 4])
def test_the_hessian_written_out_here_is_the_slope_of_the_slope(d):
    _, parameters, states = case(d, "tanh")
    for state in states[0]:
        _, curvature = slope_and_curvature(parameters[0], state)
        for row, shift in zip(curvature, 1e-6 * np.eye(d), strict=True):
            ahead, behind = (slope_and_curvature(parameters[0], state + sign * shift)[0] for sign in (1, -1))
            np.testing.assert_allclose((ahead - behind) / 2e-6, row, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("d", [2, 4])
def test_relu_leaves_the_frequency_no_gradient_and_tanh_does(d):  # claim 34
    relu, _, states = case(d, "relu")
    everywhere = columns(np.concatenate([states, 3.0 * states], axis=1))
    np.testing.assert_array_equal(gradient(lambda s: frequency(v_of(relu), s), everywhere), np.zeros(everywhere.shape))
    assert np.linalg.norm(gradient(lambda s: value(relu, s), everywhere), axis=1).min() > 1e-3
    tanh, _, states = case(d, "tanh")
    slopes = gradient(lambda s: frequency(v_of(tanh), s), columns(states))
    assert np.linalg.norm(slopes, axis=1).min() > 1e-4


# Agents: one state a seed, so many seeds.

STACK = 40
STEP = 3
DISCOUNT = 0.99


class Frozen:
    """A Dyna agent with random networks of order 1 and its criterion's gradient, compiled.

    Its Q and target network are told apart by their weights; `online` and `target` list them for each seed in float64.
    """

    def __init__(self, environment, name, rule="released"):
        settings = replace(settings_type(environment, name)(), search_control=rule, hidden=(8, 6))
        self.program = ControlProgram(Run(environment, name, settings, tuple(range(STACK)), steps=100))
        self.agent = self.program.agent
        self.activation = settings.activation
        rng = np.random.default_rng(7)
        box = self.program.twin.high - self.program.twin.low
        self.online, self.target = (
            self._set(rng, network, box) for network in (self.agent.learner.q, self.agent.learner.q_target)
        )
        self._gradient = tf.function(self.agent.criterion_gradient, jit_compile=True)

    def _set(self, rng, network, box):
        """Random weights that make Q vary over the box, whatever its units."""
        sizes = (len(box), 8, 6, self.program.twin.actions)
        parameters = [random_parameters(rng, sizes) for _ in range(STACK)]
        for kernels, _ in parameters:
            kernels[0] *= 4.0 / box
        kernels, biases = zip(*parameters, strict=True)
        for variables, layers in ((network.kernels, kernels), (network.biases, biases)):
            for variable, layer in zip(variables, zip(*layers, strict=True), strict=True):
                variable.assign(np.stack(layer).astype(np.float32))
        as_float64 = [parameter.numpy().astype(np.float64) for parameter in network.parameters]
        return [([p[seed] for p in as_float64[:3]], [p[seed] for p in as_float64[3:]]) for seed in range(STACK)]

    def gradient(self, states, i):
        states = tf.constant(states, tf.float32)
        return self._gradient(states, tf.constant(STEP, tf.int64), tf.constant(i)).numpy()

    def model_noise(self, i):
        """What the chain's query of the model draws at step i: [S]."""
        draw = tf.function(
            lambda: self.agent.noise(Purpose.CHAIN_MODEL, 1, tf.constant(STEP, tf.int64), i), jit_compile=True
        )
        return draw().numpy()[:, 0, 0]

    def greedy(self, seed, state):
        """argmax_a Q at one state [d]."""
        return int(action_values(self.online[seed], state[None], self.activation).argmax())

    def v(self, seed, state):
        """max_a Q at one state [d]."""
        return action_values(self.online[seed], state[None], self.activation).max()

    def bootstrap(self, seed, state):
        """gamma max_a Q_target at one state [d]."""
        return DISCOUNT * action_values(self.target[seed], state[None], self.activation).max()


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
    actual = case.gradient(states, 0)
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


def test_dyna_value_climbs_the_value():
    case = Frozen("GridWorld", "dyna_value")
    states = np.random.default_rng(2).random((STACK, 2)).astype(np.float32)
    actual = case.gradient(states, 0)
    expected = [smooth_gradient(functools.partial(case.v, seed), state) for seed, state in enumerate(states)]
    compared = [seed for seed in range(STACK) if expected[seed] is not None]
    assert len(compared) > 0.7 * STACK
    for seed in compared:
        assert_compared(actual[seed], expected[seed])


def test_dyna_frequency_climbs_the_value_in_half_of_its_fills_and_the_frequency_in_the_others():
    case = Frozen("GridWorld", "dyna_frequency")
    assert case.activation == "tanh" and case.agent.step_size == case.agent.search_control.step_size == 0.01
    states = np.random.default_rng(3).random((STACK, 2)).astype(np.float32)
    each = [(of_seed, state.astype(float)) for of_seed, state in zip(case.online, states, strict=True)]
    by_value = np.stack([slope_and_curvature(of_seed, state)[0] for of_seed, state in each])
    by_frequency = np.concatenate(
        [finite_differences(numpy_frequency(of_seed), state[None], 1e-5) for of_seed, state in each]
    )
    empty = case.gradient(states, 0)
    assert_close(empty, by_value, 1e-3)  # nothing to start from in the queue yet
    case.agent.queue.add(tf.zeros([STACK, 1, 2]), tf.ones([STACK], tf.int32))
    filled = case.gradient(states, 0)
    climbs_value = np.linalg.norm(filled - by_value, axis=1) < 1e-3 * np.linalg.norm(by_value, axis=1)
    assert_close(filled[~climbs_value], by_frequency[~climbs_value], 1e-2)
    coins = np.concatenate([case.agent.climbs_frequency(tf.constant(step, tf.int64)).numpy() for step in range(50)])
    assert abs(coins.mean() - 0.5) < 0.05
    np.testing.assert_array_equal(case.agent.climbs_frequency(tf.constant(STEP, tf.int64)), ~climbs_value)
