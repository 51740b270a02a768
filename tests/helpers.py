"""Helpers for tests of several folders: settings, environments, agents with a filled buffer, and derivatives."""

import gymnasium
import numpy as np
import tensorflow as tf

from dyna_td.learning.replay import Transition
from dyna_td.programs.program import make_program
from dyna_td.runs.registry import settings_type
from dyna_td.runs.run import Run


def settings_of(environment, agent, **changes):
    return settings_type(environment, agent)(**changes)


def run_of(environment, agent, seeds=(0, 1), steps=1000, evaluate_every=500, **settings):
    """A run; `settings` replace the agent's defaults."""
    return Run(environment, agent, settings_of(environment, agent, **settings), tuple(seeds), steps, evaluate_every)


def register(monkeypatch, environment, limit=None, **attributes):
    """Registers a class for the duration of a test, and returns its id."""
    name = f"{environment.__name__}-v0"
    kind = type(environment.__name__, (environment,), attributes)
    spec = gymnasium.envs.registration.EnvSpec(name, entry_point=kind, max_episode_steps=limit)
    monkeypatch.setitem(gymnasium.registry, name, spec)
    return name


def untrained(environment, agent, stored, seeds=2, **settings):
    """A program in an environment with a twin, whose agent has stored random short moves in the box of states.

    Nothing is compiled: the methods that a test calls run eagerly.
    """
    program = make_program(run_of(environment, agent, range(seeds), **settings))
    observe(program.agent, random_transitions(program.twin, stored, seeds))
    return program


def random_transitions(twin, count, seeds):
    """Transitions [S, count]: every fifth is terminal, and rewards are of order 1."""
    random, width = np.random.default_rng(0), twin.high - twin.low
    unit = random.uniform(size=(seeds, count, twin.state_dim))
    state, next_state = (twin.low + width * (start + 0.8 * unit) for start in (0.1, 0.12))
    reward = random.normal(-1.0, 0.5, (seeds, count))
    terminated = random.random((seeds, count)) < 0.2
    action = tf.constant(random.integers(0, twin.actions, (seeds, count)), tf.int32)
    parts = Transition(state, 0.0, reward, next_state, terminated)
    return Transition(*(tf.constant(part, tf.float32) for part in parts))._replace(action=action)


def observe(agent, transitions):
    """Shows an agent transitions [S, count], one after the other."""
    show = tf.function(agent.observe, autograph=False)  # sooner than eagerly, and than compiling
    for t in range(transitions.reward.shape[1]):
        show(Transition(*(part[:, t : t + 1] for part in transitions)))


def stored(agent):
    """All stored transitions of each seed: [S, size, ...]."""
    return agent.replay.gather(tf.tile(tf.range(agent.replay.size)[None], [agent.streams.count, 1]))


def perceptron(parameters, states, activation=lambda x: np.maximum(x, 0.0)):
    """The outputs of one perceptron in float64: kernels, then biases [out, 1], and states [B, d] -> [B, out]."""
    depth = len(parameters) // 2
    layer = np.asarray(states, np.float64).T
    for number, (kernel, bias) in enumerate(zip(parameters[:depth], parameters[depth:], strict=True)):
        layer = kernel @ layer + bias
        layer = activation(layer) if number + 1 < depth else layer
    return layer.T


def parameters_of(network, seed):
    """The kernels, then the biases, of one seed of a stacked network, in float64."""
    return [parameter.numpy()[seed].astype(np.float64) for parameter in network.parameters]


def randomise(network, seeds, index=0):
    """Gives each seed parameters of its own; the outputs vary by about 1."""
    rngs = [np.random.default_rng([seed, network.parameters[0].shape[2], index]) for seed in seeds]
    for parameter in network.parameters:
        scale = 1.2 / parameter.shape[2] ** 0.5 if parameter.shape[2] > 1 else 0.3
        parameter.assign(np.float32([scale * rng.normal(size=parameter.shape[1:]) for rng in rngs]))


def gradient_of(function, parameters, step=1e-6):
    """The gradient of a scalar function of a list of arrays, by central differences; moves them in place."""
    gradients = [np.zeros_like(parameter) for parameter in parameters]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        for place in np.ndindex(parameter.shape):
            kept = parameter[place]
            parameter[place] = kept + step
            above = function(parameters)
            parameter[place] = kept - step
            gradient[place] = (above - function(parameters)) / (2 * step)
            parameter[place] = kept
    return gradients


class PlainSteps:
    """Replaces Adam, which hides a gradient's scale: keeps the latest gradients and takes plain steps."""

    def __init__(self, parameters, rate=0.0):
        self.parameters, self.rate, self.updates = parameters, rate, 0

    def apply(self, gradients):
        self.updates += 1
        self.kept = [gradient.numpy() for gradient in gradients]
        for gradient, parameter in zip(gradients, self.parameters, strict=True):
            parameter.assign_sub(self.rate * gradient)
