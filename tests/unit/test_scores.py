"""Windows and scores, computed by hand on runs with simple metrics."""

import numpy as np
import pytest
from files import rows_of

from dyna_td.errors import UserError
from dyna_td.evidence.scores import Measured, common_seconds, score, steps_in
from dyna_td.runs.run import Run
from dyna_td.settings import ControlSettings, RegressionSettings

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
        (PAPER, "end", 50_000, 50_000, 1),
        (PAPER, "moment_early", 10_000, 10_000, 1),
        (SUPERVISED, "auc", 500, 50_000, 100),
        (SHORT, "auc", 4, 10, 7),
        (SHORT, "final", 4, 10, 7),
        (SHORT, "moment_early", 10, 10, 1),
    ],
)
def test_a_window_covers(run, window, first, last, count):
    steps = steps_in(run, window, evaluations(run))
    assert (steps[0], steps[-1], len(steps)) == (first, last, count)


def test_a_score_is_the_mean_over_the_window_for_each_seed():
    found = score(measured({"return": lambda step: step}), "return", "auc")
    assert found.to_dict() == {0: 7.0, 1: 107.0}


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


def test_a_metric_that_the_run_lacks_is_told_with_the_remedy():
    with pytest.raises(UserError, match=r"GridWorld/er/.* was trained without crashed; rebuild it with `make it`\."):
        score(measured({"return": lambda step: step}), "crashed", "auc")
