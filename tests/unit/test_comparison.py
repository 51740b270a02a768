"""Two trainings are compared seed by seed, or, with few seeds, as independent samples."""

import os

import pandas as pd
import pytest
from files import error_of, python, rows_of

from dyna_td import cli
from dyna_td.evidence.comparison import compare
from dyna_td.records import results
from dyna_td.records.files import IMPORTS, ROOT

PUBLISHED = [str(ROOT / f"reference/runs/GridWorld/{agent}/n10-lr0.001.csv.xz") for agent in ("dyna_td", "er")]


@pytest.fixture
def write(tmp_path):
    """Writes a training with these values by seed at every evaluation but the first, before learning."""

    def call(name, values, environment="GridWorld", metric="return"):
        keys = {"seed": values, "step": (0, 500, 1_000), "metric": [metric]}
        records = rows_of(lambda seed, step, _: values[seed] if step else 1e9, **keys)
        details = {"environment": environment, "agent": name.rpartition("/")[2], "run": f"run of {name}"}
        results.write(tmp_path / f"{name}.csv", records, details | {"settings": {"warm_up_steps": 500}})
        return tmp_path / f"{name}.csv"

    return call


def test_few_seeds_are_compared_as_independent_samples(write):
    sides = write("a", {0: 1.0, 1: 2.0, 2: 3.0}), write("b", {0: 0.0, 5: 0.5, 6: 1.0, 7: 2.0})
    *_, plus, minus, difference = compare(sides)
    assert plus == "  a: 2 ± 2.48, 3 seeds (run of a)"  # Student's t(0.975, 2) / sqrt(3)
    assert minus.startswith("  b: 0.875 ± ")
    assert difference.startswith("a - b: +1.12, 95% interval ") and "(3 and 4 seeds, not paired); no lead" in difference
    assert difference.endswith("P of improvement by a 0.83")  # 9 wins and 2 ties of 12


def test_of_errors_the_smaller_one_leads(write):
    of = {"a": 1, "b": 2}
    sides = [write(name, {s: of[name] + s / 100 for s in range(4)}, "sin", "test_rmse") for name in of]
    assert compare(sides)[-1].endswith("a leads; P of improvement by a 1.00")


def test_published_runs_are_compared_by_the_command_with_a_picture(tmp_path, capsys):
    assert cli.main(["compare", *PUBLISHED, "--output", str(tmp_path / "x.png")]) == 0
    difference, wrote = capsys.readouterr().out.splitlines()[-2:]
    assert difference.startswith("dyna_td - er: +439, 95% interval +309 to +610 (20 seeds, paired); dyna_td leads")
    assert wrote == f"wrote {tmp_path / 'x.png'}" and (tmp_path / "x.png").stat().st_size > 5_000


def test_a_mistake_is_one_sentence(write, tmp_path, capsys):
    a, b = write("a", {0: 1.0}), write("b", {0: 1.0, 1: 2.0}, "MountainCar-v0")
    short = write("short", {0: 1.0})
    for names, words in (
        ([a, b], "compare runs of one environment"),
        ([a, short], "a and short have 1 and 1 seeds whose numbers are finite: train two or more"),
        ([a, a], "is named twice"),
        ([a], "expected two CSVs of trainings, or figures alone"),
        ([a, "figure_1"], "expected two CSVs of trainings, or figures alone"),
        ([a, tmp_path / "none.csv"], "cannot read "),
    ):
        assert words in error_of(cli.main, ["compare", *map(str, names)], capsys)


def test_trainings_of_one_name_have_their_folders_and_equal_numbers_have_no_interval(write, tmp_path):
    sides = []
    for folder in ("x", "y"):
        (tmp_path / folder).mkdir()
        sides.append(write(f"{folder}/td", dict.fromkeys(range(12), 1.0)))
    difference = compare(sides)[-1]
    assert difference == f"{sides[0]} - {sides[1]}: 0 for every seed, so there is no interval"


def test_diverged_seeds_are_said(write):
    sides = write("a", {0: 1.0, 1: 2.0}), write("b", {0: 1.0, 1: 2.5})
    records, details = results.read_training(sides[1])
    flags = records[records["step"] == 500].assign(metric="diverged", value=1.0)
    results.write(sides[1], pd.concat([records, flags]), details)
    assert "; 2 of 2 seeds diverged (run of b)" in compare(sides)[2]


def test_a_foreign_picture_is_kept_and_an_ascii_terminal_is_served(tmp_path):
    odd = {"PYTHONIOENCODING": "ascii", "MPLBACKEND": "nonsense"}
    command, options = ["-m", "dyna_td", "compare", *PUBLISHED], {"cwd": tmp_path, "env": os.environ | IMPORTS | odd}
    assert python(*command, **options).returncode == 0
    assert python(*command, **options).returncode == 0  # replaces its own
    (picture,) = tmp_path.glob("*.png")
    picture.write_bytes(b"another's")
    refused = python(*command, **options)
    assert refused.returncode == 2 and "name the picture by --output" in refused.stderr
    assert picture.read_bytes() == b"another's"
