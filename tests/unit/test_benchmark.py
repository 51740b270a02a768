"""The twelve benchmark panels together, by hand."""

import numpy as np
import pandas as pd
import pytest
from files import sentence_of

from dyna_td.evidence import benchmark
from dyna_td.plan.plans import load_plan
from dyna_td.records import published

PLAN = load_plan("paper")


def test_a_profile_is_the_share_of_trainings_above_each_threshold():
    scores = np.array([[0.1, 0.5, 0.9, 0.5], [0.7, 0.7, 0.7, 0.7]])  # two panels, four seeds
    found = benchmark.profile(scores, np.array([0.0, 0.5, 0.6, 1.0]))
    assert found.value.tolist() == [1.0, 5 / 8, 5 / 8, 0.0]  # 0.5 is not above 0.5
    assert (found.low <= found.value).all() and (found.value <= found.high).all()
    assert found.low[[0, 3]].tolist() == found.high[[0, 3]].tolist() == [1.0, 0.0]
    assert found.low[1] == 0.5  # the second panel's seeds are equal, so only the first one's vary
    assert found.high[1] in (7 / 8, 1.0)


def test_the_probability_of_improvement_counts_pairs_of_trainings_and_a_tie_as_half():
    plus, minus = np.array([[1.0, 2.0], [5.0, 5.0]]), np.array([[1.0, 0.0], [5.0, 6.0]])
    found = benchmark.improvement(plus, minus)  # pairs: 0.5 + 1 + 1 + 1 of 4, and 0.5 + 0 + 0.5 + 0 of 4
    assert found.value == pytest.approx((3.5 / 4 + 1 / 4) / 2)
    assert found.low < found.value < found.high
    assert benchmark.improvement(plus, plus).value == 0.5


def test_scores_are_shares_of_the_range_in_all_twelve_panels_of_the_agents_that_all_have():
    scores = benchmark.scores(PLAN)
    assert set(scores) == {"er", "prioritized_er", "dyna_td", "dyna_value", "dyna_frequency"}
    assert all(of.shape == (12, 20) and of.min() >= 0 and of.max() <= 1 for of in scores.values())
    curves = pd.read_csv(published.curves_csv("figure_4"))
    of_a = curves.query("panel == 'a' and curve == 'er' and metric == 'return' and step >= 5000")["mean"].mean()
    assert scores["er"][0].mean() == pytest.approx((of_a + 2000) / 2000)


def test_a_missing_table_is_named_with_the_remedy(tmp_path):
    sentence = sentence_of(benchmark.scores, PLAN, tmp_path)
    assert str(tmp_path / "figure_4" / "scores.csv") in sentence and "git checkout" in sentence
