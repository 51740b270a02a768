"""The TensorFlow twins against Gymnasium's own steps.

`TRANSITIONS=1000000 pytest tests/envs` sets the number of random transitions to compare per environment.
"""

import os

import numpy as np
import pytest
import tensorflow as tf

from dyna_td import envs
from dyna_td.learning.xla import xla_function
from dyna_td.programs.twin import make_twin
from dyna_td.runs.registry import TWIN_ENVIRONMENTS

TWINS = (*TWIN_ENVIRONMENTS, "GridWorld-corner0.45-stepnoise0.05", "GridWorld-goal0.2-rewardnoise1")
TRANSITIONS = int(os.environ.get("TRANSITIONS", "15000"))
NOISE_SEED = 7
# Coordinates, besides the borders, at which the grid worlds' rules change.
GRID_EDGES = np.float32([0.1, 0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


def random_states(twin, count, rng):
    """States all over the box, with a tenth of the coordinates on its borders; float32 [count, d]."""
    if twin.name == "Acrobot-v1":
        low, high = np.array([-np.pi, -np.pi, *twin.low[4:]]), np.array([np.pi, np.pi, *twin.high[4:]])
    else:
        low, high = twin.low, twin.high
    states = rng.uniform(low, high, size=(count, len(low)))
    where = rng.random(states.shape)
    states = np.where(where < 0.05, low, np.where(where < 0.1, high, states))
    if "GridWorld" in twin.name:
        states = np.where(where > 0.9, rng.choice(GRID_EDGES, size=states.shape), states)
    if twin.name == "Acrobot-v1":
        angles = states[:, :2]
        circles = np.stack([np.cos(angles), np.sin(angles)], axis=-1).reshape(count, 4)
        states = np.concatenate([circles, states[:, 2:]], axis=1)
    return states.astype(np.float32)


def internal_states(name, states):
    """Gymnasium's own representation of observed states."""
    if "GridWorld" in name:
        return states
    states = states.astype(np.float64)
    if name != "Acrobot-v1":
        return states
    cos1, sin1, cos2, sin2, *velocities = states.T
    return np.stack([np.arctan2(sin1, cos1), np.arctan2(sin2, cos2), *velocities], axis=1)


def gymnasium_steps(name, states, actions):
    """(next states, rewards, terminations) by `step` of the Gymnasium environment, with the noise of NOISE_SEED."""
    environment = envs.make(name).unwrapped
    environment.reset(seed=0)
    environment.np_random = np.random.default_rng(NOISE_SEED)
    next_states, rewards, terminated = np.empty_like(states), np.empty(len(states)), np.empty(len(states), bool)
    for i, (state, action) in enumerate(zip(internal_states(name, states), actions.tolist(), strict=True)):
        environment.state = state
        environment.steps_beyond_terminated = None  # CartPole's memory of an ended episode
        next_states[i], rewards[i], terminated[i], _, _ = environment.step(action)
    return next_states, rewards, terminated


@pytest.mark.parametrize("name", TWINS)
def test_random_transitions_equal_those_of_gymnasium(name):
    twin = make_twin(name)
    rng = np.random.default_rng(1)
    states = random_states(twin, TRANSITIONS, rng)
    actions = rng.integers(twin.actions, size=TRANSITIONS).astype(np.int32)
    noise = np.random.default_rng(NOISE_SEED).standard_normal((TRANSITIONS, twin.noise_dim)).astype(np.float32)

    step = xla_function(twin.step)
    ours = [result.numpy() for result in step(states, actions, noise)]
    theirs = gymnasium_steps(name, states, actions)

    rounding = 2 * np.spacing(np.abs(theirs[0]).max(axis=0))  # two units in the last place of the largest coordinate
    is_near = (np.abs(ours[0].astype(np.float64) - theirs[0]) <= rounding).all(axis=-1)
    is_equal = is_near & (np.abs(ours[1] - theirs[1]) <= 1e-6) & (ours[2] == theirs[2])
    assert (~is_equal).sum() <= 1e-5 * TRANSITIONS + 3  # rounding may carry a state across a threshold


@pytest.mark.parametrize("name", TWINS)
def test_initial_states_spaces_and_time_limit_equal_those_of_gymnasium(name):
    twin, environment = make_twin(name), envs.make(name)
    for seed in range(100):
        uniforms = np.random.default_rng(seed).random(twin.reset_dim).astype(np.float32)
        state = twin.reset(tf.constant(uniforms))
        np.testing.assert_allclose(state, environment.reset(seed=seed)[0], rtol=2e-7, atol=2e-8)
    space = environment.observation_space
    assert (twin.state_dim,) == space.shape == twin.low.shape == twin.high.shape
    assert twin.low.dtype == twin.high.dtype == np.float32
    assert twin.actions == environment.action_space.n
    assert twin.time_limit == environment.spec.max_episode_steps
    np.testing.assert_array_equal(twin.low, np.where(np.isfinite(space.low), space.low, -10))
    np.testing.assert_array_equal(twin.high, np.where(np.isfinite(space.high), space.high, 10))


@pytest.mark.parametrize("name", TWINS)
def test_a_state_is_terminal_where_a_step_into_it_ends_the_episode(name):
    twin = make_twin(name)
    rng = np.random.default_rng(4)
    states = random_states(twin, 50_000, rng)
    if "GridWorld" in name:
        corner = twin.dials.corner
        states[::2] = rng.uniform(corner - 0.15, corner, size=states[::2].shape)  # near the small goal
    actions = rng.integers(twin.actions, size=len(states)).astype(np.int32)
    noise = rng.normal(size=(len(states), twin.noise_dim)).astype(np.float32)
    next_states, _, terminated = (result.numpy() for result in xla_function(twin.step)(states, actions, noise))
    is_terminal = xla_function(twin.is_terminal)(tf.constant(next_states)).numpy()
    if name == "Acrobot-v1":  # its step tests for the end before it rounds its angles to an observation
        angle1, angle2 = internal_states(name, next_states).T[:2]
        clear = np.abs(-np.cos(angle1) - np.cos(angle1 + angle2) - 1) > 1e-6
        assert clear.mean() > 0.999
        is_terminal, terminated = is_terminal[clear], terminated[clear]
    assert 100 < terminated.sum() < len(terminated) - 100
    np.testing.assert_array_equal(is_terminal, terminated)


@pytest.mark.parametrize("name", TWINS)
def test_the_nearest_state_of_any_point_lies_in_the_space_of_states(name):
    twin = make_twin(name)
    rng = np.random.default_rng(5)
    points = rng.uniform(twin.low - 3, twin.high + 3, size=(10_000, twin.state_dim)).astype(np.float32)
    nearest = xla_function(twin.nearest_state)(tf.constant(points)).numpy()
    assert ((nearest >= twin.low) & (nearest <= twin.high)).all()
    if name == "Acrobot-v1":
        for pair in (nearest[:, :2], nearest[:, 2:4]):
            np.testing.assert_allclose(np.hypot(*pair.T), 1.0, rtol=1e-6)
        points, nearest, low, high = points[:, 4:], nearest[:, 4:], twin.low[4:], twin.high[4:]
    else:
        low, high = twin.low, twin.high
    np.testing.assert_array_equal(nearest, np.clip(points, low, high))
    states = random_states(twin, 1000, rng)
    np.testing.assert_allclose(twin.nearest_state(tf.constant(states)), states, rtol=3e-7, atol=1e-9)


def test_a_pair_of_acrobots_keeps_its_angle_on_the_way_to_the_circle():
    point = np.float32([[0.3, -0.4, -0.02, 0.0, 1.0, 2.0], [0.0, 0.0, 1e-9, 0.0, 0.0, 0.0]])
    expected = [[0.6, -0.8, -1.0, 0.0, 1.0, 2.0], [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]]  # the centre gets angle 0
    np.testing.assert_allclose(make_twin("Acrobot-v1").nearest_state(tf.constant(point)), expected, rtol=1e-6)
