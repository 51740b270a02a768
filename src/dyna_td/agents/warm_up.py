"""Ablations of how agents learn where episodes end: from their warm-up or from their model. The paper has none.

`warm_up_goal` sets how much the warm-up shows of the goal. `natural`: what the random policy met. `hidden`: nothing,
because the seed's previous transition replaces each transition into the goal. `shown`: as `hidden`, but a fixed policy
walks one episode to the goal in the last 200 steps. `last`: of that episode only the step into the goal is stored.
`walk`: the last 200 steps of a random walk to the goal are stored instead of that episode. `termination` says whether
search control and its model know the environment's rule or learn it.
"""

import copy

import tensorflow as tf

from dyna_td.agents.ablations import UniformStates
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.agents.er import ER
from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.envs.grid_world import PAPER
from dyna_td.errors import UserError
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import compiled
from dyna_td.settings import ControlSettings

MAX_SHOWN = 200  # steps of the demonstration at most
MAX_WALK = 2**21  # steps of the random walk, which needs some ten thousand on average
_WALK = 2**12 - 1  # inner step of the walk's draws, which no simulated mini-batch has


def _through_the_hole(state: tf.Tensor) -> tf.Tensor:
    """GridWorld: moves to the height of the hole, through it, then up and right; [S, 2] -> int32 [S]."""
    x, y = tf.unstack(state, axis=-1)
    up, right, down = tf.zeros_like(x, tf.int32), tf.ones_like(x, tf.int32), 2 * tf.ones_like(x, tf.int32)
    before = tf.where(y < 0.42, up, tf.where(y > 0.48, down, right))
    behind = tf.where(y <= 0.95, up, right)
    return tf.where(x < 0.5, before, tf.where(x <= 0.6, right, behind))


def _along_the_velocity(state: tf.Tensor) -> tf.Tensor:
    """MountainCar: pushes in the direction of the velocity; [S, 2] -> int32 [S]."""
    return tf.where(state[:, 1] >= 0.0, 2, 0)


DEMONSTRATIONS = {"GridWorld": _through_the_hole, "MountainCar-v0": _along_the_velocity}


class _WarmUp:
    """Gives an agent another warm-up; stands before the agent in the list of base classes."""

    def __init__(self, settings: ControlSettings, learner, streams: Streams, space, steps: int):
        name = getattr(space, "dials", PAPER).environment if space.name == "GridWorld" else space.name
        if settings.warm_up_goal in ("shown", "last", "walk") and name not in DEMONSTRATIONS:
            known = " and ".join(DEMONSTRATIONS)
            raise UserError(
                f"warm_up_goal is {settings.warm_up_goal!r} on {name}: only {known} have a policy that shows the "
                "goal; choose hidden or natural."
            )
        is_blind = getattr(settings, "termination", "known") == "learned"
        super().__init__(settings, learner, streams, _without_rule(space) if is_blind else space, steps)
        self.twin = space
        d, count = space.state_dim, streams.count
        self.previous = Transition(
            *(tf.Variable(tf.zeros([count, 1, *shape], kind), trainable=False) for shape, kind in _parts(d))
        )
        start = space.reset(tf.fill([count, space.reset_dim], 0.5)) if hasattr(space, "reset") else tf.zeros([count, d])
        self.demonstrator = tf.Variable(start, trainable=False)
        self.is_shown = tf.Variable(tf.zeros([count], tf.bool), trainable=False)
        if settings.warm_up_goal == "walk":
            length, *parts = compiled(lambda: _random_walk(space, streams))
            self.walk_length = tf.Variable(length, trainable=False)
            self.walk = Transition(*(tf.Variable(part, trainable=False) for part in parts))

    def observe(self, transition: Transition) -> tf.Tensor:
        if self.settings.warm_up_goal != "natural":
            warms_up = self.replay.size < self.settings.warm_up_steps
            transition = self._hide(transition, warms_up)
            if self.settings.warm_up_goal in ("shown", "last"):
                transition = self._show(transition, warms_up)
            if self.settings.warm_up_goal == "walk":
                transition = self._replay_walk(transition, warms_up)
        return super().observe(transition)

    def _hide(self, transition: Transition, warms_up: tf.Tensor) -> Transition:
        """`transition`; if it enters the goal during the warm-up, the seed's previous transition instead."""
        is_hidden = warms_up & (transition.terminated[:, 0] > 0)
        kept = _choose(is_hidden, Transition(*(part.read_value() for part in self.previous)), transition)
        for variable, part in zip(self.previous, kept, strict=True):
            variable.assign(part)
        return kept

    def _show(self, transition: Transition, warms_up: tf.Tensor) -> Transition:
        """The demonstration's next step, in the last steps of the warm-up until it ends; else `transition`."""
        size = self.replay.size
        is_showing = warms_up & (size >= self.settings.warm_up_steps - MAX_SHOWN) & ~self.is_shown
        state = self.demonstrator.read_value()
        action = DEMONSTRATIONS[self.twin.name](state)
        # Search control draws with this purpose only after the warm-up, so random numbers do not repeat.
        noise = self.streams.normal(Purpose.SIMULATED_ENVIRONMENT, (self.twin.noise_dim,), step=size)
        next_state, reward, terminated = self.twin.step(state, action, noise)
        shown = Transition(state, action, reward, next_state, tf.cast(terminated, tf.float32))
        self.demonstrator.assign(tf.where(is_showing[:, None], next_state, state))
        self.is_shown.assign(self.is_shown | (is_showing & terminated))
        is_stored = is_showing & terminated if self.settings.warm_up_goal == "last" else is_showing
        return _choose(is_stored, Transition(*(part[:, None] for part in shown)), transition)

    def _replay_walk(self, transition: Transition, warms_up: tf.Tensor) -> Transition:
        """The random walk's next step in the last steps of the warm-up; else `transition`."""
        index = self.replay.size - (self.settings.warm_up_steps - MAX_SHOWN)
        column = tf.clip_by_value(index, 0, MAX_SHOWN - 1)
        walked = Transition(*(tf.gather(part, [column], axis=1) for part in self.walk))
        return _choose(warms_up & (index >= MAX_SHOWN - self.walk_length), walked, transition)


class ERWarmUp(_WarmUp, ER):
    """This is ER with: another warm-up."""


class PrioritizedERWarmUp(_WarmUp, PrioritizedER):
    """This is PrioritizedER with: another warm-up."""


class DynaTDWarmUp(_WarmUp, DynaTD):
    """This is Dyna-TD with: another warm-up, or a termination rule that is learned."""


class UniformStatesWarmUp(_WarmUp, UniformStates):
    """This is the ablation `UniformStates` with: another warm-up, or a termination rule that is learned."""


def _random_walk(space, streams: Streams) -> tuple[tf.Tensor, ...]:
    """The last transitions of a random walk from the start into the goal, without a time limit.

    Returns:
      Their number, int32 [S], at most `MAX_SHOWN`, and their parts, [S, MAX_SHOWN, ...], which end with the goal.
    """
    count = streams.count

    def walks(ended):
        return ended[:, -1] == 0.0

    def advance(t, state, length, *walk):
        is_walking = walks(walk[-1])
        action = tf.cast(streams.uniform(Purpose.SIMULATED_EXPLORE, (), t, _WALK) * space.actions, tf.int32)
        noise = streams.normal(Purpose.SIMULATED_ENVIRONMENT, (space.noise_dim,), t, _WALK)
        next_state, reward, terminated = space.step(state, action, noise)
        latest = (state, action, reward, next_state, tf.cast(terminated, tf.float32))
        longer = [tf.concat([part[:, 1:], new[:, None]], 1) for part, new in zip(walk, latest, strict=True)]
        kept = _choose(is_walking, Transition(*longer), Transition(*walk))
        length = tf.where(is_walking, tf.minimum(length + 1, MAX_SHOWN), length)
        return t + 1, tf.where(is_walking[:, None], next_state, state), length, *kept

    start = space.reset(tf.fill([count, space.reset_dim], 0.5))
    empty = [tf.zeros([count, MAX_SHOWN, *shape], kind) for shape, kind in _parts(space.state_dim)]
    first = (tf.constant(0), start, tf.zeros([count], tf.int32), *empty)
    _, _, *found = tf.while_loop(
        lambda t, _, __, *walk: tf.reduce_any(walks(walk[-1])) & (t < MAX_WALK), advance, first
    )
    return tuple(found)


def _without_rule(space):
    """The space without its termination rule: no state counts as terminal, and a learned model predicts ends."""
    space = copy.copy(space)
    space.knows_termination = False
    space.is_terminal = lambda state: tf.zeros(tf.shape(state)[:-1], tf.bool)
    return space


def _parts(d: int) -> list[tuple[tuple[int, ...], tf.DType]]:
    """The shape and type of each part of a transition, without the leading axes [S, 1]."""
    return [((d,), tf.float32), ((), tf.int32), ((), tf.float32), ((d,), tf.float32), ((), tf.float32)]


def _choose(condition: tf.Tensor, chosen: Transition, other: Transition) -> Transition:
    """`chosen` where `condition` [S] holds, else `other`; each has one transition a seed."""
    return Transition(
        *(
            tf.where(tf.reshape(condition, [-1] + [1] * (len(a.shape) - 1)), a, b)
            for a, b in zip(chosen, other, strict=True)
        )
    )
