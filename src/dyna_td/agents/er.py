"""ER: deep Q-learning with uniform experience replay (Lin, 1992; Mnih et al., 2015)."""

import tensorflow as tf

from dyna_td.networks import OUTPUT_LIMIT, StackedNetwork, adam, as_columns
from dyna_td.replay import Replay, Transition
from dyna_td.runs import ControlSettings
from dyna_td.streams import Purpose, Streams


class ER(tf.Module):
    """This is Algorithm 1 with rho = 0: every mini-batch is drawn uniformly from B_er.

    Args:
      settings: the agent's numbers.
      streams: the S seeds.
      state_dim: d, length of a state.
      actions: |A|, number of actions.
      steps: environment steps of the whole run; the buffer never holds more.
    """

    def __init__(self, settings: ControlSettings, streams: Streams, state_dim: int, actions: int, steps: int):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.actions = actions
        sizes = (state_dim, *settings.hidden, actions)
        self.q = StackedNetwork(streams, sizes, tf.nn.relu, OUTPUT_LIMIT)
        self.q_target = StackedNetwork(streams, sizes, tf.nn.relu, OUTPUT_LIMIT)  # the same draws, so the same weights
        self.optimizer = adam(settings.learning_rate, self.q.parameters)
        self.replay = Replay(streams.count, min(settings.buffer_capacity, steps), state_dim)
        self.updates = tf.Variable(0, dtype=tf.int64)  # n_tau of Algorithm 4

    def act(self, state: tf.Tensor, epsilon, uniforms: tf.Tensor) -> tf.Tensor:
        """Epsilon-greedy actions.

        Args:
          state: [S, d].
          epsilon: probability of a uniformly random action.
          uniforms: [S, 2] in [0, 1).

        Returns:
          int32 [S].
        """
        greedy = tf.argmax(self.q(state[:, :, None])[..., 0], axis=1, output_type=tf.int32)
        random = tf.cast(uniforms[:, 1] * self.actions, tf.int32)
        return tf.where(uniforms[:, 0] < epsilon, random, greedy)

    def observe(self, transition: Transition) -> tf.Tensor:
        """Adds the newest transition (B = 1) to B_er and returns the place it took: int32 scalar."""
        return self.replay.add(transition)

    def learn(self, step: tf.Tensor, planning_updates: tf.Tensor) -> None:
        """The n mini-batch updates after an environment step; n is an int32 scalar tensor."""
        k = tf.constant(0)
        while k < planning_updates:  # not tf.range: XLA would want its length when it compiles
            self.update(step, k)
            k += 1

    def update(self, step: tf.Tensor, k: tf.Tensor) -> None:
        """One update of theta on a mini-batch from B_er; every tau updates the target network follows."""
        places, weight = self.draw(step, k)  # [S, b]
        batch = self.replay.gather(places)
        target = self.td_target(batch)
        with tf.GradientTape() as tape:
            td_error = target - self.q_value(batch.state, batch.action)  # delta, [S, b]
            loss = tf.reduce_mean(weight * td_error**2, axis=1)  # [S]; mean squared error, neither clipped nor Huber's
            loss = tf.reduce_sum(loss)  # seeds share no parameter, so the sum parts again
        gradients = tape.gradient(loss, self.q.parameters)
        self.optimizer.apply_gradients(zip(gradients, self.q.parameters, strict=True))
        self.updates.assign_add(1)
        self.q_target.copy_from(self.q, when=self.target_is_due())
        self.after_update(places, td_error)

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The k-th mini-batch of this step: places in B_er, int32 [S, b], and what each counts in the loss."""
        shape = (self.settings.batch_size,)
        return self.streams.integers(Purpose.UNIFORM_BATCH, shape, self.replay.size, step=step, inner=k), tf.ones([])

    def after_update(self, places: tf.Tensor, td_error: tf.Tensor) -> None:
        """Called after each update with the mini-batch; uniform replay has nothing to do."""
        return

    def td_target(self, batch: Transition) -> tf.Tensor:
        """y = r + gamma max_a Q_target(s', a), without the bootstrap at a terminal s': [S, B]."""
        bootstrap = tf.reduce_max(self.q_target(as_columns(batch.next_state)), axis=1)
        return batch.reward + self.settings.discount * (1.0 - batch.terminated) * bootstrap

    def q_value(self, state: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Q(s, a): [S, B, d] and int32 [S, B] -> [S, B]."""
        q = self.q(as_columns(state))  # [S, A, B]
        return tf.reduce_sum(q * tf.one_hot(action, self.actions, axis=1), axis=1)

    def target_is_due(self) -> tf.Tensor:
        """Whether the target network was copied at the latest update: scalar bool (tau parameter updates)."""
        return tf.equal(self.updates % self.settings.target_period, 0)
