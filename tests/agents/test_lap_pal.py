"""LAP and PAL: their formulas by hand, and the equivalence that they are made for."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import Gradients, stored, untrained

SEEDS = 2
ERRORS = tf.constant([[0.5, -1.0, 2.0, -4.0]])  # delta, [S, b]


def agent_of(name, count=40):
    """An agent whose buffer of 40 holds transitions with |delta| on both sides of 1; it keeps the gradients."""
    agent = untrained("CartPole-v1", name, count, SEEDS, hidden=(8, 8), buffer_capacity=40).agent
    agent.learner.optimizer = Gradients()
    return agent


def test_laps_loss_and_priorities_by_hand():
    lap = agent_of("lap")
    np.testing.assert_allclose(lap.loss(ERRORS), [[0.125, 0.5, 1.5, 3.5]])
    np.testing.assert_allclose(lap.priority(ERRORS), [[1.0, 1.0, 2**0.4, 4**0.4]], rtol=1e-6)


def test_pals_loss_by_hand():
    mean = (1 + 1 + 2**0.4 + 4**0.4) / 4
    expected = np.array([[0.125, 0.5, 2**1.4 / 1.4, 4**1.4 / 1.4]]) / mean
    np.testing.assert_allclose(agent_of("pal").loss(ERRORS), expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["lap", "pal"])
def test_every_transition_of_a_mini_batch_weighs_the_same(name):
    agent = agent_of(name)
    places, weight = agent.draw(tf.constant(7, tf.int64), tf.constant(0))
    assert places.shape == (SEEDS, agent.settings.batch_size) and weight == 1.0


def test_lap_gives_new_transitions_the_largest_priority_and_updated_ones_their_own():
    lap = agent_of("lap")
    np.testing.assert_array_equal(lap.priorities.priorities, np.ones([SEEDS, 40]))
    lap.after_update(tf.constant([[3, 5]] * SEEDS), tf.constant([[0.2, -4.0]] * SEEDS))
    np.testing.assert_allclose(lap.priorities.priorities.numpy()[0, [3, 5]], [1.0, 4**0.4], rtol=1e-6)
    np.testing.assert_allclose(lap.largest, [4**0.4] * SEEDS, rtol=1e-6)


def test_pals_gradient_is_the_one_that_lap_has_in_expectation():
    lap, pal = agent_of("lap"), agent_of("pal")
    everything = stored(lap)
    delta = lap.learner.td_error(everything)  # the two learners have the same weights
    assert (tf.abs(delta) < 1).numpy().any() and (tf.abs(delta) > 1).numpy().any()
    priority = lap.priority(delta).numpy()
    probability = priority / priority.sum(axis=1, keepdims=True)
    # A mean over all N transitions, weighted by N P(i), is the expectation over draws with P(i).
    lap.learner.update(everything, tf.constant(priority.shape[1] * probability), lap.loss)
    pal.learner.update(everything, tf.ones([]), pal.loss)
    for one, other in zip(lap.learner.optimizer.kept, pal.learner.optimizer.kept, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)
