"""The choice of a learning rate from a sweep."""

import numpy as np
import pandas as pd
import pytest
from files import rows_of, sentence_of

from dyna_td.plan.selection import in_words, select_learning_rate
from dyna_td.runs.run import Run
from dyna_td.settings import DQNSettings, RegressionSettings

SUPERVISED = Run("sin", "l2", RegressionSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))
CONTROL = Run("GridWorld", "er", DQNSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))
KINDS = [(SUPERVISED, "test_rmse", 1, "lowest wins"), (CONTROL, "return", -100, "highest wins")]


def sweep(metric, means):
    """Two seeds and two evaluations of each rate, the values around the given mean."""
    spread, keys = (-0.5, 0.5, -0.25, 0.25), {"seed": (0, 1), "step": (0, 50), "metric": [metric]}
    return rows_of(lambda rate, seed, step, _: means[rate] + spread[2 * seed + (step > 0)], learning_rate=means, **keys)


@pytest.mark.parametrize(("run", "metric", "sign", "rule"), KINDS)
def test_the_lowest_mean_error_or_the_highest_mean_return_wins(run, metric, sign, rule):
    means = {0.1: 3 * sign, 0.01: 2 * sign, 0.001: 4 * sign}
    choice = select_learning_rate(run, sweep(metric, means))
    assert choice["learning_rate"] == 0.01 and choice["metric"] == metric and rule in choice["rule"]
    assert choice["scores"] == {str(rate): value for rate, value in means.items()}
    assert select_learning_rate(run, sweep(metric, {0.01: 2, 0.1: 2}))["learning_rate"] == 0.1  # the larger of equals


@pytest.mark.parametrize(("run", "metric"), [kind[:2] for kind in KINDS])
def test_a_rate_that_diverged_once_comes_last_and_is_named(run, metric):
    for bad in (np.nan, np.inf, -np.inf):
        frame = sweep(metric, {0.1: 2, 0.01: 2})
        frame.loc[frame["learning_rate"].eq(0.1).idxmax(), "value"] = bad
        choice = select_learning_rate(run, frame)
        assert choice["learning_rate"] == 0.01 and choice["scores"]["0.1"] is None
    flagged = pd.concat([sweep(metric, {0.1: 2, 0.01: 2}), sweep("diverged", {0.1: 1})])
    choice = select_learning_rate(run, flagged)
    assert choice["learning_rate"] == 0.01 and "2 seeds diverged" in in_words(choice, flagged)[1]


def test_a_sweep_in_which_every_rate_diverged_is_refused():
    sentence = sentence_of(select_learning_rate, SUPERVISED, sweep("test_rmse", {0.1: np.nan, 0.01: np.inf}))
    assert sentence.startswith("no learning rate of sin/l2/") and " trains without diverging: " in sentence
