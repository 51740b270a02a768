"""LaBER: a mini-batch drawn from a larger uniform one in proportion to TD errors that are computed now."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import tensorflow as tf

from dyna_td.agents.laber import LaBER
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import xla_function
from dyna_td.registry import settings_type

SEEDS, STORED, BATCH = 2, 6, 4


def make_laber(**numbers) -> LaBER:
    """LaBER with TD errors 0, 1, ..., 5 in its buffer: the learner's error is the reward."""
    learner = SimpleNamespace(td_error=lambda batch: -batch.reward)
    settings = replace(settings_type("GridWorld", "laber")(), batch_size=BATCH, **numbers)
    agent = LaBER(settings, learner, Streams(tuple(range(SEEDS))), SimpleNamespace(state_dim=2, action_dim=0), STORED)
    for error in range(STORED):
        state, action = tf.zeros([SEEDS, 1, 2]), tf.zeros([SEEDS, 1], tf.int32)
        reward = tf.fill([SEEDS, 1], float(error))
        agent.observe(Transition(state, action, reward, state, tf.zeros([SEEDS, 1])))
    return agent


def drawing(agent):
    """Returns a function of k: the k-th places [S, b] and weights of step 7."""
    compiled = xla_function(lambda k: agent.draw(tf.constant(7, tf.int64), k))
    return lambda k: [part.numpy() for part in compiled(tf.constant(k))]


def large_batch_errors(agent, k=0):
    """The |delta| of the large batch, which is the place of each transition: [S, B]."""
    size = agent.settings.large_batch * BATCH
    return agent.streams.integers(Purpose.UNIFORM_BATCH, (size,), STORED, step=7, inner=k).numpy()


def test_importance_weights_are_the_mean_priority_over_the_own_one():
    agent = make_laber()
    places, weight = drawing(agent)(0)
    mean = large_batch_errors(agent).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(weight, mean / places, rtol=1e-6)


def test_without_importance_weights_every_draw_counts_one():
    places, weight = drawing(make_laber(importance_weights=False))(0)
    assert weight == 1.0
    assert (places > 0).all()  # the transition without an error is never drawn


def test_draws_follow_the_td_errors_of_the_large_batch():
    agent = make_laber(large_batch=50)
    errors = large_batch_errors(agent)
    draw = drawing(agent)
    places = np.concatenate([draw(k)[0] for k in range(40)], axis=1)
    assert set(places.ravel()) <= set(range(1, STORED))
    shares = [(places == place).mean() for place in range(STORED)]
    expected = [(errors == place).mean() * place / errors.mean() for place in range(STORED)]
    np.testing.assert_allclose(shares, expected, atol=0.12)
