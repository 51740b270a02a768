"""Two trainings are compared seed by seed, or, with few seeds, as independent samples."""

import pandas as pd
import pytest
from files import error_of

from dyna_td import cli
from dyna_td.evidence.comparison import compare
from dyna_td.pipeline import results
from dyna_td.pipeline.files import ROOT

PUBLISHED = [str(ROOT / f"reference/runs/GridWorld/{agent}/n10-lr0.001.csv.xz") for agent in ("dyna_td", "er")]


@pytest.fixture
def write(tmp_path):
    """Writes a training with these values by seed, the same at every evaluation after a step without learning."""

    def call(name, values, environment="GridWorld", metric="return"):
        rows = [
            (seed, step, metric, value if step else 1e9) for seed, value in values.items() for step in (0, 500, 1_000)
        ]
        details = {"environment": environment, "agent": name, "run": f"run of {name}"}
        details["settings"] = {"warm_up_steps": 500}
        results.write(tmp_path / f"{name}.csv", pd.DataFrame(rows, columns=results.COLUMNS), details)
        return tmp_path / f"{name}.csv"

    return call


def test_few_seeds_are_compared_as_independent_samples(write):
    *_, plus, minus, difference = compare(
        [write("a", {0: 1.0, 1: 2.0, 2: 3.0}), write("b", {0: 0.0, 5: 0.5, 6: 1.0, 7: 2.0})]
    )
    assert plus == "  a: 2 ± 2.48, 3 seeds (run of a)"  # t(0.975, 2) / sqrt(3)
    assert minus.startswith("  b: 0.875 ± ")
    assert difference.startswith("a - b: +1.12, 95% interval ") and "(3 and 4 seeds, not paired); no lead" in difference
    assert difference.endswith("P of improvement by a 0.83")  # 9 wins and 2 ties of 12


def test_of_errors_the_smaller_one_leads(write):
    sides = [
        write(name, {seed: error + seed / 100 for seed in range(4)}, "sin", "test_rmse")
        for name, error in (("a", 1), ("b", 2))
    ]
    assert compare(sides)[-1].endswith("a leads; P of improvement by a 1.00")


def test_published_runs_are_compared_by_the_command_with_a_picture(tmp_path, capsys):
    assert cli.main(["compare", *PUBLISHED, "--output", str(tmp_path / "x.png")]) == 0
    difference, wrote = capsys.readouterr().out.splitlines()[-2:]
    assert difference.startswith("dyna_td - er: +432, 95% interval +302 to +602 (20 seeds, paired); dyna_td leads")
    assert wrote == f"wrote {tmp_path / 'x.png'}" and (tmp_path / "x.png").stat().st_size > 5_000


def test_a_mistake_is_one_sentence(write, tmp_path, capsys):
    a, b = write("a", {0: 1.0}), write("b", {0: 1.0, 1: 2.0}, "MountainCar-v0")
    short = write("short", {0: 1.0})
    for names, words in (
        ([a, b], "compare runs of one environment"),
        ([a, short], "a and short have 1 and 1 finite seeds: train two or more of each"),
        ([a], "expected two CSVs of trainings, or figures alone"),
        ([a, "figure_1"], "expected two CSVs of trainings, or figures alone"),
        ([a, tmp_path / "none.csv"], "cannot read "),
    ):
        assert words in error_of(cli.main, ["compare", *map(str, names)], capsys)
