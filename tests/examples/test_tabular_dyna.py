"""Tabular Dyna (Algorithm 2) against dynamic programming and on the discretised GridWorld."""

import gymnasium
import numpy as np
from tabular_dyna import TabularSettings, compare, tabular_dyna


class Corridor(gymnasium.Env):
    """Five cells in a row; action 1 goes right, 0 left; -1 a step, and the right end is terminal."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self.observe(), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self.observe(), -1.0, self.place == 4, False, {}

    def observe(self):
        return np.array([(self.place + 0.5) / 5], np.float32)


def test_q_becomes_the_optimal_value_of_a_corridor():
    settings = TabularSettings(cells=5, planning_steps=20, exploration=0.3)
    q, lengths = tabular_dyna(Corridor(), settings, steps=600, seed=0)
    value = np.zeros(5)
    for _ in range(100):
        left, right = -1 + 0.99 * value[[0, 0, 1, 2, 3]], -1 + 0.99 * np.append(value[1:], 0)
        value = np.append(np.maximum(left, right)[:4], 0)
    np.testing.assert_allclose(q[:4], np.stack([left, right], axis=1)[:4], atol=1e-3)
    assert min(lengths) == 4


def test_planning_finds_the_goal_of_the_gridworld_sooner(capsys):
    finished = compare()
    assert len(finished[10]) > 3 * len(finished[0])
    assert np.median(finished[10][-20:]) < 80  # the shortest way is about 37 steps
    assert capsys.readouterr().out.count("planning steps") == 2
