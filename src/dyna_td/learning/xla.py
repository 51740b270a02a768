"""How Python functions become programs that XLA compiles."""

import functools
from collections.abc import Callable

import tensorflow as tf


def xla_function(function: Callable) -> Callable:
    """A function that XLA compiles, once for each signature of tensors; a decorator.

    AutoGraph is off: left to itself it would rewrite every function that is called in turn, two seconds a process,
    while a few alone hold loops; those say so by `with_tensor_loops`.
    """
    return tf.function(function, jit_compile=True, autograph=False)


def with_tensor_loops(function: Callable) -> Callable:
    """Lets the `while` and `for` of `function` that run over tensors become loops of the graph; a decorator."""

    @functools.cache  # not at import, when `super()` would not yet know the class, but when it is first needed
    def converted():
        return tf.autograph.to_graph(function, recursive=False)

    @functools.wraps(function)
    def call(*arguments, **named):
        return converted()(*arguments, **named)

    return call


def compiled(function: Callable):
    """What `function` returns when XLA runs it.

    For numbers that are made before training: TensorFlow's own kernels take another path through sin, tanh and normal
    numbers for the last few elements of a tensor, so that a seed's would depend on its place in the stack.
    """
    return xla_function(function)()
