"""What the training loop needs of a compiled program."""

from collections.abc import Callable

import tensorflow as tf


class Program(tf.Module):
    """S seeds of one run in the graph.

    Subclasses set `optimizers` and define two compiled functions: `train(steps)` takes that many steps (int32 scalar),
    and `evaluate()` returns each metric as float32 [S] without changing anything.

    Attributes:
      step: steps taken so far.
      optimizers: all Keras optimizers; a sweep changes the learning rate of the first.
    """

    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0, dtype=tf.int64)
        self.optimizers = []

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """More metrics, each [S], and sets of states by source, each [S, N, 2]; by default nothing.

        Unlike `evaluate`, it is not called at step 0, nor while learning rates are selected.
        """
        return {}, {}

    @property
    def state(self) -> list[tf.Variable]:
        """Every variable that training changes; to set them is to go back in time."""
        kept = [variable.value for optimizer in self.optimizers for variable in optimizer.variables]
        return [*self.variables, *kept]


def compiled(function: Callable):
    """What `function` returns when XLA runs it.

    For numbers that are made before training: TensorFlow's own kernels take another path through sin, tanh and normal
    numbers for the last few elements of a tensor, so that a seed's would depend on its place in the stack.
    """
    return tf.function(function, jit_compile=True)()
