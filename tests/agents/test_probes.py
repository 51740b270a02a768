"""Tiny MDPs whose action values are known exactly; the first agent that gets one wrong has its bug named by it."""

import numpy as np
import pytest
import tensorflow as tf

from dyna_td import control
from dyna_td.catalog import CONTROL_AGENTS
from dyna_td.runs import ControlSettings, Run

DISCOUNT = 0.8


class Probe:
    """A twin with one-dimensional states and two actions; episodes start in the states of `starts`, equally often."""

    state_dim = 1
    actions = 2
    reset_dim = 1
    noise_dim = 0
    time_limit = 4
    starts = (0.0,)

    def reset(self, uniforms):
        number = tf.cast(uniforms * len(self.starts), tf.int32)
        return tf.gather(tf.constant(self.starts), number)

    def step(self, state, action, noise):
        x, action = state[..., 0], tf.cast(action, tf.float32)
        next_x, reward, terminated = self.outcome(x, action)
        ones = tf.ones_like(x)
        return (next_x * ones)[..., None], reward * ones, tf.cast(terminated * ones, tf.bool)


class OneReward(Probe):
    """Every action gives 1 and ends the episode."""

    values = {0.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return 0.0, 1.0, 1.0


class RewardByState(Probe):
    """The reward is the state, +1 or -1."""

    starts = (-1.0, 1.0)
    values = {-1.0: (-1.0, -1.0), 1.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return 0.0, x, 1.0


class DelayedReward(Probe):
    """Two steps, the reward comes with the second: its value must be discounted once."""

    values = {0.0: (DISCOUNT, DISCOUNT), 1.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return x + 1.0, x, x


class RewardByAction(Probe):
    """Action 0 gives -1, action 1 gives +1."""

    values = {0.0: (-1.0, 1.0)}

    def outcome(self, x, action):
        return 0.0, 2.0 * action - 1.0, 1.0


class ChooseThenEarn(Probe):
    """Action 1 leads from 0 to 1, where action 0 earns 1: the target must take the best action of the next state."""

    values = {0.0: (0.0, DISCOUNT), 1.0: (1.0, 0.0)}

    def outcome(self, x, action):
        return 1.0, x * (1.0 - action), tf.maximum(x, 1.0 - action)


class Endless(Probe):
    """Reward 1 for ever; only the time limit ends an episode, and it must not cut the bootstrap."""

    values = {0.0: (1 / (1 - DISCOUNT), 1 / (1 - DISCOUNT))}

    def outcome(self, x, action):
        return 0.0, 1.0, 0.0


PROBES = [OneReward, RewardByState, DelayedReward, RewardByAction, ChooseThenEarn, Endless]


def learned_values(monkeypatch, agent: str, probe: type[Probe], seeds=(0, 1, 2)) -> dict[float, np.ndarray]:
    """Trains `agent` on `probe` for a moment; its Q-values [S, 2] at each state that has known ones."""
    monkeypatch.setattr(control, "make_twin", lambda environment: probe())
    settings = ControlSettings(
        planning_updates=8,
        learning_rate=5e-3,
        hidden=(16, 16),
        warm_up_steps=100,
        exploration=0.5,
        discount=DISCOUNT,
        target_period=12,
        buffer_capacity=300,
    )
    program = control.ControlProgram(Run("probe", agent, settings, seeds, steps=500))
    program.train(tf.constant(500))
    states = {x: tf.fill([len(seeds), 1, 1], x) for x in probe.values}
    return {x: program.agent.q(state).numpy()[..., 0] for x, state in states.items()}


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.__name__)
@pytest.mark.parametrize("agent", CONTROL_AGENTS)
def test_the_agent_learns_the_known_values(monkeypatch, agent, probe):
    for state, q in learned_values(monkeypatch, agent, probe).items():
        np.testing.assert_allclose(q, np.broadcast_to(probe.values[state], q.shape), atol=0.1, err_msg=f"state {state}")
