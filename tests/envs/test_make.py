"""The environments as this project makes them: time limits, spaces, and mistakes in one sentence."""

import sys
import warnings

import gymnasium
import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import GymSpace
from files import python
from gymnasium.utils.env_checker import check_env
from helpers import register

from dyna_td import envs
from dyna_td.runs.registry import has_twin, task


def test_importing_the_environments_imports_neither_tensorflow_nor_the_rest_of_the_package():
    code = (
        "import sys, dyna_td.envs; found = {name for name in sys.modules if name.startswith('dyna_td.')};"
        "sys.exit('tensorflow' in sys.modules or found != {'dyna_td.envs', 'dyna_td.envs.grid_world'})"
    )
    assert python("-c", f"import sys; sys.path[:] = {sys.path!r}; {code}").returncode == 0


def test_an_action_is_scaled_to_its_bounds_or_counted_from_its_start_and_what_is_no_number_is_the_middle():
    space = gymnasium.spaces.Box(np.float32([-2, 10, 0, 1]), np.float32([2, 30, 1, 1]))  # the last part is constant
    np.testing.assert_allclose(envs.as_declared(np.float32([np.nan, 0.5, -1.0, 0.3]), space), [0, 25, 0, 1])
    assert envs.as_declared(np.float32([1.0] * 4), space) in space
    tenths = gymnasium.spaces.Box(-0.1, 0.3, (1,), np.float64)  # 0.1 + 0.3 - 0.1 > 0.3
    assert envs.as_declared(np.float32([1.0]), tenths) in tenths
    assert envs.as_declared(np.int64(2), gymnasium.spaces.Discrete(3, start=-1)) == 1


@pytest.mark.parametrize("environment", ["GridWorld", "MazeGridWorld", "roundabout-paper-v0"])
def test_gymnasium_accepts_each_environment_without_a_warning(environment):
    envs.make(environment)  # imports highway-env, which warns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(f"dyna_td/{environment}", render_mode="rgb_array").unwrapped)


@pytest.mark.parametrize(("environment", "actions"), [("GridWorld", 4), ("roundabout-paper-v0", 5)])
def test_an_unknown_action_and_an_unknown_render_mode_are_refused(environment, actions):
    made = envs.make(environment).unwrapped
    made.reset(seed=0)
    assert made.render() is None
    with pytest.raises(ValueError, match=f"unknown action {actions} of {type(made).__name__}: choose 0"):
        made.step(actions)
    with pytest.raises(ValueError, match=f"unknown render mode 'ansi' of {type(made).__name__}: "):
        type(made)(render_mode="ansi")


def space_of(environment):
    made = envs.make(environment)
    return GymSpace(environment, made), made


@pytest.mark.parametrize("environment", ["Hopper-v4", "Walker2d-v4", "Hopper-v5", "Walker2d-v5"])
def test_the_known_termination_rules_are_mujocos(environment):
    space, made = space_of(environment)
    rng = np.random.default_rng(0)
    observations, ends = [], []
    made.reset(seed=0)
    for _ in range(2000):
        observation, _, terminated, truncated, _ = made.step(rng.uniform(-1, 1, made.action_space.shape))
        observations.append(observation)
        ends.append(terminated)
        if terminated or truncated:
            made.reset(seed=int(rng.integers(2**31)))
    assert 20 < sum(ends) < 1000
    np.testing.assert_array_equal(space.is_terminal(tf.constant(np.array(observations), tf.float32)), ends)


@pytest.mark.parametrize(
    "rule, words",
    [
        (lambda states: states >= 0.95, r"returns bool \[2, 2, 1\] for states \[2, 2, 1\]"),
        (lambda states: states[:, 0] >= 0.95, r"returns bool \[2, 1\] for states \[2, 2, 1\]"),
        (lambda states: states[:, :, 0] >= 0.95, r"raised ValueError for states \[2, 1\]"),
        (lambda states: states[..., 0], r"returns float32 \[2, 2\]"),
        (lambda states: 1 / 0, "raised ZeroDivisionError"),
        (lambda states: np.abs(states[..., 0]) > 1, "raised NotImplementedError"),
    ],
)
def test_an_own_rule_of_termination_is_used_and_a_wrong_one_refused(monkeypatch, rule, words):
    space, made = space_of("corridor:Corridor-v0")
    assert space.knows_termination
    np.testing.assert_array_equal(space.is_terminal(tf.constant([[0.5], [0.96]])), [False, True])
    monkeypatch.setattr(type(made.unwrapped), "is_terminal_state", staticmethod(rule))
    with pytest.raises(envs.UnusableEnvironment, match=f"Corridor-v0: is_terminal_state {words}"):
        space_of("corridor:Corridor-v0")


class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(np.float32([[-np.inf, 0]]), np.float32([[3, np.inf]]))
    action_space = gymnasium.spaces.Discrete(2)


def test_boxes_are_the_observation_spaces_where_they_are_bounded(monkeypatch):
    hopper, _ = space_of("Hopper-v4")
    np.testing.assert_array_equal([hopper.low, hopper.high], [[-5.0] * 11, [5.0] * 11])
    pendulum, _ = space_of("Pendulum-v1")
    np.testing.assert_array_equal([pendulum.low, pendulum.high], [[-1, -1, -8], [1, 1, 8]])
    assert (pendulum.state_dim, pendulum.action_dim, pendulum.actions) == (3, 1, None)
    assert not pendulum.knows_termination and not pendulum.is_terminal(tf.zeros([4, 3])).numpy().any()
    unbounded, _ = space_of(register(monkeypatch, Odd))
    np.testing.assert_array_equal([unbounded.low, unbounded.high], [[-10, 0], [3, 10]])
    far = gymnasium.spaces.Box(np.float32([-np.inf, 200]), np.float32([-300, np.inf]))
    distant, _ = space_of(register(monkeypatch, Odd, observation_space=far))
    np.testing.assert_array_equal([distant.low, distant.high], [[-310, 200], [-300, 210]])


def test_an_environment_of_the_users_may_have_the_name_of_ours_with_a_version(monkeypatch):
    monkeypatch.setattr(gymnasium.envs.registration, "registry", registry := dict(gymnasium.registry))
    monkeypatch.setattr(gymnasium, "registry", registry)
    gymnasium.register("GridWorld-v0", entry_point=Odd)
    assert isinstance(envs.make("GridWorld-v0").unwrapped, Odd)
    assert not has_twin("GridWorld-v0") and has_twin("GridWorld-goal0.2") and has_twin("GridWorld")


def test_a_known_environment_is_a_task_without_variant_and_version_and_any_other_id_stays_whole():
    known = ("MountainCar-v0", "GridWorld-goal0.2", "roundabout-paper-v0", "sin")
    assert [*map(task, known)] == ["MountainCar", "GridWorld", "roundabout", "sin"]
    for foreign in ("my-org/Lander-v1", "highway-fast-v0", "GridWorld-v0", "corridor:Corridor-v0"):
        assert task(foreign) == foreign


def fail(self):
    raise RuntimeError("no\nlicence")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ("no_such_module:X-v0", "cannot import no_such_module"),
        ("Hoper-v4", "did you mean 'Hopper-v4'"),
        ("GridWorld-gaol0.2", "environment is 'GridWorld-gaol0.2', expected GridWorld[-goalX]"),
        ("GridWorld-corner0.55", "its goal lies in a wall, or over the start"),
        ("GridWorld-goal0.05", "a world has one name, write GridWorld."),
        ({"observation_space": gymnasium.spaces.Box(-1, 1, (0,))}, "has an observation_space of shape (0,), without"),
        ({"observation_space": gymnasium.spaces.Discrete(3)}, "has Discrete observations: supported are Box"),
        ({"observation_space": gymnasium.spaces.Box(0, 255, (96, 96, 3), np.uint8)}, "has pictures as observations"),
        ({"action_space": gymnasium.spaces.Box(0, 3, (1,), np.int64)}, "has actions in Box(0, 3, (1,), int64): supp"),
        ({"observation_space": property(fail)}, "declares no observation_space: supported are Box"),
        ({"__init__": fail}, "environment Odd-v0 cannot be made: no licence (line "),
    ],
)
def test_an_environment_that_cannot_be_used_is_one_sentence(monkeypatch, environment, words):
    name = register(monkeypatch, Odd, **environment) if isinstance(environment, dict) else environment
    with pytest.raises(envs.UnusableEnvironment) as error:
        envs.make(name)
    assert words in str(error.value) and "\n" not in str(error.value) and str(error.value).endswith(".")
