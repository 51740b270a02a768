"""Intervals and tests of means and of the benchmark panels: by hand, by enumeration, and by their error rates."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy
from files import sentence_of

from dyna_td.evidence import profiles
from dyna_td.evidence.statistics import (
    estimate,
    estimate_middle_half,
    estimate_ratio,
    fisher_exact,
    holm,
    interquartile_mean,
    p_inside,
    p_outside,
    proportion_difference,
)
from dyna_td.plan.plans import load_plan
from dyna_td.records import published

DATASETS = 1000
SAMPLING_ERROR = 3.5 * np.sqrt(0.05 * 0.95 / DATASETS)  # for a rate of 5%


def normal(seed, n, spread=1.0):
    return np.random.default_rng(seed).normal(scale=spread, size=(DATASETS, n))


def test_runs_without_a_common_seed_are_not_compared():
    assert sentence_of(estimate, []).startswith("the sample is empty, expected a value of one seed or more")


def test_the_interval_is_that_of_all_possible_resamples():
    sample = np.array([0.0, 1.0, 1.5, 4.0, 9.0])
    deviations = []
    for resample in itertools.product(sample, repeat=len(sample)):
        error = np.std(resample, ddof=1) / np.sqrt(len(sample))
        shift = np.mean(resample) - sample.mean()
        deviations.append(shift / error if len(set(resample)) > 1 else np.copysign(np.inf, shift))
    smallest, largest = np.quantile(deviations, [0.025, 0.975], method="inverted_cdf")
    error = np.std(sample, ddof=1) / np.sqrt(len(sample))
    low, high = estimate(sample).interval()
    assert low == pytest.approx(sample.mean() - largest * error, rel=0.03)
    assert high == pytest.approx(sample.mean() - smallest * error, rel=0.03)


def assert_the_tests_begin_to_reject_at_its_ends(found):
    low, high = found.interval()
    assert found.p_above(low - 1e-6) <= 0.025 < found.p_above(low + 1e-6)
    assert found.p_below(high + 1e-6) <= 0.025 < found.p_below(high - 1e-6)


def test_the_ends_of_the_interval_are_where_the_tests_begin_to_reject():
    found = estimate(np.array([0.3, 1.1, -0.4, 2.0, 0.9, 1.4]))
    assert_the_tests_begin_to_reject_at_its_ends(found)
    low, high = found.interval()
    assert p_inside(found, low - 1e-6, high + 1e-6) <= 0.025 < p_inside(found, low - 1e-6, high - 1e-6)
    assert p_inside(found, low - 1e-6, np.inf) == found.p_above(low - 1e-6)
    assert p_outside(found, high + 1e-6, np.inf) == found.p_below(high + 1e-6)
    assert p_outside(found, -9.0, low - 1e-6) <= 0.025 < p_outside(found, -9.0, low + 1e-6)


def test_the_interval_of_the_interquartile_mean_covers_it_and_ends_where_the_tests_begin_to_reject():
    samples = np.random.default_rng(3).exponential(size=(200, 30))  # skewed: mean 1, interquartile mean 0.71
    truth = np.quantile(np.random.default_rng(4).exponential(size=10**6), np.linspace(0.25, 0.75, 10_001)).mean()
    found = [estimate_middle_half(sample) for sample in samples]
    covered = np.mean([low <= truth <= high for low, high in (each.interval() for each in found)])
    assert 0.91 < covered < 0.98
    assert_the_tests_begin_to_reject_at_its_ends(found[0])
    assert found[0].effect == pytest.approx(interquartile_mean(samples[0]))


def test_a_ratio_is_that_of_the_means_and_its_error_that_of_the_delta_method():
    a, b = np.array([[1.0, 2.0, 6.0, 7.0], [2.0, 2.0, 3.0, 5.0]])
    found = estimate_ratio([a], [b])
    assert np.exp(found.effect) == pytest.approx(4.0 / 3.0)  # the geometric mean of the seeds' own ratios is 1.14
    assert found.standard_error == pytest.approx(np.std(a / 4.0 - b / 3.0, ddof=1) / 2.0)
    both = estimate_ratio([a, b], [b, a])
    assert both.effect == pytest.approx(0.0) and both.standard_error == pytest.approx(0.0, abs=1e-12)


def test_students_interval_is_that_of_scipy():
    sample = np.array([0.3, 1.1, -0.4, 2.0, 0.9, 1.4])
    expected = scipy.stats.ttest_1samp(sample, 0.0).confidence_interval()
    assert estimate(sample).student(6) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize("sample", [[3.0], [3.0, 3.0, 3.0, 3.0, 3.0], [1.0, 2.0], [1.0, 2.0, 3.5]])
def test_a_sample_without_spread_or_of_less_than_four_says_nothing(sample):
    found = estimate(sample)
    assert found.interval() == (-np.inf, np.inf)
    assert min(found.p_above(0.0), found.p_below(0.0)) > 0.025


@pytest.mark.parametrize("n", [5, 10, 20])
def test_a_95_percent_interval_covers_95_percent(n):
    low, high = estimate(normal(n, n) + 7.0).interval()
    assert np.mean((low <= 7.0) & (high >= 7.0)) == pytest.approx(0.95, abs=SAMPLING_ERROR + 0.005)


def test_equivalence_is_claimed_at_the_nominal_rate_by_an_effect_at_the_margin():
    found = estimate(normal(5, 20, spread=0.3) + 1.0)
    assert np.mean(p_inside(found, -1.0, 1.0) <= 0.025) == pytest.approx(0.025, abs=SAMPLING_ERROR / np.sqrt(2))


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (fisher_exact, [3, 4, 1, 4], (17 / 70, 69 / 70)),  # the lady tasting tea
        # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1; the last is raised to the one before.
        (holm, [[0.01, 0.04, 0.03, 0.005]], [0.03, 0.06, 0.06, 0.02]),
        (holm, [[]], []),
        (proportion_difference, [56, 70, 48, 80], (0.2, 0.0524, 0.3339)),  # Newcombe's example
    ],
)
def test_by_hand(function, arguments, expected):
    assert function(*arguments) == pytest.approx(expected, abs=5e-5)


def test_a_profile_is_the_share_of_trainings_above_each_threshold():
    scores = np.array([[0.1, 0.5, 0.9, 0.5], [0.7, 0.7, 0.7, 0.7]])  # two panels, four seeds
    found = profiles.profile(scores, np.array([0.0, 0.5, 0.6, 1.0]))
    assert found.mean.tolist() == [1.0, 5 / 8, 5 / 8, 0.0]  # 0.5 is not above 0.5
    assert (found.low <= found.mean).all() and (found.mean <= found.high).all()
    assert found.low[[0, 3]].tolist() == found.high[[0, 3]].tolist() == [1.0, 0.0]
    assert found.low[1] == 0.5  # the second panel's seeds are equal, so only the first one's vary
    assert found.high[1] in (7 / 8, 1.0)


def test_the_probability_of_improvement_counts_pairs_of_trainings_and_a_tie_as_half():
    plus, minus = np.array([[1.0, 2.0], [5.0, 5.0]]), np.array([[1.0, 0.0], [5.0, 6.0]])
    found = profiles.improvement(plus, minus)  # pairs: 0.5 + 1 + 1 + 1 of 4, and 0.5 + 0 + 0.5 + 0 of 4
    assert found.mean == pytest.approx((3.5 / 4 + 1 / 4) / 2)
    assert found.low < found.mean < found.high
    assert profiles.improvement(plus, plus).mean == 0.5


def test_scores_are_shares_of_the_range_in_all_twelve_panels_of_the_agents_that_all_have():
    scores = profiles.scores(load_plan("paper"))
    assert set(scores) == {"er", "prioritized_er", "dyna_td", "dyna_value", "dyna_frequency"}
    assert all(of.shape == (12, 20) and of.min() >= 0 and of.max() <= 1 for of in scores.values())
    curves = pd.read_csv(published.curves_csv("figure_4"))
    of_a = curves.query("panel == 'a' and curve == 'er' and metric == 'return' and step >= 5000")["mean"].mean()
    assert scores["er"][0].mean() == pytest.approx((of_a + 2000) / 2000)
