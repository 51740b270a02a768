"""DDPG (Lillicrap et al., 2016): the values of action vectors, and an actor that climbs them (figure 6)."""

from collections.abc import Callable

import tensorflow as tf

from dyna_td.learning.networks import ACTIVATIONS, OUTPUT_LIMIT, Adam, StackedNetwork, all_finite, as_columns, as_rows
from dyna_td.learning.q_learning import squared
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.settings import DDPGSettings

_ACTOR_INDEX = 2  # gives the actor its own initial weights; the critic has 0, the model 1


class DDPG(tf.Module):
    """Q(s, a), pi(s) and their target networks for each of S seeds, with the interface of `q_learning.DQN`.

    Actions are vectors [S, B, a] in [-1, 1]; `programs.environments` scales them to the environment's bounds.

    Args:
      settings: the networks' sizes, step sizes, noise, discount and the targets' rate.
      streams: the S seeds.
      space: state_dim d and action_dim a of the environment.
    """

    def __init__(self, settings: DDPGSettings, streams: Streams, space):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.action_dim = space.action_dim
        d, a, activation = space.state_dim, space.action_dim, ACTIVATIONS[settings.activation]

        def make(outputs: int, joining: int, index: int) -> StackedNetwork:
            return StackedNetwork(streams, (d, *settings.hidden, outputs), activation, OUTPUT_LIMIT, index, joining)

        self.critic, self.critic_target = make(1, a, 0), make(1, a, 0)
        self.actor, self.actor_target = make(a, 0, _ACTOR_INDEX), make(a, 0, _ACTOR_INDEX)
        self.optimizer = Adam(settings.learning_rate, self.critic.parameters)
        self.actor_optimizer = Adam(settings.actor_learning_rate, self.actor.parameters)
        self.noise = tf.Variable(tf.zeros([streams.count, a]), trainable=False)  # x, the behaviour policy's

    # Acting.

    def explore(self, state: tf.Tensor, step: tf.Tensor, warming_up: tf.Tensor) -> tf.Tensor:
        """The behaviour policy's action in the state [S, d] of each seed: pi(s) plus the next noise x, [S, a].

        It is uniformly random while warming up.
        """
        random = 2.0 * self.streams.uniform(Purpose.EXPLORE, (self.action_dim,), step=step) - 1.0
        innovation = self.streams.normal(Purpose.EXPLORE_NOISE, (self.action_dim,), step=step)
        self.noise.assign(tf.where(warming_up, self.noise, self._next_noise(self.noise, innovation)))
        return tf.where(warming_up, random, _inside(self.greedy(state[:, None])[:, 0] + self.noise))

    def exploit(self, state: tf.Tensor, step: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        """The evaluated policy's actions in states [S, B, d], pi(s): [S, B, a]."""
        return self.greedy(state)

    def on_policy(self, state: tf.Tensor, step: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        """On-policy actions in the states [S, B, d] of the k-th simulated mini-batch, [S, B, a].

        Each is pi(s) + x, where x is the behaviour policy's noise after one more step (released code).
        """
        shape = (state.shape[1], self.action_dim)
        innovation = self.streams.normal(Purpose.SIMULATED_EXPLORE, shape, step=step, inner=k)
        return _inside(self.greedy(state) + self._next_noise(self.noise[:, None], innovation))

    def greedy(self, state: tf.Tensor) -> tf.Tensor:
        """pi(s): [S, B, d] -> [S, B, a]."""
        return as_rows(_policy(self.actor, as_columns(state)))

    def _next_noise(self, noise, innovation):
        return noise + self.settings.noise_scale * innovation - self.settings.noise_decay * noise

    # Values.

    def value(self, columns: tf.Tensor) -> tf.Tensor:
        """Q(s, pi(s)): columns [S, d, B] -> [S, B]; search control takes gradients through Q and pi."""
        return self.critic(columns, _policy(self.actor, columns))[:, 0]

    def q_value(self, state: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Q(s, a): [S, B, d] and [S, B, a] -> [S, B]."""
        return self.critic(as_columns(state), as_columns(action))[:, 0]

    def td_target(self, batch: Transition, online: bool = False) -> tf.Tensor:
        """y = r + gamma Q'(s', pi'(s')), or r at a terminal s': [S, B]; Q', pi' are the targets, if not `online`."""
        actor, critic = (self.actor, self.critic) if online else (self.actor_target, self.critic_target)
        columns = as_columns(batch.next_state)
        bootstrap = critic(columns, _policy(actor, columns))[:, 0]
        return batch.reward + self.settings.discount * (1.0 - batch.terminated) * bootstrap

    def td_error(self, batch: Transition) -> tf.Tensor:
        """delta = y - Q(s, a): [S, B]."""
        return self.td_target(batch) - self.q_value(batch.state, batch.action)

    # Learning.

    def update(
        self, batch: Transition, weight: tf.Tensor, loss: Callable[[tf.Tensor], tf.Tensor] = squared
    ) -> tf.Tensor:
        """Updates the critic and the actor, and moves the target networks a little; see `DQN.update`."""
        with tf.GradientTape() as tape:
            td_error = self.td_error(batch)
            critic_loss = tf.reduce_sum(tf.reduce_mean(weight * loss(td_error), axis=1))  # seeds share no parameter
        self.optimizer.apply(tape.gradient(critic_loss, self.critic.parameters))
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self.actor.parameters)
            actor_loss = -tf.reduce_sum(tf.reduce_mean(self.value(as_columns(batch.state)), axis=1))
        self.actor_optimizer.apply(tape.gradient(actor_loss, self.actor.parameters))
        self.critic_target.move_towards(self.critic, self.settings.target_rate)
        self.actor_target.move_towards(self.actor, self.settings.target_rate)
        return td_error

    def is_finite(self) -> tf.Tensor:
        """Whether all parameters of a seed's critic and actor are finite: bool [S]."""
        return all_finite([*self.critic.parameters, *self.actor.parameters])


def _policy(actor: StackedNetwork, columns: tf.Tensor) -> tf.Tensor:
    """The actor's actions in columns of states: [S, d, B] -> [S, a, B]."""
    return tf.tanh(actor(columns))


def _inside(action: tf.Tensor) -> tf.Tensor:
    return tf.clip_by_value(action, -1.0, 1.0)
