"""The compiled environment loop against Gymnasium and against its own records."""

from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf

import envs
from dyna_td.learning.streams import Purpose
from dyna_td.settings import DQNSettings, Run
from dyna_td.training.twin_program import ControlProgram

SETTINGS = DQNSettings(planning_updates=2, warm_up_steps=50, evaluation_exploration=0.0)
SEEDS = 3


def program_after(environment, steps, agent="er", **settings):
    run = Run(environment, agent, replace(SETTINGS, **settings), tuple(range(SEEDS)), steps=1000)
    program = ControlProgram(run)
    program.train(tf.constant(steps))
    return program


def greedy(program, seed, state):
    states = np.repeat(state[None, None], SEEDS, axis=0).astype(np.float32)
    return int(program.agent.learner.q(tf.constant(states.transpose(0, 2, 1))).numpy()[seed, :, 0].argmax())


@pytest.mark.parametrize("environment", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1"])
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
            state, reward, terminated, truncated, _ = episode.step(greedy(program, seed, state))
            total, length, ended = total + reward, length + 1, terminated or truncated
        assert metrics["return"][seed] == total
        assert metrics["episode_length"][seed] == length


def test_evaluations_leave_the_training_untouched():
    program = program_after("GridWorld", 80)
    before = [variable.numpy() for variable in program.variables]
    program.evaluate()
    for variable, value in zip(program.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)


def stored(program):
    places = tf.tile(tf.range(program.agent.replay.size)[None], [SEEDS, 1])
    return program.agent.replay.gather(places)


def test_stored_transitions_follow_each_other_and_obey_the_dynamics():
    program = program_after("CartPole-v1", 300)
    batch = stored(program)
    next_state, reward, terminated = program.twin.step(batch.state, batch.action, tf.zeros([SEEDS, 300, 0]))
    np.testing.assert_allclose(batch.next_state, next_state, atol=1e-6)
    np.testing.assert_array_equal(batch.reward, reward)
    np.testing.assert_array_equal(batch.terminated, tf.cast(terminated, tf.float32))
    ended = batch.terminated.numpy()[:, :-1].astype(bool)
    assert ended.any()
    start, end = batch.state.numpy()[:, 1:], batch.next_state.numpy()[:, :-1]
    np.testing.assert_array_equal(start[~ended], end[~ended])  # an episode goes on where it was
    assert (np.abs(start[ended]) <= 0.05).all()  # a new one starts in CartPole's start box


def test_a_time_limit_starts_a_new_episode_but_is_not_stored_as_terminal(monkeypatch):
    monkeypatch.setitem(envs.TIME_LIMITS, "MountainCar-v0", 40)
    batch = stored(program_after("MountainCar-v0", 200))
    assert not batch.terminated.numpy().any()
    follows = (batch.state.numpy()[:, 1:] == batch.next_state.numpy()[:, :-1]).all(axis=2)
    np.testing.assert_array_equal(np.flatnonzero(~follows[0]) + 1, [40, 80, 120, 160])


def test_warm_up_acts_at_random_and_learns_nothing():
    program = program_after("GridWorld", 50, exploration=0.0)
    assert program.agent.learner.updates.numpy() == 0
    actions = stored(program).action.numpy()
    assert all(len(set(row)) == 4 for row in actions)
    program.train(tf.constant(1))
    assert program.agent.learner.updates.numpy() == 2
