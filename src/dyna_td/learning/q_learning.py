"""Deep Q-learning (Mnih et al., 2015): the values of discrete actions, and the policy that is greedy in them.

`DQN` and `ddpg.DDPG` have the same interface, so an agent works with both kinds of actions. The agent chooses the
transitions of a mini-batch; the learner learns from them, and acts. Actions are int32 [S, B] here and vectors [S, B, a]
in DDPG.
"""

from collections.abc import Callable

import tensorflow as tf

from dyna_td.learning.networks import ACTIVATIONS, OUTPUT_LIMIT, Adam, StackedNetwork, all_finite, as_columns
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.settings import DQNSettings


def squared(td_error: tf.Tensor) -> tf.Tensor:
    """delta^2, in the shape of `td_error`: not halved, not clipped, and not Huber's loss."""
    return td_error**2


class DQN(tf.Module):
    """Q(s, .) and its target network, for each of S seeds.

    Args:
      settings: the networks' size, step size, epsilon, discount and tau.
      streams: the S seeds.
      space: state_dim d and the number of actions A of the environment.
    """

    def __init__(self, settings: DQNSettings, streams: Streams, space):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.actions = space.actions
        sizes = (space.state_dim, *settings.hidden, space.actions)
        activation = ACTIVATIONS[settings.activation]
        self.q = StackedNetwork(streams, sizes, activation, OUTPUT_LIMIT)
        self.q_target = StackedNetwork(streams, sizes, activation, OUTPUT_LIMIT)  # the same draws, so the same weights
        self.optimizer = Adam(settings.learning_rate, self.q.parameters)

    # Acting.

    def explore(self, state: tf.Tensor, step: tf.Tensor, warming_up: tf.Tensor) -> tf.Tensor:
        """The behaviour policy's action in the state [S, d] of each seed, int32 [S]; random while warming up."""
        epsilon = tf.where(warming_up, 1.0, self.settings.exploration)
        return self.act(state[:, None], epsilon, self.streams.uniform(Purpose.EXPLORE, (1, 2), step=step))[:, 0]

    def exploit(self, state: tf.Tensor, step: tf.Tensor, t: tf.Tensor) -> tf.Tensor:
        """The evaluated policy's actions in states [S, B, d] at the t-th step of an evaluation: int32 [S, B]."""
        shape = (state.shape[1], 2)
        explore = self.streams.uniform(Purpose.EVALUATION_EXPLORE, shape, step=step, inner=t)
        return self.act(state, self.settings.evaluation_exploration, explore)

    def on_policy(self, state: tf.Tensor, step: tf.Tensor, k: tf.Tensor) -> tf.Tensor:
        """On-policy actions in the states [S, B, d] of the k-th simulated mini-batch: int32 [S, B]."""
        explore = self.streams.uniform(Purpose.SIMULATED_EXPLORE, (state.shape[1], 2), step=step, inner=k)
        return self.act(state, self.settings.exploration, explore)

    def greedy(self, state: tf.Tensor) -> tf.Tensor:
        """argmax_a Q(s, a): [S, B, d] -> int32 [S, B]."""
        return tf.argmax(self.q(as_columns(state)), axis=1, output_type=tf.int32)

    def act(self, state: tf.Tensor, epsilon, uniforms: tf.Tensor) -> tf.Tensor:
        """Epsilon-greedy actions.

        Args:
          state: [S, B, d].
          epsilon: probability of a uniformly random action.
          uniforms: [S, B, 2] in [0, 1).

        Returns:
          int32 [S, B].
        """
        random = tf.cast(uniforms[..., 1] * self.actions, tf.int32)
        return tf.where(uniforms[..., 0] < epsilon, random, self.greedy(state))

    # Values.

    def value(self, columns: tf.Tensor) -> tf.Tensor:
        """V(s) = max_a Q(s, a): columns [S, d, B] -> [S, B]; search control takes its gradients."""
        return tf.reduce_max(self.q(columns), axis=1)

    def q_value(self, state: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Q(s, a): [S, B, d] and int32 [S, B] -> [S, B]."""
        q = self.q(as_columns(state))  # [S, A, B]
        return tf.reduce_sum(q * tf.one_hot(action, self.actions, axis=1), axis=1)

    def td_target(self, batch: Transition, online: bool = False) -> tf.Tensor:
        """y = r + gamma max_a Q_target(s', a), or r at a terminal s': [S, B]; `online` replaces Q_target by Q."""
        network = self.q if online else self.q_target
        bootstrap = tf.reduce_max(network(as_columns(batch.next_state)), axis=1)
        return batch.reward + self.settings.discount * (1.0 - batch.terminated) * bootstrap

    def td_error(self, batch: Transition) -> tf.Tensor:
        """delta = y - Q(s, a): [S, B]."""
        return self.td_target(batch) - self.q_value(batch.state, batch.action)

    # Learning.

    def update(
        self, batch: Transition, weight: tf.Tensor, loss: Callable[[tf.Tensor], tf.Tensor] = squared
    ) -> tf.Tensor:
        """Updates theta, and copies it to the target network every tau updates.

        Args:
          batch: [S, b].
          weight: of each transition in the loss, [S, b] or a scalar.
          loss: maps delta to each transition's loss, [S, b] -> [S, b].

        Returns:
          delta, the TD errors before the update: [S, b].
        """
        with tf.GradientTape() as tape:
            td_error = self.td_error(batch)  # y has the target network's parameters, so no gradient flows through it
            mean = tf.reduce_mean(weight * loss(td_error), axis=1)  # [S]
            total = tf.reduce_sum(mean)  # seeds share no parameter, so gradients stay apart
        self.optimizer.apply(tape.gradient(total, self.q.parameters))
        self.q_target.copy_from(self.q, when=self.target_has_moved())
        return td_error

    def target_has_moved(self) -> tf.Tensor:
        """Whether the latest update copied theta to the target network: scalar bool; true before the first update."""
        return tf.equal(self.optimizer.updates % self.settings.target_period, 0)

    def is_finite(self) -> tf.Tensor:
        """Whether all parameters of a seed's Q are finite: bool [S]."""
        return all_finite(self.q.parameters)
