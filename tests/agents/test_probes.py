"""Tiny MDPs whose action values are known exactly; the first one that an agent gets wrong names its bug.

All of them are rooms of one environment, so that an agent is trained once: a state is (number of the room, x).
"""

import numpy as np
import pytest
import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.agents.dyna_frequency import DynaFrequency
from dyna_td.registry import CONTROL_AGENTS, DYNA_AGENTS, settings_type
from dyna_td.search import rules
from dyna_td.settings import Run
from dyna_td.training.trainer import twin_program
from envs.spaces import Space

DISCOUNT = 0.8


class OneReward:
    """Every action gives 1 and ends the episode."""

    starts = (0.0,)
    values = {0.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return x, 1.0, 1.0


class RewardByState:
    """The reward is the state, +1 or -1."""

    starts = (-1.0, 1.0)
    values = {-1.0: (-1.0, -1.0), 1.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return x, x, 1.0


class DelayedReward:
    """Two steps, the reward comes with the second: its value must be discounted once."""

    starts = (0.0,)
    values = {0.0: (DISCOUNT, DISCOUNT), 1.0: (1.0, 1.0)}

    def outcome(self, x, action):
        return tf.minimum(x + 1.0, 1.0), x, tf.maximum(x, 0.0)


class RewardByAction:
    """Action 0 gives -1, action 1 gives +1."""

    starts = (0.0,)
    values = {0.0: (-1.0, 1.0)}

    def outcome(self, x, action):
        return x, 2.0 * action - 1.0, 1.0


class ChooseThenEarn:
    """Action 1 leads from 0 to 1, where action 0 earns 1: the target must take the best action of the next state."""

    starts = (0.0,)
    values = {0.0: (0.0, DISCOUNT), 1.0: (1.0, 0.0)}

    def outcome(self, x, action):
        return 1.0, tf.maximum(x, 0.0) * (1.0 - action), tf.maximum(x, 1.0 - action)


class Endless:
    """Reward 1 for ever; only the time limit ends an episode, and it must not cut the bootstrap."""

    starts = (0.0,)
    values = {0.0: (1 / (1 - DISCOUNT), 1 / (1 - DISCOUNT))}

    def outcome(self, x, action):
        return x, 1.0, 0.0


ROOMS = (OneReward, RewardByState, DelayedReward, RewardByAction, ChooseThenEarn, Endless)


class Rooms(Space):
    """A twin of all rooms. States are whole numbers: a chain's steps end on the nearest of them."""

    state_dim = 2
    actions = 2
    reset_dim = 1
    noise_dim = 0
    time_limit = 4
    shares_one_unit = True
    low = np.array([0.0, -1.0], np.float32)
    high = np.array([len(ROOMS) - 1.0, 1.0], np.float32)
    starts = tuple((float(number), x) for number, room in enumerate(ROOMS) for x in room.starts)

    def reset(self, uniforms):
        number = tf.cast(uniforms[..., 0] * len(self.starts), tf.int32)
        return tf.gather(tf.constant(self.starts), number)

    def step(self, state, action, noise):
        place, x, action = state[..., 0], state[..., 1], tf.cast(action, tf.float32)
        parts = [tf.zeros_like(x)] * 3
        for number, room in enumerate(ROOMS):
            parts = [
                tf.where(place == number, new * tf.ones_like(x), old)
                for new, old in zip(room().outcome(x, action), parts, strict=True)
            ]
        return tf.stack([place, parts[0]], axis=-1), parts[1], tf.cast(parts[2], tf.bool)

    def nearest_state(self, point):
        return tf.clip_by_value(tf.round(point), self.low, self.high)

    def is_terminal(self, state):
        return tf.zeros(state.shape[:-1], tf.bool)


# Those that differ from one of the others in what their chains follow, or in a factor, are in test_controls.py; so are
# ideal_states, which need p*, and that is GridWorld's. dyna_td_frozen is dyna_td: see test_frozen.py.
ALIKE = ("descend_td", "random_sign", "descend_value", "random_direction", "noise_only", "replayed_states")
ALIKE += ("dyna_td_noise", "dyna_td_acceptance", "prioritized_er_exponent")
ALIKE += ("dyna_td_goals", "dyna_value_goals", "dyna_frequency_goals")
AGENTS = [agent for agent in CONTROL_AGENTS if agent not in (*ALIKE, "ideal_states", "dyna_td_frozen")]


def trained(agent: str):
    """`agent` after a short training in all rooms."""
    settings = settings_type("GridWorld", agent)(
        planning_updates=8, learning_rate=5e-3, warm_up_steps=200, exploration=0.5, discount=DISCOUNT, target_period=12
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(twin_program, "make_twin", lambda environment: Rooms())
        # Chain steps as long as the distance between two states.
        patch.setattr(rules, "NOISE_SCALE", 0.5)
        patch.setattr(Dyna, "step_size", 1.0)
        patch.setattr(DynaFrequency, "step_size", 1.0)
        program = twin_program.ControlProgram(Run("rooms", agent, settings, (0, 1, 2), steps=1500))
        program.train(tf.constant(1500))
    return program.agent


@pytest.mark.parametrize("agent", AGENTS)
def test_the_agent_learns_the_known_values(agent):
    learned = trained(agent)
    for number, room in enumerate(ROOMS):
        for x, values in room.values.items():
            q = learned.learner.q(tf.tile([[[float(number)], [x]]], [3, 1, 1])).numpy()[..., 0]
            told = f"{room.__name__}, x = {x}"
            np.testing.assert_allclose(q, np.broadcast_to(values, q.shape), atol=0.15, err_msg=told)
    if agent in DYNA_AGENTS:
        assert (learned.queue.size.numpy() > 1000).all()  # it has learned them from there too
