"""The beginning of a run, trained alone, is the beginning of the run."""

from dyna_td.pipeline import results
from dyna_td.publishing import restamp
from dyna_td.settings import RegressionSettings, Run
from dyna_td.training import trainer


def test_the_first_program_of_a_run_that_stops_early_has_the_numbers_of_the_whole_run():
    run = Run("sin", "l2", RegressionSettings(examples=50), tuple(range(22)), steps=60, evaluate_every=20)
    whole = trainer.execute(run).records
    expected = whole[(whole["step"] <= 40) & (whole["seed"] < 11)]
    assert results.to_csv_text(restamp.train_beginning(run, 40, measures=True)) == results.to_csv_text(expected)
