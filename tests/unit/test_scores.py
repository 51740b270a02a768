"""Windows and scores, computed by hand on runs with simple metrics, and the choice of a learning rate by them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from files import rows_of, sentence_of

from dyna_td.commands.train import choice_in_words
from dyna_td.errors import UserError
from dyna_td.evidence.scores import Measured, common_seconds, score, steps_in
from dyna_td.plan.selection import select_learning_rate
from dyna_td.runs.run import Run
from dyna_td.settings import ControlSettings, DQNSettings, RegressionSettings

PAPER = Run("GridWorld", "er", ControlSettings(), seeds=(0, 1), steps=50_000)
SUPERVISED = Run("sin", "l2", RegressionSettings(), seeds=(0, 1), steps=50_000)
SHORT = Run("GridWorld", "er", ControlSettings(warm_up_steps=4), seeds=(0, 1), steps=10, evaluate_every=1)


def evaluations(run):
    return range(0, run.steps + 1, run.evaluate_every)


def measured(metrics, run=SHORT, **details):
    """A run in which seed k's metric at a step is f(step) + 100 k."""
    keys = {"seed": run.seeds, "step": evaluations(run), "metric": metrics}
    records = rows_of(lambda seed, step, metric: float(metrics[metric](step)) + 100 * seed, **keys)
    return Measured(run, records, details, "make it")


@pytest.mark.parametrize(
    ("run", "window", "first", "last", "count"),
    [
        (PAPER, "auc", 5_000, 50_000, 91),
        (PAPER, "early", 5_000, 20_000, 31),
        (PAPER, "final", 40_500, 50_000, 20),
        (PAPER, "moment_early", 10_000, 10_000, 1),
        (SUPERVISED, "auc", 500, 50_000, 100),
        (SHORT, "auc", 4, 10, 7),
        (SHORT, "final", 4, 10, 7),
    ],
)
def test_a_window_covers(run, window, first, last, count):
    steps = steps_in(run, window, evaluations(run))
    assert (steps[0], steps[-1], len(steps)) == (first, last, count)


def test_metrics_are_added_and_divided_by_another_s_mean():
    run = measured({"a": lambda step: step, "b": lambda step: 3 * step, "all": lambda step: step})
    assert score(run, "a+b", "end").to_dict() == {0: 40.0, 1: 240.0}
    assert score(run, "a+b", "end", over="all").to_dict() == {0: 4.0, 1: pytest.approx(240 / 110)}
    crashes = measured({"crashed": lambda step: step % 2, "episode_length": lambda step: 9 * step})
    # Steps 4 to 10: 3 crashes in 9 * 49 driving steps. Evaluations count by their driving steps.
    assert score(crashes, "crashed", "auc", over="episode_length")[0] == pytest.approx(3 / (9 * 49))
    nothing = measured({"crashed": lambda step: 1.0, "episode_length": lambda step: 0.0})
    assert np.isnan(score(nothing, "crashed", "auc", over="episode_length")[0])


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_seed_with_a_value_that_is_not_finite_has_no_score(value):
    run = measured({"return": lambda step: value if step == 6 else step})
    assert score(run, "return", "auc").isna().all()
    assert score(run, "return", "end").notna().all()


def test_equal_seconds_averages_over_the_clock_and_not_over_the_steps():
    # Steps take 1 s until step 6 and 3 s from there on, of two seeds together; the metric is the step.
    clock = [[step, 2.0 * (step if step <= 6 else 6 + 3 * (step - 6))] for step in evaluations(SHORT)]
    run = measured({"return": lambda step: step}, train_seconds_at=clock, trained_seeds=2)
    # From second 4 (step 4) to second 9 (step 7): areas 2 * 5 + 3 * 6.5 over 5 seconds.
    assert score(run, "return", "equal_seconds", seconds=9.0)[0] == pytest.approx(29.5 / 5, rel=1e-3)
    assert score(run, "return", "equal_seconds", seconds=9.0)[1] == pytest.approx(29.5 / 5 + 100, rel=1e-3)


def test_the_common_seconds_are_those_of_the_fastest_job_a_seed():
    slow = measured({}, train_seconds_at=[[0, 0.0], [10, 40.0]], trained_seeds=2)
    fast = measured({}, train_seconds_at=[[0, 0.0], [10, 12.0]], trained_seeds=2)
    assert common_seconds([slow, fast]) == 6.0


def test_cells_are_counted_in_a_part_of_the_square_and_a_run_without_states_of_the_source_is_refused():
    states = pd.DataFrame({"seed": [0, 0, 0, 1], "step": 4, "source": "own", "x": [0.7, 0.701, 0.9, 0.1], "y": 0.5})
    run = replace(measured({}), read_states=lambda: states)
    assert score(run, "cells_right", "end").to_dict() == {0: 2, 1: 0}
    with pytest.raises(UserError, match=r"GridWorld/er/.* was trained without cells_right_buffer; rebuild it with `m"):
        score(run, "cells_right_buffer", "end")


SWEPT = Run("sin", "l2", RegressionSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))
SWEPT_CONTROL = Run("GridWorld", "er", DQNSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))
KINDS = [(SWEPT, "test_rmse", 1, "lowest wins"), (SWEPT_CONTROL, "return", -100, "highest wins")]


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
    assert choice["learning_rate"] == 0.01 and "2 seeds diverged" in choice_in_words(choice, flagged)[1]


def test_a_sweep_in_which_every_rate_diverged_is_refused():
    sentence = sentence_of(select_learning_rate, SWEPT, sweep("test_rmse", {0.1: np.nan, 0.01: np.inf}))
    assert sentence.startswith("no learning rate of sin/l2/") and " trains without diverging: " in sentence
