"""The beginning of a run, trained alone, is the beginning of the run."""

from dyna_td import results, training
from dyna_td.publishing import restamp
from dyna_td.runs import RegressionSettings, Run


def test_two_seeds_of_a_run_that_stops_early_have_the_numbers_of_the_whole_run():
    run = Run("sin", "l2", RegressionSettings(examples=50), seeds=(0, 1, 2), steps=60, evaluate_every=20)
    whole = training.execute(run).records
    expected = whole[(whole["step"] <= 40) & (whole["seed"] < 2)]
    assert results.to_csv_text(restamp.train_beginning(run, 40, measures=True)) == results.to_csv_text(expected)
