"""The supervised task's learners against their definitions."""

from dataclasses import replace

import numpy as np
import tensorflow as tf
from helpers import parameters_of, perceptron
from scipy import stats

from dyna_td.learning.regression import f_sin
from dyna_td.learning.streams import Streams
from dyna_td.programs.regression import RegressionProgram
from dyna_td.runs.registry import AGENTS, load
from dyna_td.runs.run import Run
from dyna_td.settings import RegressionSettings

SETTINGS = RegressionSettings(examples=260, batch_size=8, hidden=(6, 6), learning_rate=1e-2)


def learner(name, seeds=(0, 1), **changes):
    return load(AGENTS[name].path)(replace(SETTINGS, **changes), Streams(seeds))


def predict(network, seed, x):
    """f_theta of one seed in float64."""
    return perceptron(parameters_of(network, seed), np.asarray(x)[:, None], np.tanh)[:, 0]


def errors(learner, seed):
    return predict(learner.network, seed, learner.x.numpy()[seed]) - learner.y.numpy()[seed]


def test_training_inputs_are_uniform_and_targets_carry_the_stated_noise():
    data = learner("l2", examples=20_000, noise=0.5)
    for seed in range(2):
        x, noise = data.x.numpy()[seed], (data.y - f_sin(data.x)).numpy()[seed]
        assert stats.kstest(x, "uniform", (-2, 4)).pvalue > 1e-3
        assert stats.kstest(noise, "norm", (0, 0.5)).pvalue > 1e-3
        assert abs(np.corrcoef(x, noise)[0, 1]) < 0.03


def test_each_learner_pays_its_loss():
    e = np.random.default_rng(0).normal(size=(2, 8)).astype(np.float32)
    powers = {"l2": 2, "full_prioritized_l2": 2, "prioritized_l2": 2, "plain_cubic": 3, "power4": 4}
    for name, power in powers.items():
        np.testing.assert_allclose(learner(name).loss(tf.constant(e)), (np.abs(e) ** power).mean(axis=1), rtol=1e-5)


def test_cubic_scales_its_loss_by_the_mean_error_of_the_whole_training_set():
    cubic = learner("cubic")
    for step in range(3):
        e = np.ones((2, 8), np.float32)
        expected = [2 / 3 / np.abs(errors(cubic, seed)).mean() for seed in range(2)]
        np.testing.assert_allclose(cubic.loss(tf.constant(e)), expected, rtol=1e-5)
        cubic.update(tf.constant(step, tf.int64))


def test_full_prioritized_l2_draws_in_proportion_to_the_current_errors():
    full = learner("full_prioritized_l2", batch_size=100_000)
    draw = tf.function(full.draw_examples, jit_compile=True)
    before = draw(tf.constant(0, tf.int64)).numpy()
    for parameter in full.network.parameters:
        parameter.assign(parameter * 1.7)  # other parameters, other errors
    after = draw(tf.constant(1, tf.int64)).numpy()
    for seed in range(2):
        expected = np.abs(errors(full, seed))
        counts = np.bincount(after[seed], minlength=260)
        assert stats.chisquare(counts, expected / expected.sum() * 100_000, sum_check=False).pvalue > 1e-3
        old = np.bincount(before[seed], minlength=260)
        assert stats.chisquare(old, expected / expected.sum() * 100_000, sum_check=False).pvalue < 1e-6


def test_prioritized_l2_refreshes_only_the_mini_batch_and_after_its_update():
    prioritized = learner("prioritized_l2")
    start = [np.abs(errors(prioritized, seed)) for seed in range(2)]
    np.testing.assert_allclose(prioritized.priorities.priorities, start, rtol=1e-4, atol=1e-6)
    drawn = []
    prioritized.draw_examples = lambda step, draw=prioritized.draw_examples: drawn.append(draw(step)) or drawn[-1]
    prioritized.update(tf.constant(0, tf.int64))
    for seed in range(2):
        batch = drawn[0].numpy()[seed]
        expected = start[seed].copy()
        expected[batch] = np.abs(errors(prioritized, seed))[batch]  # with the new parameters
        assert not np.allclose(expected[batch], start[seed][batch], rtol=1e-3)
        np.testing.assert_allclose(prioritized.priorities.priorities[seed], expected, rtol=1e-4, atol=1e-6)


def test_evaluation_measures_the_errors_it_names():
    program = RegressionProgram(Run("sin", "l2", SETTINGS, (4, 9), steps=10))
    metrics = {name: value.numpy() for name, value in program.evaluate().items()}
    for seed in range(2):
        x = program.test_x.numpy()[seed].astype(np.float64)
        truth = np.sin(np.where(x < 0, 8, 1) * np.pi * x)
        squared = (predict(program.learner.network, seed, x) - truth) ** 2
        expected = {
            "test_rmse": squared.mean() ** 0.5,
            "test_rmse_high": squared[x < 0].mean() ** 0.5,
            "test_rmse_low": squared[x >= 0].mean() ** 0.5,
            "train_rmse": (errors(program.learner, seed) ** 2).mean() ** 0.5,
        }
        for name, value in expected.items():
            np.testing.assert_allclose(metrics[name][seed], value, rtol=1e-4, err_msg=name)
