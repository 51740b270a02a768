"""The beginning of a run, trained alone, is the beginning of the run."""

from helpers import run_of

from dyna_td.pipeline import results
from dyna_td.publishing import restamp
from dyna_td.training import trainer


def test_the_first_program_of_a_run_that_stops_early_has_the_numbers_of_the_whole_run(monkeypatch):
    monkeypatch.setattr(trainer, "LARGEST_STACK", 2)
    run = run_of("sin", "l2", range(4), 60, 20, examples=50, hidden=(8,))
    whole = trainer.execute(run).records
    expected = whole[(whole["step"] <= 40) & (whole["seed"] < 2)]
    assert results.to_csv_text(restamp.train_beginning(run, 40, measures=True)) == results.to_csv_text(expected)
