"""Store one episode that reaches the goal, and prioritize: an agent of your own for your own environment.

Copy this file, put your environment and a policy for it in, and train. States are vectors.
Discrete actions of the policy count from 0; its vectors lie in [-1, 1], which stands for the environment's bounds:
`python -m dyna_td train --env MountainCar-v0 --agent demonstration:Demonstrated --output demonstrated.csv`.
"""

import gymnasium
import numpy as np
import tensorflow as tf

from dyna_td import envs
from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.errors import UserError
from dyna_td.learning.replay import Transition

ENVIRONMENT = "MountainCar-v0"


def policy(state: np.ndarray) -> int:
    """Reaches MountainCar's goal: pushes in the direction of the velocity."""
    return 2 if state[1] >= 0 else 0


def episode() -> Transition:
    """One episode of `policy`; each part is an array [steps, ...]."""
    environment = gymnasium.make(ENVIRONMENT)
    state, _ = environment.reset(seed=0)
    steps, is_over = [], False
    while not is_over:
        action = policy(state)
        next_state, reward, terminated, truncated, _ = environment.step(
            envs.as_declared(action, environment.action_space)
        )
        steps.append((state, action, reward, next_state, terminated))
        state, is_over = next_state, terminated or truncated
    if not terminated:
        raise UserError(f"the policy did not end {ENVIRONMENT} in {len(steps)} steps: write one that does.")
    return Transition(*(np.array(part) for part in zip(*steps, strict=True)))


class Demonstrated(PrioritizedER):
    """This is PrioritizedER with: an episode of `policy` in place of the last steps of the warm-up."""

    def __init__(self, settings, learner, streams, space, steps):
        super().__init__(settings, learner, streams, space, steps)
        self.shown = episode()
        if settings.buffer_capacity < settings.warm_up_steps:
            raise UserError("buffer_capacity is less than warm_up_steps, and the buffer has to hold the whole warm-up.")

    def observe(self, transition: Transition) -> tf.Tensor:
        length = len(self.shown.reward)
        row = self.replay.size - (self.settings.warm_up_steps - length)
        is_shown = (row >= 0) & (row < length)
        row = tf.clip_by_value(row, 0, length - 1)
        parts = []
        for shown, met in zip(self.shown, transition, strict=True):  # [steps, ...] and [S, 1, ...]
            parts.append(tf.where(is_shown, tf.cast(tf.gather(shown, row), met.dtype), met))
        return super().observe(Transition(*parts))
