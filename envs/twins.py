"""TensorFlow twins of the classic environments: the same dynamics on tensors, for compiled training and planning.

A twin is a pure function of observations and explicit random numbers, elementwise over any leading axes. So XLA can
compile it, and a row's result does not depend on its neighbours. Callers apply the time limits.
"""

from collections.abc import Sequence
from math import pi

import numpy as np
import tensorflow as tf
from dyna_td.envs import KNOWN
from dyna_td.envs.grid_world import (
    GRID_WALLS,
    MAZE_WALLS,
    PAPER,
    START_HIGH,
    STEP_LENGTH,
    Dials,
    Wall,
    in_goal,
    in_wall,
)
from dyna_td.envs.spaces import Space


class Twin(Space):
    """The dynamics of one environment on observations.

    Attributes:
      reset_dim: uniform numbers that `reset` needs.
      noise_dim: standard normal numbers that `step` needs.
    """

    reset_dim: int

    @property
    def time_limit(self) -> int:
        """The longest episode in steps."""
        return KNOWN[self.name].time_limit

    def reset(self, uniforms: tf.Tensor) -> tf.Tensor:
        """Maps uniforms in [0, 1), float32 [..., reset_dim], to initial states [..., state_dim]."""
        raise NotImplementedError

    def step(self, state: tf.Tensor, action: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """One transition from each state.

        Args:
          state: float32 [..., state_dim].
          action: int32 [...].
          noise: standard normals, float32 [..., noise_dim].

        Returns:
          The next state (float32 [..., state_dim]), the reward (float32 [...]) and whether the next state is terminal
          (bool [...]).
        """
        raise NotImplementedError


class GridWorldTwin(Twin):
    """Twin of `envs.grid_world.GridWorld`, also with other `Dials`."""

    name = "GridWorld"
    state_dim = 2
    actions = 4
    reset_dim = 2
    noise_dim = 1
    low = np.zeros(2, np.float32)
    high = np.ones(2, np.float32)
    shares_one_unit = True
    walls: Sequence[Wall] = GRID_WALLS

    def __init__(self, dials: Dials = PAPER):
        self.dials = dials
        self.noise_dim = 2 if dials.rewardnoise else 1

    def reset(self, uniforms):
        """See `Twin.reset`."""
        return START_HIGH * uniforms

    def step(self, state, action, noise):
        """See `Twin.step`; `envs.grid_world.transition` has the rules."""
        x, y = tf.unstack(state, axis=-1)  # [...]
        horizontal = tf.equal(action % 2, 1)  # right 1, left 3
        noise_of_length = self.dials.stepnoise * noise[..., 0]
        move = tf.where(action < 2, STEP_LENGTH, -STEP_LENGTH) + noise_of_length  # up 0, right 1 grow
        moved_x = tf.where(horizontal, x + move, x)
        moved_y = tf.where(horizontal, y, y + move)
        blocked = in_wall(moved_x, moved_y, self.walls)
        next_x = tf.clip_by_value(tf.where(blocked, x, moved_x), 0.0, 1.0)
        next_y = tf.clip_by_value(tf.where(blocked, y, moved_y), 0.0, 1.0)
        terminated = in_goal(next_x, next_y, self.dials)
        reward = tf.where(terminated, 0.0, -1.0)
        if self.dials.rewardnoise:
            reward += self.dials.rewardnoise * noise[..., 1]
        return tf.stack([next_x, next_y], axis=-1), reward, terminated

    def is_terminal(self, state):
        """See `Twin.is_terminal`."""
        return in_goal(state[..., 0], state[..., 1], self.dials)


class MazeGridWorldTwin(GridWorldTwin):
    """Twin of `envs.grid_world.MazeGridWorld`."""

    name = "MazeGridWorld"
    walls = MAZE_WALLS


class MountainCarTwin(Twin):
    """Twin of Gymnasium's MountainCar-v0: state (position, velocity), actions push left, none, push right."""

    name = "MountainCar-v0"
    state_dim = 2
    actions = 3
    reset_dim = 1
    low = np.array([-1.2, -0.07], np.float32)
    high = np.array([0.6, 0.07], np.float32)

    def reset(self, uniforms):
        """See `Twin.reset`: position uniform in [-0.6, -0.4), at rest."""
        position = 0.2 * uniforms - 0.6  # [..., 1]
        return tf.concat([position, tf.zeros_like(position)], axis=-1)

    def step(self, state, action, noise):
        """See `Twin.step`."""
        position, velocity = tf.unstack(state, axis=-1)  # [...]
        push = 0.001 * tf.cast(action - 1, tf.float32)
        velocity = tf.clip_by_value(velocity + push - 0.0025 * tf.cos(3.0 * position), -0.07, 0.07)
        position = tf.clip_by_value(position + velocity, -1.2, 0.6)
        velocity = tf.where(position <= -1.2, tf.maximum(velocity, 0.0), velocity)  # the left end stops the car
        next_state = tf.stack([position, velocity], axis=-1)
        return next_state, -tf.ones_like(position), self.is_terminal(next_state)

    def is_terminal(self, state):
        """See `Twin.is_terminal`."""
        return (state[..., 0] >= 0.5) & (state[..., 1] >= 0.0)


class CartPoleTwin(Twin):
    """Twin of Gymnasium's CartPole-v1: state (x, x', theta, theta'), actions push left, push right."""

    name = "CartPole-v1"
    state_dim = 4
    actions = 2
    reset_dim = 4
    # Gymnasium's positions; its velocities are unbounded, and the released code takes 10.
    high = np.array([4.8, 10.0, 24 * pi / 180, 10.0], np.float32)
    low = -high

    def reset(self, uniforms):
        """See `Twin.reset`: uniform in [-0.05, 0.05)^4."""
        return 0.1 * uniforms - 0.05

    def step(self, state, action, noise):
        """See `Twin.step`; the cart weighs 1, the pole 0.1, the pole's half length is 0.5 and the time step 0.02 s."""
        x, x_dot, theta, theta_dot = tf.unstack(state, axis=-1)  # [...]
        force = tf.where(tf.equal(action, 1), 10.0, -10.0)
        cos, sin = tf.cos(theta), tf.sin(theta)
        push = (force + 0.05 * tf.square(theta_dot) * sin) / 1.1
        theta_acceleration = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 / 1.1 * tf.square(cos)))
        x_acceleration = push - 0.05 / 1.1 * theta_acceleration * cos
        next_x, next_theta = x + 0.02 * x_dot, theta + 0.02 * theta_dot
        next_state = [next_x, x_dot + 0.02 * x_acceleration, next_theta, theta_dot + 0.02 * theta_acceleration]
        next_state = tf.stack(next_state, axis=-1)
        return next_state, tf.ones_like(x), self.is_terminal(next_state)

    def is_terminal(self, state):
        """See `Twin.is_terminal`."""
        return (tf.abs(state[..., 0]) > 2.4) | (tf.abs(state[..., 2]) > 12 * pi / 180)


class AcrobotTwin(Twin):
    """Twin of Gymnasium's Acrobot-v1: state (cos t1, sin t1, cos t2, sin t2, t1', t2'), actions torque -1, 0, 1."""

    name = "Acrobot-v1"
    state_dim = 6
    actions = 3
    reset_dim = 4
    high = np.array([1.0, 1.0, 1.0, 1.0, 4 * pi, 9 * pi], np.float32)
    low = -high

    def reset(self, uniforms):
        """See `Twin.reset`: angles and velocities uniform in [-0.1, 0.1)^4."""
        theta1, theta2, velocity1, velocity2 = tf.unstack(0.2 * uniforms - 0.1, axis=-1)
        return _acrobot_observation(theta1, theta2, velocity1, velocity2)

    def step(self, state, action, noise):
        """See `Twin.step`; one Runge-Kutta step of 0.2 s."""
        # At high speeds a step multiplies rounding a thousandfold, so it computes in float64, as Gymnasium does.
        cos1, sin1, cos2, sin2, velocity1, velocity2 = tf.unstack(tf.cast(state, tf.float64), axis=-1)  # [...]
        torque = tf.cast(action - 1, tf.float64)
        angles = [tf.atan2(sin1, cos1), tf.atan2(sin2, cos2)]
        theta1, theta2, velocity1, velocity2 = _runge_kutta(
            lambda s: _acrobot_derivatives(*s, torque), [*angles, velocity1, velocity2], 0.2
        )
        # Gymnasium wraps the angles here; their cosines and sines do not need it.
        velocity1 = tf.clip_by_value(velocity1, -4 * pi, 4 * pi)
        velocity2 = tf.clip_by_value(velocity2, -9 * pi, 9 * pi)
        next_state = tf.cast(_acrobot_observation(theta1, theta2, velocity1, velocity2), tf.float32)
        terminated = -tf.cos(theta1) - tf.cos(theta1 + theta2) > 1.0
        return next_state, tf.where(terminated, 0.0, -1.0), terminated

    def is_terminal(self, state):
        """See `Twin.is_terminal`; -cos t1 - cos(t1 + t2) > 1, the free end is above the line."""
        cos1, sin1, cos2, sin2, _, _ = tf.unstack(state, axis=-1)
        return -cos1 - (cos1 * cos2 - sin1 * sin2) > 1.0

    def nearest_state(self, point):
        """See `Twin.nearest_state`; each pair (cos, sin) is moved to the unit circle, (0, 0) to angle 0."""
        cos1, sin1, cos2, sin2, velocity1, velocity2 = tf.unstack(super().nearest_state(point), axis=-1)
        return tf.stack([*_on_circle(cos1, sin1), *_on_circle(cos2, sin2), velocity1, velocity2], axis=-1)


def _on_circle(cos, sin):
    length = tf.sqrt(tf.square(cos) + tf.square(sin))
    at_centre = length < 1e-6
    length = tf.where(at_centre, 1.0, length)
    return tf.where(at_centre, 1.0, cos / length), tf.where(at_centre, 0.0, sin / length)


def _acrobot_observation(theta1, theta2, velocity1, velocity2):
    return tf.stack([tf.cos(theta1), tf.sin(theta1), tf.cos(theta2), tf.sin(theta2), velocity1, velocity2], axis=-1)


def _acrobot_derivatives(theta1, theta2, velocity1, velocity2, torque):
    """Time derivatives of the four coordinates, for links of mass, length and inertia 1 (Sutton and Barto)."""
    cos2, sin2 = tf.cos(theta2), tf.sin(theta2)
    d1 = 3.5 + cos2
    d2 = 1.25 + 0.5 * cos2
    phi2 = 4.9 * tf.sin(theta1 + theta2)
    phi1 = 14.7 * tf.sin(theta1) + phi2 - sin2 * velocity2 * (0.5 * velocity2 + velocity1)
    ratio = d2 / d1
    acceleration2 = (torque + ratio * phi1 - 0.5 * tf.square(velocity1) * sin2 - phi2) / (1.25 - d2 * ratio)
    acceleration1 = -(d2 * acceleration2 + phi1) / d1
    return [velocity1, velocity2, acceleration1, acceleration2]


def _runge_kutta(derivatives, state, dt):
    """One classical fourth-order step of length `dt` (s) of a list of coordinates, each [...]."""

    def ahead(slopes, time):
        return [s + time * slope for s, slope in zip(state, slopes, strict=True)]

    k1 = derivatives(state)
    k2 = derivatives(ahead(k1, dt / 2))
    k3 = derivatives(ahead(k2, dt / 2))
    k4 = derivatives(ahead(k3, dt))
    mean = [(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
    return ahead(mean, dt)
