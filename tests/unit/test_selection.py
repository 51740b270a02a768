"""The choice of a learning rate from a sweep."""

import numpy as np
import pandas as pd
import pytest

from dyna_td.errors import UserError
from dyna_td.pipeline.selection import select_learning_rate
from dyna_td.settings import DQNSettings, RegressionSettings, Run

SUPERVISED = Run("sin", "l2", RegressionSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))
CONTROL = Run("GridWorld", "er", DQNSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))


def sweep(metric, **values):
    """Two seeds and two evaluations of each rate, the values around the given mean."""
    spread = (-0.5, 0.5, -0.25, 0.25)
    rows = [
        (float(rate.replace("_", ".")), seed, step, metric, mean + spread[2 * seed + (step > 0)])
        for rate, mean in values.items()
        for seed in (0, 1)
        for step in (0, 50)
    ]
    return pd.DataFrame(rows, columns=["learning_rate", "seed", "step", "metric", "value"])


@pytest.mark.parametrize(
    ("run", "metric", "values", "rule"),
    [
        (SUPERVISED, "test_rmse", {"0_1": 3, "0_01": 2, "0_001": 4}, "lowest wins"),
        (CONTROL, "return", {"0_1": -300, "0_01": -200, "0_001": -400}, "highest wins"),
    ],
)
def test_the_lowest_mean_error_or_the_highest_mean_return_wins(run, metric, values, rule):
    choice = select_learning_rate(run, sweep(metric, **values))
    assert choice["learning_rate"] == 0.01 and choice["metric"] == metric and rule in choice["rule"]
    assert choice["scores"] == {rate.replace("_", "."): value for rate, value in values.items()}


@pytest.mark.parametrize(("run", "metric"), [(SUPERVISED, "test_rmse"), (CONTROL, "return")])
def test_of_equal_rates_the_larger_wins(run, metric):
    assert select_learning_rate(run, sweep(metric, **{"0_01": 2, "0_1": 2}))["learning_rate"] == 0.1


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize(("run", "metric"), [(SUPERVISED, "test_rmse"), (CONTROL, "return")])
def test_a_rate_that_diverged_once_comes_last(run, metric, bad):
    frame = sweep(metric, **{"0_1": 2, "0_01": 2})
    frame.loc[frame["learning_rate"].eq(0.1).idxmax(), "value"] = bad
    choice = select_learning_rate(run, frame)
    assert choice["learning_rate"] == 0.01 and choice["scores"]["0.1"] is None


def test_a_sweep_in_which_every_rate_diverged_is_refused():
    frame = sweep("test_rmse", **{"0_1": np.nan, "0_01": np.inf})
    with pytest.raises(UserError, match=r"^no learning rate of sin/l2/.* trains without diverging: .*\.$"):
        select_learning_rate(SUPERVISED, frame)
