"""Sums in an order that the code fixes: XLA's own depends on the number of seeds."""

import tensorflow as tf


def total(values: tf.Tensor) -> tf.Tensor:
    """Sums float32 over the last axis, [..., N] -> [...], in float64, rounded once.

    Float64 holds sums of float32 exactly, unless their sizes differ by more than a factor of about 2^25.
    """
    return tf.cast(tf.reduce_sum(tf.cast(values, tf.float64), axis=-1), tf.float32)


def sum_of_features(values: tf.Tensor) -> tf.Tensor:
    """Sums over the axis of features, [S, d, ...] -> [S, ...]: first half plus second half, until one is left."""
    d = values.shape[1]
    if d == 1:
        return values[:, 0]
    half = d // 2
    middle = values[:, half : d - half]  # none, or one
    return sum_of_features(tf.concat([values[:, :half] + values[:, d - half :], middle], axis=1))


def length(vectors: tf.Tensor) -> tf.Tensor:
    """The Euclidean length over the axis of features: [S, d, ...] -> [S, ...]."""
    return tf.sqrt(sum_of_features(tf.square(vectors)))


def times(matrix: tf.Tensor, vector: tf.Tensor) -> tf.Tensor:
    """The product of [S, d, d] and [S, d]: [S, d]."""
    return sum_of_features(tf.linalg.matrix_transpose(matrix) * vector[:, :, None])
