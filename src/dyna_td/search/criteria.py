"""The criteria h(s) that search control climbs (Section 2.3, Algorithm 4, appendix "Background in Dyna").

All are functions of columns of states [S, d, B]. V maps them to [S, B]: max_a Q(s, a), or Q(s, pi(s)) where actions are
vectors.
"""

from collections.abc import Callable

import tensorflow as tf

SMOOTHING = 1.0e-5  # inside the logarithm (Alg. 4)

Value = Callable[[tf.Tensor], tf.Tensor]


def log_td_error(v: Value, states: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """log(|y - V(s)| + 1e-5), Dyna-TD's criterion (Eq. 3): [S, d, B] and targets [S, B] -> [S, B]."""
    return tf.math.log(tf.abs(y - v(states)) + tf.constant(SMOOTHING, states.dtype))


def frequency(v: Value, states: tf.Tensor) -> tf.Tensor:
    """||grad V||^2 + ||Hessian V||_F^2, Dyna-Frequency's criterion (Pan et al., 2020): [S, d, B] -> [S, B]."""
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(states)
        slope = gradient(v, states)  # [S, d, B]
        slopes = tf.unstack(slope, axis=1)
    # Piecewise linear activations leave no second derivative to follow: then it is zero.
    curvatures = [tape.gradient(part, states, unconnected_gradients="zero") for part in slopes]
    return sum(tf.reduce_sum(part**2, axis=1) for part in (slope, *curvatures))


def gradient(criterion: Callable[[tf.Tensor], tf.Tensor], states: tf.Tensor) -> tf.Tensor:
    """grad_s h(s) of each state: columns [S, d, B] -> [S, d, B]."""
    with tf.GradientTape() as tape:
        tape.watch(states)
        h = criterion(states)
    return tape.gradient(h, states, unconnected_gradients="zero")
