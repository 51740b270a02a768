"""ER: uniform experience replay (Lin, 1992; Mnih et al., 2015)."""

import tensorflow as tf

from dyna_td.learning.q_learning import squared
from dyna_td.learning.replay import Replay, Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import with_tensor_loops
from dyna_td.settings import ControlSettings


class ER(tf.Module):
    """This is Algorithm 1 with rho = 0: every mini-batch is drawn uniformly from B_er.

    Args:
      settings: the agent's numbers.
      learner: `q_learning.DQN`, or `ddpg.DDPG` where actions are vectors; it learns from mini-batches and acts.
      streams: the S seeds.
      space: the environment's `envs.spaces.Space`.
      steps: environment steps of the whole run; the buffer never holds more.
    """

    def __init__(self, settings: ControlSettings, learner, streams: Streams, space, steps: int):
        super().__init__()
        self.settings = settings
        self.learner = learner
        self.streams = streams
        capacity = min(settings.buffer_capacity, steps)
        self.replay = Replay(streams.count, capacity, space.state_dim, space.action_dim)

    def observe(self, transition: Transition) -> tf.Tensor:
        """Adds the newest transition (B = 1) to B_er and returns its index there: int32 scalar."""
        return self.replay.add(transition)

    @with_tensor_loops
    def learn(self, step: tf.Tensor, planning_updates: tf.Tensor) -> None:
        """The n mini-batch updates after an environment step; n is an int32 scalar tensor."""
        k = tf.constant(0)
        while k < planning_updates:  # not tf.range, because XLA must know its length when it compiles
            self.update(step, k)
            k += 1

    def update(self, step: tf.Tensor, k: tf.Tensor) -> None:
        """The k-th update of this step."""
        batch, indices, weight = self.mini_batch(step, k)
        td_error = self.learner.update(batch, weight, self.loss)
        self.after_update(indices, td_error, batch)

    def mini_batch(self, step: tf.Tensor, k: tf.Tensor) -> tuple[Transition, tf.Tensor, tf.Tensor]:
        """The k-th mini-batch of this step [S, b], its indices in B_er, and its weights in the loss."""
        indices, weight = self.draw(step, k)
        return self.replay.gather(indices), indices, weight

    def draw(self, step: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Draws the k-th mini-batch of this step: indices in B_er, int32 [S, b], and weights in the loss."""
        shape = (self.settings.batch_size,)
        return self.streams.integers(Purpose.UNIFORM_BATCH, shape, self.replay.size, step=step, inner=k), tf.ones([])

    def loss(self, td_error: tf.Tensor) -> tf.Tensor:
        """The loss of each transition of a mini-batch, before its weight: [S, b] -> [S, b]."""
        return squared(td_error)

    def after_update(self, indices: tf.Tensor, td_error: tf.Tensor, batch: Transition) -> None:
        """Handles a mini-batch and its TD errors from before its update [S, b]; uniform replay ignores them."""
        return

    def sample_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        """`count` states from the agent's own sampling distribution, for measurements: [S, count, d]."""
        indices = self.streams.integers(Purpose.OWN_DRAWS, (count,), self.replay.size, step=step)
        return self.replay.gather(indices).state

    def counters(self) -> dict[str, tf.Tensor]:
        """The agent's own metrics, each [S]; `diverged` is 1 if a parameter of the learner is not finite."""
        return {"diverged": 1.0 - tf.cast(self.learner.is_finite(), tf.float32)}
