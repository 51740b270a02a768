"""The supervised task as a compiled program: a learner's updates and its errors (Section 3.3)."""

import tensorflow as tf

from dyna_td.learning.regression import f_sin
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sums import total
from dyna_td.learning.xla import with_tensor_loops, xla_function
from dyna_td.programs.program import Program
from dyna_td.runs.registry import AGENTS, load
from dyna_td.runs.run import Run

TEST_EXAMPLES = 1_000  # noise-free test points (paper)


class RegressionProgram(Program):
    """A learner's compiled training and evaluation. A step is one mini-batch update."""

    def __init__(self, run: Run):
        super().__init__()
        streams = Streams(run.seeds)
        self.learner = load(AGENTS[run.agent].path)(run.settings, streams)
        self.optimizer = self.learner.optimizer
        self.test_x = tf.Variable(4.0 * streams.uniform(Purpose.TEST_INPUTS, (TEST_EXAMPLES,)) - 2.0, trainable=False)

    @xla_function
    @with_tensor_loops
    def train(self, steps: tf.Tensor) -> None:
        """Makes `steps` (int32 scalar) mini-batch updates."""
        last = self.step + tf.cast(steps, tf.int64)
        while self.step < last:
            self.learner.update(self.step.read_value())
            self.step.assign_add(1)

    @xla_function
    def evaluate(self) -> dict[str, tf.Tensor]:
        """Root mean squared errors, each float32 [S]."""
        x = self.test_x.read_value()
        squared = (self.learner.predict(x) - f_sin(x)) ** 2
        is_high = tf.cast(x < 0.0, tf.float32)
        trained = self.learner.all_errors() ** 2
        return {
            "test_rmse": _rms(squared, tf.ones_like(squared)),
            "test_rmse_high": _rms(squared, is_high),
            "test_rmse_low": _rms(squared, 1.0 - is_high),
            "train_rmse": _rms(trained, tf.ones_like(trained)),
        }


def _rms(squared: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(total(squared * weight) / total(weight))
