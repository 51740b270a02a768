"""Tiny MDPs with action values that are known exactly; the first one that an agent fails names its bug.

All are rooms of one environment, so that an agent is trained once: a state is (number of the room, x).
"""

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import Space
from files import tiers
from helpers import settings_of

from dyna_td.programs import twin
from dyna_td.runs.registry import AGENTS, agents_on
from dyna_td.runs.run import Run
from dyna_td.search import rules

DISCOUNT = 0.8

# For each room: Q(x, 0) and Q(x, 1) by x, and a function from x and the action to the next x, the reward and the end.
ROOMS = {
    "one reward": ({0.0: (1.0, 1.0)}, lambda x, action: (x, 1.0, 1.0)),
    "reward by state": ({-1.0: (-1.0, -1.0), 1.0: (1.0, 1.0)}, lambda x, action: (x, x, 1.0)),
    "delayed reward": (  # it comes with the second step, and must be discounted once
        {0.0: (DISCOUNT, DISCOUNT), 1.0: (1.0, 1.0)},
        lambda x, action: (tf.minimum(x + 1.0, 1.0), x, tf.maximum(x, 0.0)),
    ),
    "reward by action": ({0.0: (-1.0, 1.0)}, lambda x, action: (x, 2.0 * action - 1.0, 1.0)),
    "choose, then earn": (  # action 1 leads to x = 1, where action 0 earns: the target must take the best action there
        {0.0: (0.0, DISCOUNT), 1.0: (1.0, 0.0)},
        lambda x, action: (1.0, tf.maximum(x, 0.0) * (1.0 - action), tf.maximum(x, 1.0 - action)),
    ),
    "endless": ({0.0: (5.0, 5.0)}, lambda x, action: (x, 1.0, 0.0)),  # the time limit must not cut the bootstrap
}


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
    starts = ((0.0, 0.0), (1.0, -1.0), (1.0, 1.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0), (5.0, 0.0))

    def reset(self, uniforms):
        number = tf.cast(uniforms[..., 0] * len(self.starts), tf.int32)
        return tf.gather(tf.constant(self.starts), number)

    def step(self, state, action, noise):
        place, x, action = state[..., 0], state[..., 1], tf.cast(action, tf.float32)
        parts = [tf.zeros_like(x)] * 3
        for number, (_, outcome) in enumerate(ROOMS.values()):
            of_room = [part * tf.ones_like(x) for part in outcome(x, action)]
            parts = [tf.where(place == number, new, old) for new, old in zip(of_room, parts, strict=True)]
        return tf.stack([place, parts[0]], axis=-1), parts[1], tf.cast(parts[2], tf.bool)

    def nearest_state(self, point):
        return tf.clip_by_value(tf.round(point), self.low, self.high)

    def is_terminal(self, state):
        return tf.zeros(state.shape[:-1], tf.bool)


# One agent for each class, because some names differ only in a number. Ablations with another criterion, or with p* of
# GridWorld, are in test_ablations.py. The quick tier has Dyna-TD, half of whose mini-batch is ER's.
CLASSES = {AGENTS[name].path: name for name in reversed(agents_on("MountainCar-v0"))}
ELSEWHERE = ("descend_td", "random_sign", "descend_value", "random_direction", "noise_only", "replayed_states")
NAMES = sorted({*CLASSES.values(), "dyna_td_long"} - set(ELSEWHERE))


@pytest.mark.parametrize("name", tiers(NAMES, quick=("dyna_td",)))
def test_the_agent_learns_the_known_values(name, monkeypatch):
    chains = {"step_size": 1.0} if AGENTS[name].dyna else {}  # the distance between two states
    numbers = {"planning_updates": 8, "learning_rate": 5e-3, "warm_up_steps": 200, "exploration": 0.5}
    settings = settings_of("MountainCar-v0", name, **numbers, discount=DISCOUNT, target_period=12, **chains)
    monkeypatch.setattr(twin, "make_twin", lambda environment: Rooms())
    monkeypatch.setattr(rules, "NOISE_SCALE", 0.5)
    program = twin.TwinProgram(Run("rooms", name, settings, (0, 1, 2), steps=1500))
    assert isinstance(program.twin, Rooms)
    program.train(tf.constant(1500))
    for number, (room, (values_at, _)) in enumerate(ROOMS.items()):
        for x, values in values_at.items():
            q = program.agent.learner.q(tf.tile([[[float(number)], [x]]], [3, 1, 1])).numpy()[..., 0]
            # The median of three seeds: one that has not converged is no bug, and the CPU's rounding decides which one.
            np.testing.assert_allclose(np.median(q, axis=0), values, atol=0.15, err_msg=f"{room}, x = {x}")
    if AGENTS[name].dyna:
        assert (program.agent.queue.size.numpy() > 1000).all()  # so it has also learned from its queue
