"""An environment of your own, with a rule of termination.

Copy this file, change the class, and train:
`python -m dyna_td train --env corridor:Corridor-v0 --agent dyna_td --output results/corridor.csv`.
"""

import gymnasium
import numpy as np


class Corridor(gymnasium.Env):
    """A walk on [0, 1] from a place near 0 to the goal near 1, with noise. Each step costs 1."""

    observation_space = gymnasium.spaces.Box(0, 1, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)  # numbers of self.np_random alone, so that a seed repeats
        self.state = np.array([0.2 * self.np_random.random()], np.float32)
        return self.state, {}

    def step(self, action):
        move = (0.05 if action else -0.05) + 0.01 * self.np_random.standard_normal()
        self.state = np.clip(self.state + move, 0, 1).astype(np.float32)
        return self.state, -1.0, bool(self.is_terminal_state(self.state)), False, {}

    @staticmethod
    def is_terminal_state(states):
        """Whether an episode ends in each state, [..., d] -> bool [...]: a learned model then need not predict it."""
        return states[..., 0] >= 0.95


gymnasium.register("Corridor-v0", Corridor, max_episode_steps=200)
