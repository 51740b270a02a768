"""The supervised task and its learners (Section 3.3 and its appendices; figures 1, 9, 10, 11).

Every learner is L2 with one change: the draw of its mini-batches, or its loss. Errors are e = f_theta(x) - y. Each seed
has its own data and noise, which all learners share.
"""

import numpy as np
import tensorflow as tf

from dyna_td.learning.networks import Adam, StackedNetwork, map_blocks
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import SumTree, build_levels, draw_leaves
from dyna_td.learning.sums import total
from dyna_td.learning.xla import compiled
from dyna_td.settings import RegressionSettings


def f_sin(x: tf.Tensor) -> tf.Tensor:
    """The target function: sin(8 pi x) for x < 0 and sin(pi x) otherwise (Section 3.3)."""
    return tf.sin(tf.where(x < 0.0, 8.0 * np.pi, np.pi) * x)


def squared_loss(error: tf.Tensor) -> tf.Tensor:
    """Mean e^2 over a mini-batch: [..., b] -> [...]."""
    return tf.reduce_mean(error**2, axis=-1)


def cubic_loss(error: tf.Tensor, c: tf.Tensor) -> tf.Tensor:
    """2 / (3 c) mean |e|^3 over a mini-batch: [..., b] and [...] -> [...].

    Theorem 1 states c E_q[grad e^2 / 2] = E_uniform[grad |e|^3 / 3] with c = mean |e| over the training set. So with
    uniform sampling, this loss has the expected gradient of mean e^2 under q_i proportional to |e_i|.
    """
    return 2.0 / (3.0 * c) * tf.reduce_mean(tf.abs(error) ** 3, axis=-1)


class L2(tf.Module):
    """Least squares on uniformly drawn mini-batches: loss mean e^2."""

    def __init__(self, settings: RegressionSettings, streams: Streams):
        super().__init__()
        self.settings = settings
        self.streams = streams
        x, y = compiled(self._draw_training_set)
        self.x = tf.Variable(x, trainable=False)  # [S, T], uniform on [-2, 2]
        self.y = tf.Variable(y, trainable=False)  # [S, T]
        self.network = StackedNetwork(streams, (1, *settings.hidden, 1), tf.nn.tanh)
        self.optimizer = Adam(settings.learning_rate, self.network.parameters)

    def _draw_training_set(self) -> tuple[tf.Tensor, tf.Tensor]:
        x = 4.0 * self.streams.uniform(Purpose.TRAINING_INPUTS, (self.settings.examples,)) - 2.0
        noise = self.streams.normal(Purpose.TRAINING_NOISE, (self.settings.examples,))
        return x, f_sin(x) + self.settings.noise * noise

    def predict(self, x: tf.Tensor) -> tf.Tensor:
        """f_theta(x): float32 [S, B] -> [S, B]."""
        return self.network(x[:, None, :])[:, 0]

    def all_errors(self) -> tf.Tensor:
        """e of the whole training set at the current parameters: float32 [S, T]."""
        seeds, examples = self.x.shape

        def errors(start, size):
            x, y = (tf.slice(data.read_value(), [0, start], [seeds, size]) for data in (self.x, self.y))
            return self.predict(x) - y

        return map_blocks(errors, examples, max(self.settings.hidden))

    def draw_examples(self, step: tf.Tensor) -> tf.Tensor:
        """The mini-batch: int32 [S, b]."""
        return self.streams.integers(
            Purpose.UNIFORM_BATCH, (self.settings.batch_size,), self.settings.examples, step=step
        )

    def loss(self, error: tf.Tensor) -> tf.Tensor:
        """The loss of a mini-batch's errors [S, b]: [S]."""
        return squared_loss(error)

    def after_update(self, examples: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> None:
        """Handles an updated mini-batch [S, b]; uniform sampling ignores it."""
        return

    def update(self, step: tf.Tensor) -> None:
        """Makes one mini-batch update."""
        examples = self.draw_examples(step)
        x = tf.gather_nd(self.x.read_value(), examples[..., None], batch_dims=1)
        y = tf.gather_nd(self.y.read_value(), examples[..., None], batch_dims=1)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(self.loss(self.predict(x) - y))  # seeds share no parameter, so gradients stay apart
        self.optimizer.apply(tape.gradient(loss, self.network.parameters))
        self.after_update(examples, x, y)


class FullPrioritizedL2(L2):
    """L2 with: examples drawn with q_i proportional to |e_i| (Eq. 1), every e_i at the current parameters."""

    def draw_examples(self, step: tf.Tensor) -> tf.Tensor:
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (self.settings.batch_size,), step=step)
        return draw_leaves(build_levels(tf.abs(self.all_errors())), uniforms)[0]


class PrioritizedL2(L2):
    """L2 with: examples drawn with q_i proportional to the last computed |e_i|, mostly outdated.

    The initial network sets all priorities. After an update, only its mini-batch's are recomputed.
    """

    def __init__(self, settings: RegressionSettings, streams: Streams):
        super().__init__(settings, streams)
        self.priorities = SumTree(streams.count, settings.examples)
        self.priorities.assign_all(compiled(lambda: tf.abs(self.all_errors())))

    def draw_examples(self, step: tf.Tensor) -> tf.Tensor:
        uniforms = self.streams.uniform(Purpose.PRIORITIZED_BATCH, (self.settings.batch_size,), step=step)
        return self.priorities.draw(uniforms)[0]

    def after_update(self, examples: tf.Tensor, x: tf.Tensor, y: tf.Tensor) -> None:
        self.priorities.assign(examples, tf.abs(self.predict(x) - y))


class Cubic(L2):
    """L2 with: the cubic loss, which has FullPrioritizedL2's expected gradient; every step recomputes c (paper)."""

    def loss(self, error: tf.Tensor) -> tf.Tensor:
        c = total(tf.abs(self.all_errors())) / self.settings.examples
        return cubic_loss(error, tf.stop_gradient(c))


class PlainCubic(L2):
    """L2 with: loss mean |e|^3 (the appendix's Cubic of figure 9)."""

    def loss(self, error: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.abs(error) ** 3, axis=1)


class Power4(L2):
    """L2 with: loss mean e^4."""

    def loss(self, error: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(error**4, axis=1)
