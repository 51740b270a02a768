"""What agents know of environments without a twin, and which environments they can be trained in."""

import gymnasium
import numpy as np
import pytest
import tensorflow as tf

import envs
from dyna_td.errors import UserError
from envs.spaces import GymSpace


def space_of(environment):
    made = envs.make(environment)
    return GymSpace(environment, made), made


@pytest.mark.parametrize("environment", ["Hopper-v4", "Hopper-v5", "Walker2d-v4", "Walker2d-v5"])
def test_the_known_termination_rules_are_mujocos(environment):
    space, made = space_of(environment)
    rng = np.random.default_rng(0)
    observations, ends = [], []
    made.reset(seed=0)
    for _ in range(4000):
        observation, _, terminated, truncated, _ = made.step(rng.uniform(-1, 1, made.action_space.shape))
        observations.append(observation)
        ends.append(terminated)
        if terminated or truncated:
            made.reset(seed=int(rng.integers(2**31)))
    assert 20 < sum(ends) < 2000
    np.testing.assert_array_equal(space.is_terminal(tf.constant(np.array(observations), tf.float32)), ends)


def test_boxes_are_the_observation_spaces_where_they_are_bounded():
    hopper, _ = space_of("Hopper-v4")
    np.testing.assert_array_equal([hopper.low, hopper.high], [[-5.0] * 11, [5.0] * 11])
    pendulum, _ = space_of("Pendulum-v1")
    np.testing.assert_array_equal([pendulum.low, pendulum.high], [[-1, -1, -8], [1, 1, 8]])
    assert (pendulum.state_dim, pendulum.action_dim, pendulum.actions, pendulum.knows_termination) == (
        3,
        1,
        None,
        False,
    )
    assert not pendulum.is_terminal(tf.zeros([4, 3])).numpy().any()


class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(np.float32([[-np.inf, 0]]), np.float32([[3, np.inf]]))
    action_space = gymnasium.spaces.Discrete(2)


def odd(**attributes):
    """The id of an environment with these spaces."""
    gymnasium.register("Odd-v0", entry_point=type("Odd", (Odd,), attributes))
    return "Odd-v0"


@pytest.fixture(autouse=True)
def _forget():
    yield
    gymnasium.registry.pop("Odd-v0", None)


def test_unbounded_coordinates_are_searched_to_ten():
    space, _ = space_of(odd())
    np.testing.assert_array_equal([space.low, space.high], [[-10, 0], [3, 10]])


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"observation_space": gymnasium.spaces.Discrete(3)}, "has Discrete observations: supported are Box"),
        ({"action_space": gymnasium.spaces.MultiDiscrete([2, 2])}, "has MultiDiscrete actions: supported are Box"),
        ({"action_space": gymnasium.spaces.Discrete(2, start=1)}, "numbers its actions from 1: supported are"),
        ({"action_space": gymnasium.spaces.Box(-np.inf, np.inf, (2,))}, "has actions in Box(-inf, inf, (2,), float32)"),
    ],
)
def test_other_spaces_are_refused_with_what_is_supported(attributes, words):
    with pytest.raises(UserError) as error:
        envs.make(odd(**attributes))
    assert words in str(error.value) and "supported are Box observations with Discrete actions" in str(error.value)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ("no_such_module:X-v0", "cannot import no_such_module"),
        ("../../x", "expected a Gymnasium id"),
        ("Hoper-v4", "did you mean 'Hopper-v4'"),
        (7, "expected a Gymnasium id or module:id"),
    ],
)
def test_what_cannot_be_made_is_told_in_one_sentence(environment, words):
    with pytest.raises(UserError, match=words) as error:
        envs.make(environment)
    assert "\n" not in str(error.value)


def test_an_environment_that_raises_when_it_is_made_is_told_in_one_sentence():
    def fail(self):
        raise RuntimeError("no\nlicence")

    with pytest.raises(UserError, match=r"environment Odd-v0 cannot be made: no licence\."):
        envs.make(odd(__init__=fail))


@pytest.mark.parametrize(
    ("environment", "is_box"),
    [("Hopper-v4", True), ("Pendulum-v1", True), ("roundabout-paper-v0", False), ("CartPole-v0", False)],
)
def test_kinds_of_actions_are_known_or_found_out(environment, is_box):
    assert envs.has_box_actions(environment) == is_box
