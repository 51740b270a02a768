"""Numbers that float32 does not hold, and bounds at the ends of their types."""

import itertools

import gymnasium
import numpy as np
import pytest
from files import sentence_of
from helpers import register

import envs
from dyna_td.training.environments import EnvironmentStack


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int8, np.int64, np.uint64, np.uint8])
def test_actions_reach_both_ends_of_every_type_and_keep_to_it(kind):
    ends = np.finfo(kind) if np.dtype(kind).kind == "f" else np.iinfo(kind)
    space = gymnasium.spaces.Box(ends.min, ends.max, (1,), kind)
    made = [envs.as_declared(np.array([share]), space) for share in (-1.0, -0.5, 0.0, 0.5, 1.0)]
    assert made[0] == ends.min and made[-1] == ends.max
    assert all(np.isfinite(each).all() and each in space for each in made)
    assert all(low[0] < high[0] for low, high in itertools.pairwise(made))


class Extreme(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = gymnasium.spaces.Discrete(2)
    reward, observation = 1.0, 1.0

    def reset(self, *, seed=None, options=None):
        return np.zeros(1), {}

    def step(self, action):
        return np.full(1, self.observation), self.reward, False, False, {}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"reward": 1e39}, "reward is 1e+39, expected a finite number, which float32 holds; training stops."),
        ({"reward": -1e39}, "reward is -1e+39, expected a finite number, which float32 holds; training stops."),
        ({"observation": 1e39}, "part 0 of the observation is inf; training stops."),
    ],
)
def test_a_number_that_float32_does_not_hold_is_one_sentence(monkeypatch, wrong, words):
    stack = EnvironmentStack(register(monkeypatch, Extreme, **wrong), (0,))
    stack.reset(0, 0)
    assert words in sentence_of(stack.step, 0, 0, np.int32(0), 0)
