"""What the training loop needs of a compiled program."""

from collections.abc import Callable

import tensorflow as tf


class Program(tf.Module):
    """S seeds of one run in the graph.

    Subclasses set `optimizer` and define two compiled functions: `train(steps)` takes that many steps (int32 scalar),
    and `evaluate()` returns each metric as float32 [S] without changing anything.

    Attributes:
      step: steps taken so far.
      optimizer: the Keras optimizer whose learning rate a sweep changes.
    """

    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0, dtype=tf.int64)
        self.optimizer = None

    @property
    def state(self) -> list[tf.Variable]:
        """Every variable that training changes; to set them is to go back in time."""
        return [*self.variables, *(variable.value for variable in self.optimizer.variables)]


def compiled(function: Callable):
    """What `function` returns when XLA runs it.

    For numbers that are made before training: TensorFlow's own kernels take another path through sin, tanh and normal
    numbers for the last few elements of a tensor, so that a seed's would depend on its place in the stack.
    """
    return tf.function(function, jit_compile=True)()
