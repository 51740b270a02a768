"""The benchmark's table and its picture."""

import pandas as pd
import pytest
import speed

from dyna_td import benchmark
from dyna_td.errors import UserError


@pytest.fixture
def instant(monkeypatch):
    """Replaces every timed program by nothing at all, which is said to be 100 updates."""
    monkeypatch.setattr(benchmark, "_program", lambda case: (lambda: None, 100))
    monkeypatch.setattr(benchmark, "_train_keras", lambda: lambda: None)
    row = {"table": "roundabout", "case": "roundabout", "milliseconds_per_step": 1.0}
    monkeypatch.setattr(benchmark, "_ALSO", {"roundabout": lambda repeats: [row]})


def test_every_case_and_every_scaling_is_a_row_and_the_picture_is_drawn_from_them(instant, tmp_path, capsys):
    output = tmp_path / "benchmark.csv"
    benchmark.main(["--repeats", "1", "--output", str(output)])
    table = pd.read_csv(output)
    expected = {("cases", name) for name in benchmark.CASES}
    expected |= {("roundabout", "roundabout")}
    expected |= {(name, str(value)) for name, cases in benchmark.SCALING.items() for value in cases}
    assert set(zip(table["table"], table["case"], strict=True)) == expected
    assert all(name in capsys.readouterr().out for name in ("dyna_td_learned",))
    assert speed.main(["--table", str(output), "--output", str(tmp_path / "speed.png")]) == 0
    assert (tmp_path / "speed.png").stat().st_size > 10_000


def test_milliseconds_per_step_are_those_of_all_seeds_and_updates(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "_time", lambda train, updates, repeats: (5.0, 10.0))
    monkeypatch.setattr(benchmark, "_program", lambda case: (None, 1))
    (row,) = benchmark._measure_cases(["dyna_td"], 1)
    assert row["milliseconds_per_step"] == pytest.approx(10e-3 * 30 * 20)
    row = next(benchmark._measure_scaling(["seeds"], 1))
    assert row["case"] == 2 and row["milliseconds_per_step"] == pytest.approx(10e-3 * 30 * 2)


def test_only_what_is_asked_for_is_measured(instant, capsys):
    benchmark.main(["--repeats", "1", "--cases", "er", "--scaling", "--also"])
    assert "prioritized" not in capsys.readouterr().out


def test_a_step_in_gymnasium_is_divided_into_its_parts(monkeypatch):
    times = iter([500.0, 1300.0, 9000.0])
    monkeypatch.setattr(benchmark, "_time", lambda function, count, repeats: (0.0, next(times)))
    parts = {row["case"]: row["milliseconds_per_step"] for row in benchmark._measure_step(1)}
    assert parts == pytest.approx({"environments": 0.5, "call": 0.8, "learning": 7.7})


def test_a_mistake_is_refused(tmp_path, capsys):
    with pytest.raises(UserError, match="--repeats is 0"):
        benchmark.main(["--repeats", "0"])
    (tmp_path / "x.csv").write_text("table,case\n")
    assert speed.main(["--table", str(tmp_path / "x.csv"), "--output", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
