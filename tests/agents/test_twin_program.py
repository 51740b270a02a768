"""The compiled environment loop against Gymnasium and against its own records."""

import numpy as np
import pytest
import tensorflow as tf
from files import tiers
from helpers import parameters_of, perceptron, run_of, stored

from dyna_td import envs
from dyna_td.learning.streams import Purpose
from dyna_td.programs.program import make_program

SEEDS = 3


def program_after(environment, steps, **settings):
    small = {"planning_updates": 2, "warm_up_steps": 50, "evaluation_exploration": 0.0, "hidden": (8, 8)}
    program = make_program(run_of(environment, "er", range(SEEDS), **small | settings))
    program.train(tf.constant(steps))
    return program


@pytest.mark.parametrize("environment", tiers(["CartPole-v1", "MountainCar-v0", "Acrobot-v1"], quick=["CartPole-v1"]))
def test_an_evaluation_is_a_greedy_episode_of_the_gymnasium_environment(environment):
    program = program_after(environment, 150)
    metrics = {name: value.numpy() for name, value in program.evaluate().items()}
    reset = program._reset(Purpose.EVALUATION_RESET, program.step).numpy()
    for seed in range(SEEDS):
        episode = envs.make(environment)
        episode.reset()
        state, total, length, ended = reset[seed], 0.0, 0, False
        angles = (np.arctan2(state[1], state[0]), np.arctan2(state[3], state[2])) if environment == "Acrobot-v1" else ()
        episode.unwrapped.state = np.array([*angles, *state[4:]] if len(angles) else state, np.float64)
        while not ended:
            action = int(perceptron(parameters_of(program.agent.learner.q, seed), state[None]).argmax())
            state, reward, terminated, truncated, _ = episode.step(action)
            total, length, ended = total + reward, length + 1, terminated or truncated
        assert metrics["return"][seed] == total
        assert metrics["episode_length"][seed] == length


def test_warm_up_acts_at_random_and_training_in_pieces_with_evaluations_between_them_is_training_at_once():
    program = program_after("GridWorld", 50, exploration=0.0)
    assert program.agent.learner.optimizer.updates.numpy() == 0
    assert all(len(set(row)) == 4 for row in stored(program.agent).action.numpy())
    before = program.values()
    program.train(tf.constant(30))
    assert program.agent.learner.optimizer.updates.numpy() == 60
    at_once = program.values()
    program.restore(before)
    for piece in (1, 10, 19):
        program.train(tf.constant(piece))
        program.evaluate()
        program.measure()
    np.testing.assert_equal(program.values(), at_once)
