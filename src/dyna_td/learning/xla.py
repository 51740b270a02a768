"""Compilation of Python functions by XLA."""

import functools
from collections.abc import Callable

import tensorflow as tf


def xla_function(function: Callable) -> Callable:
    """A decorator: XLA compiles `function`, once for each signature of tensors.

    AutoGraph is off: it would rewrite every called function, which takes two seconds a process. The few functions with
    loops over tensors use `with_tensor_loops`.
    """
    return tf.function(function, jit_compile=True, autograph=False)


def with_tensor_loops(function: Callable) -> Callable:
    """A decorator: turns the `while` and `for` loops of `function` over tensors into TensorFlow's loops."""

    @functools.cache  # at the first call, because at import `super()` does not yet know the class
    def converted():
        return tf.autograph.to_graph(function, recursive=False)

    @functools.wraps(function)
    def call(*arguments, **named):
        return converted()(*arguments, **named)

    return call


@with_tensor_loops
def call_where(condition: tf.Tensor, function: Callable[[], None]) -> None:
    """Calls `function`, which changes variables, where the scalar bool `condition` holds.

    A loop of at most one turn stands for `if`: with a branch, XLA would copy all variables of the training.
    """
    while condition:
        function()
        condition = tf.constant(False)


def compiled(function: Callable):
    """The result of `function`, computed by XLA, for numbers that are made before training.

    TensorFlow's own kernels compute sin, tanh and normal numbers differently for the last few elements of a tensor.
    So a seed's numbers would depend on its place in the stack.
    """
    return xla_function(function)()
