"""Theorem 1: prioritized sampling of the squared loss and uniform sampling of the cubic loss share one gradient."""

import numpy as np
import pytest
import tensorflow as tf

from dyna_td.learning.regression import cubic_loss, squared_loss


def gradient_by_error(loss, error):
    """The gradient of a summed loss by each error [N]; the chain rule extends it to a network's parameters."""
    with tf.GradientTape() as tape:
        tape.watch(error)
        value = loss(error)
    return tape.gradient(value, error).numpy()


def test_the_cubic_learner_descends_the_expected_gradient_of_full_prioritized_l2():
    error = tf.constant(np.random.default_rng(1).normal(size=300))
    absolute = np.abs(error.numpy())
    q = absolute / absolute.sum()  # E_q is over mini-batches of one
    prioritized = gradient_by_error(lambda e: tf.reduce_sum(q * squared_loss(e[:, None])), error)
    cubic = gradient_by_error(lambda e: cubic_loss(e, tf.constant(absolute.mean())), error)
    np.testing.assert_allclose(cubic, prioritized, rtol=1e-10)


def test_the_cubic_loss_has_the_noisier_gradient_by_3_pi_over_4_where_errors_are_normal():
    error = tf.constant(np.random.default_rng(0).normal(size=400_000))
    absolute = np.abs(error.numpy())
    square = gradient_by_error(lambda e: squared_loss(e[:, None]), error)  # each example alone
    cubic = gradient_by_error(lambda e: cubic_loss(e[:, None], tf.constant(absolute.mean())), error)
    prioritized = (absolute / absolute.sum() * square**2).sum()
    assert (cubic**2).mean() / prioritized == pytest.approx(3 * np.pi / 4, rel=0.01)
