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


def test_few_seeds_are_compared_as_independent_samples_and_of_errors_the_smaller_one_leads(write):
    sides = write("a", {0: 1.0, 1: 2.0, 2: 3.0}), write("b", {0: 0.0, 5: 0.5, 6: 1.0, 7: 2.0})
    *_, plus, minus, difference = compare(sides)
    assert "a: 2 ± 2.48 (95%), 3 seeds" in plus and "b: 0.875 ± " in minus  # Student's t(0.975, 2) / sqrt(3)
    assert "+1.12" in difference and "3 and 4 seeds, not paired" in difference and "no lead" in difference
    assert difference.endswith("0.83")  # 9 wins and 2 ties of 12
    errors = [write(f"e{of}", {s: of + s / 100 for s in range(4)}, "sin", "test_rmse") for of in (1, 2)]
    assert "e1 leads" in compare(errors)[-1]
    equal = [write(f"c{number}", dict.fromkeys(range(12), 1.0)) for number in (1, 2)]
    assert "no interval" in compare(equal)[-1]


def test_published_runs_are_compared_by_the_command_with_a_picture(tmp_path, capsys):
    assert cli.main(["compare", *PUBLISHED, "--output", str(tmp_path / "x.png")]) == 0
    difference, wrote = capsys.readouterr().out.splitlines()[-2:]
    tables = [pd.read_csv(path) for path in PUBLISHED]
    learning = [table[(table["metric"] == "return") & (table["step"] >= 5_000)] for table in tables]
    dyna_td, er = (rows.groupby("seed")["value"].mean() for rows in learning)
    assert difference.startswith(f"dyna_td - er: {(dyna_td - er).mean():+.0f}, 95% interval +")
    assert "(20 seeds, paired); dyna_td leads; P of improvement" in difference
    assert wrote == f"wrote {tmp_path / 'x.png'}" and (tmp_path / "x.png").stat().st_size > 5_000


def test_a_mistake_is_one_sentence(write, capsys):
    a, b = write("a", {0: 1.0}), write("b", {0: 1.0, 1: 2.0}, "MountainCar-v0")
    short = write("short", {0: 1.0})
    for names, words in (
        ([a, b], "compare runs of one environment"),
        ([a, short], "a and short have 1 and 1 seeds whose numbers are finite: train two or more"),
        ([a], "expected two CSVs of trainings, or figures alone"),
    ):
        assert words in error_of(cli.main, ["compare", *map(str, names)], capsys)


def test_a_foreign_picture_is_kept_and_an_ascii_terminal_is_served(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    odd = {"PYTHONIOENCODING": "ascii", "MPLBACKEND": "nonsense"}
    assert python("-m", "dyna_td", "compare", *PUBLISHED, env=os.environ | IMPORTS | odd).returncode == 0
    assert cli.main(["compare", *PUBLISHED]) == 0  # replaces its own picture
    (picture,) = (tmp_path / "results").glob("*.png")
    picture.write_bytes(b"another's")
    assert "name the picture by --output" in error_of(cli.main, ["compare", *PUBLISHED], capsys)
    assert picture.read_bytes() == b"another's"
