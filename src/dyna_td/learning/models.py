"""The model M(s, a) of search control: the environment's twin, or a network that learns its dynamics."""

import tensorflow as tf

from dyna_td.learning.networks import Adam, StackedNetwork, as_columns, as_rows
from dyna_td.learning.replay import Replay
from dyna_td.learning.streams import STEPS, Purpose, Streams
from dyna_td.learning.xla import call_where
from dyna_td.settings import SearchControlSettings

_NETWORK_INDEX = 1  # gives the model its own initial weights; the value network has 0


class TrueModel(tf.Module):
    """The environment's own dynamics; where they are noisy, each query draws fresh noise.

    Args:
      twin: the environment's twin (`envs.twins.Twin`).
    """

    def __init__(self, twin):
        super().__init__()
        self.twin = twin

    def predict(self, state: tf.Tensor, action: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """s', r and the probability that s' is terminal: float32 [S, B, d], [S, B] and [S, B].

        States are [S, B, d], actions int32 [S, B], and `noise` is standard normal, [S, B, noise_dim].
        """
        next_state, reward, terminated = self.twin.step(state, action, noise)
        return next_state, reward, tf.cast(terminated, tf.float32)

    def is_ready(self, step: tf.Tensor) -> tf.Tensor:
        """Whether the model may be used at this environment step: scalar bool."""
        return tf.constant(True)

    def update(self, step: tf.Tensor, replay: Replay) -> None:
        """Does nothing: the true model needs no experience."""
        return


class LearnedModel(tf.Module):
    """A network that predicts s' - s and r, trained online by mean squared error (appendix "Hyper-parameter settings").

    The prediction is deterministic; s' is moved to the nearest possible observation or, with `clip_to_box`, state. The
    environment's rule decides whether s' is terminal. Without a known rule, the network also predicts that probability.

    Args:
      settings: the network's size, step size and mini-batch, and the first step that uses it.
      streams: the S seeds.
      space: the environment's states, actions and termination rule.
    """

    def __init__(self, settings: SearchControlSettings, streams: Streams, space):
        super().__init__()
        self.settings = settings
        self.streams = streams
        self.space = space
        self.place = space.nearest_state if settings.clip_to_box else space.nearest_observation
        self.stop = settings.model_stop or STEPS
        outputs = space.state_dim + (1 if space.knows_termination else 2)  # s' - s, r, and P(terminal)
        sizes = (space.state_dim + (space.actions or space.action_dim), *settings.model_hidden, outputs)
        self.network = StackedNetwork(streams, sizes, tf.nn.relu, index=_NETWORK_INDEX)
        self.optimizer = Adam(settings.model_learning_rate, self.network.parameters)

    def predict(self, state: tf.Tensor, action: tf.Tensor, noise: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """See `TrueModel.predict`; `noise` is not used."""
        outputs, d = as_rows(self._outputs(state, action)), self.space.state_dim
        next_state = self.place(state + outputs[..., :d])
        if self.space.knows_termination:
            terminated = tf.cast(self.space.is_terminal(next_state), tf.float32)
        else:
            terminated = tf.clip_by_value(outputs[..., -1], 0.0, 1.0)
        return next_state, outputs[..., d], terminated

    def is_ready(self, step: tf.Tensor) -> tf.Tensor:
        """See `TrueModel.is_ready`."""
        return (step >= self.settings.model_start) & (step < self.stop)

    def update(self, step: tf.Tensor, replay: Replay) -> None:
        """Makes one mini-batch update, if B_er holds a mini-batch and `model_stop` is not reached."""
        is_due = (replay.size >= min(self.settings.model_batch_size, replay.capacity)) & (step < self.stop)
        call_where(is_due, lambda: self._update(step, replay))

    def _update(self, step, replay):
        shape = (self.settings.model_batch_size,)
        batch = replay.gather(self.streams.integers(Purpose.MODEL_BATCH, shape, replay.size, step=step))
        ends = [] if self.space.knows_termination else [batch.terminated[:, None]]
        wanted = tf.concat([as_columns(batch.next_state - batch.state), batch.reward[:, None], *ends], axis=1)
        with tf.GradientTape() as tape:
            error = self._outputs(batch.state, batch.action) - wanted
            loss = tf.reduce_sum(tf.reduce_mean(error**2, axis=[1, 2]))  # seeds share no parameter
        self.optimizer.apply(tape.gradient(loss, self.network.parameters))

    def _outputs(self, state, action):
        """The network's s' - s, r and, where no rule is known, P(terminal) in columns: [S, d + 1 or 2, B]."""
        actions = self.space.actions
        action = tf.one_hot(action, actions, axis=1) if actions else as_columns(action)
        return self.network(tf.concat([as_columns(state), action], axis=1))


def make_model(settings: SearchControlSettings, streams: Streams, space) -> TrueModel | LearnedModel:
    """The model that `settings.model` names; for the true one, `space` is the environment's twin."""
    return TrueModel(space) if settings.model == "true" else LearnedModel(settings, streams, space)
