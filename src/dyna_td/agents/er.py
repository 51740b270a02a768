"""ER: deep Q-learning with uniform experience replay (Lin, 1992; Mnih et al., 2015)."""

import tensorflow as tf

from dyna_td.networks import ACTIVATIONS, OUTPUT_LIMIT, StackedNetwork, adam, as_columns
from dyna_td.replay import Replay, Transition
from dyna_td.runs import ControlSettings
from dyna_td.streams import Purpose, Streams


class ER(tf.Module):
    """This is Algorithm 1 with rho = 0: every mini-batch is drawn uniformly from B_er.

    Args:
      settings: the agent's numbers.
      streams: the S seeds.
      twin: the environment's twin (`envs.twins.Twin`); ER itself reads only its state_dim d and its number of actions.
      steps: environment steps of the whole run; the buffer never holds more.
    """

    def __init__(self, settings: ControlSettings, streams: Streams, twin, steps: int):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.actions = twin.actions
        sizes = (twin.state_dim, *settings.hidden, twin.actions)
        activation = ACTIVATIONS[settings.activation]
        self.q = StackedNetwork(streams, sizes, activation, OUTPUT_LIMIT)
        self.q_target = StackedNetwork(streams, sizes, activation, OUTPUT_LIMIT)  # the same draws, so the same weights
        self.optimizer = adam(settings.learning_rate, self.q.parameters)
        self.replay = Replay(streams.count, min(settings.buffer_capacity, steps), twin.state_dim)
        self.updates = tf.Variable(0, dtype=tf.int64)  # n_tau of Algorithm 4

    @property
    def optimizers(self) -> list:
        """All Keras optimizers, the value network's first."""
        return [self.optimizer]

    def act(self, state: tf.Tensor, epsilon, uniforms: tf.Tensor) -> tf.Tensor:
        """Epsilon-greedy actions.

        Args:
          state: [S, B, d].
          epsilon: probability of a uniformly random action.
          uniforms: [S, B, 2] in [0, 1).

        Returns:
          int32 [S, B].
        """
        greedy = tf.argmax(self.q(as_columns(state)), axis=1, output_type=tf.int32)
        random = tf.cast(uniforms[..., 1] * self.actions, tf.int32)
        return tf.where(uniforms[..., 0] < epsilon, random, greedy)

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
        batch, places, weight = self.mini_batch(step, k)
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

    def mini_batch(self, step: tf.Tensor, k: tf.Tensor) -> tuple[Transition, tf.Tensor, tf.Tensor]:
        """The k-th mini-batch of this step [S, b], its places in B_er, and what each transition counts in the loss."""
        places, weight = self.draw(step, k)
        return self.replay.gather(places), places, weight

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The k-th mini-batch of this step: places in B_er, int32 [S, b], and what each counts in the loss."""
        shape = (self.settings.batch_size,)
        return self.streams.integers(Purpose.UNIFORM_BATCH, shape, self.replay.size, step=step, inner=k), tf.ones([])

    def after_update(self, places: tf.Tensor, td_error: tf.Tensor) -> None:
        """Called after each update with the mini-batch; uniform replay has nothing to do."""
        return

    def td_target(self, batch: Transition, network: StackedNetwork | None = None) -> tf.Tensor:
        """y = r + gamma max_a Q_target(s', a), without the bootstrap at a terminal s': [S, B]; or with another Q."""
        bootstrap = tf.reduce_max((network or self.q_target)(as_columns(batch.next_state)), axis=1)
        return batch.reward + self.settings.discount * (1.0 - batch.terminated) * bootstrap

    def q_value(self, state: tf.Tensor, action: tf.Tensor) -> tf.Tensor:
        """Q(s, a): [S, B, d] and int32 [S, B] -> [S, B]."""
        q = self.q(as_columns(state))  # [S, A, B]
        return tf.reduce_sum(q * tf.one_hot(action, self.actions, axis=1), axis=1)

    def target_is_due(self) -> tf.Tensor:
        """Whether the target network was copied at the latest update: scalar bool (tau parameter updates)."""
        return tf.equal(self.updates % self.settings.target_period, 0)

    def sample_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        """`count` states drawn as this agent's own sampling method draws them, for measurements: [S, count, d]."""
        places = self.streams.integers(Purpose.OWN_DRAWS, (count,), self.replay.size, step=step)
        return self.replay.gather(places).state

    def counters(self) -> dict[str, tf.Tensor]:
        """What the agent counts beside its returns, each [S]: whether its parameters have ceased to be finite."""
        finite = [tf.reduce_all(tf.math.is_finite(p), axis=[1, 2]) for p in self.q.parameters]
        return {"diverged": 1.0 - tf.cast(tf.reduce_all(tf.stack(finite), axis=0), tf.float32)}
