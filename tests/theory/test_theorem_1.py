"""Theorem 1: prioritized sampling of the squared loss and uniform sampling of the cubic loss share one gradient."""

import numpy as np
import pytest
import tensorflow as tf

from dyna_td.learning.regression import cubic_loss, squared_loss


def random_problem(seed, examples=300):
    """A random two-layer network and a random data set, in float64."""
    rng = np.random.default_rng(seed)
    shapes = [(32, 1), (32, 1), (32, 32), (32, 1), (1, 32), (1, 1)]
    parameters = [tf.Variable(rng.normal(size=shape)) for shape in shapes]
    x, y = rng.uniform(-2, 2, (1, examples)), rng.normal(size=examples)

    def errors():
        w1, b1, w2, b2, w3, b3 = parameters
        return (w3 @ tf.tanh(w2 @ tf.tanh(w1 @ x + b1) + b2) + b3)[0] - y

    return parameters, errors


def flat_gradient(loss, parameters):
    with tf.GradientTape() as tape:
        value = loss()
    return np.concatenate([gradient.numpy().ravel() for gradient in tape.gradient(value, parameters)])


@pytest.mark.parametrize("seed", range(5))
def test_the_cubic_learner_descends_the_expected_gradient_of_full_prioritized_l2(seed):
    parameters, errors = random_problem(seed)
    absolute = np.abs(errors().numpy())

    # E_q of a mini-batch of one: each example's squared loss, weighted by its probability.
    prioritized = flat_gradient(
        lambda: tf.reduce_sum(absolute / absolute.sum() * squared_loss(errors()[:, None])), parameters
    )
    cubic = flat_gradient(lambda: cubic_loss(errors(), tf.constant(absolute.mean())), parameters)

    assert np.linalg.norm(prioritized - cubic) < 1e-10 * np.linalg.norm(cubic)


def test_the_cubic_loss_has_the_noisier_gradient_by_3_pi_over_4_where_errors_are_normal():
    error = tf.constant(np.random.default_rng(0).normal(size=400_000))
    absolute = np.abs(error.numpy())

    def squared_gradients(loss):  # of each example alone, by its error
        with tf.GradientTape() as tape:
            tape.watch(error)
            value = tf.reduce_sum(loss(error[:, None]))
        return tape.gradient(value, error).numpy() ** 2

    prioritized = (absolute / absolute.sum() * squared_gradients(squared_loss)).sum()
    uniform = squared_gradients(lambda e: cubic_loss(e, tf.constant(absolute.mean()))).mean()
    assert uniform / prioritized == pytest.approx(3 * np.pi / 4, rel=0.01)
