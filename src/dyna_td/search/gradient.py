"""The gradient of a criterion h(s), which search control climbs."""

from collections.abc import Callable

import tensorflow as tf


def gradient(criterion: Callable[[tf.Tensor], tf.Tensor], states: tf.Tensor) -> tf.Tensor:
    """grad_s h(s) of each state: columns [S, d, B] -> [S, d, B]; `criterion` maps them to [S, B]."""
    with tf.GradientTape() as tape:
        tape.watch(states)
        h = criterion(states)
    return tape.gradient(h, states, unconnected_gradients="zero")
