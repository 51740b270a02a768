"""The benchmark's table and its picture."""

import os

import pandas as pd
import pytest
import speed

from dyna_td import benchmark
from dyna_td.errors import UserError


@pytest.fixture
def instant(monkeypatch):
    """Measures every case at once: 10 microseconds an update, 4 of them for 1,000 operations at best."""
    cost = benchmark.Measurement(5.0, 10.0, 2.0, 600.0, operations=1_000.0, product_microseconds=4.0)
    monkeypatch.setattr(benchmark, "_in_new_process", lambda function, *arguments: cost)
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


def test_a_row_derives_what_the_table_shows_from_what_was_measured(instant, capsys):
    (row,) = benchmark._measure_cases(["dyna_td"], 1)
    assert row["milliseconds_per_step"] == pytest.approx(10e-3 * 30 * 20)  # of all seeds and updates
    assert row["gigaflops"] == pytest.approx(1_000 / 10e-6 / 1e9)
    assert row["product_share"] == pytest.approx(0.4)
    assert row["keras_ratio"] == pytest.approx(1.0)
    row = next(benchmark._measure_scaling(["seeds"], 1))
    assert row["case"] == 1 and row["milliseconds_per_step"] == pytest.approx(10e-3 * 30)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--nope"], "unrecognized arguments: --nope; see `python -m dyna_td benchmark --help`."),
        (["--output", f"{'x' * 231}.csv"], "--output has a name of 235 bytes, expected at most 230"),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(arguments, words):
    with pytest.raises(UserError) as refusal:
        benchmark.main(arguments)
    assert words in str(refusal.value)


@pytest.mark.parametrize(("name", "power", "formula"), [("seeds", 1, "0.50 + 0.25 x"), ("hidden", 2, "0.50 + 0.25 x²")])
def test_a_fitted_curve_goes_through_costs_that_lie_on_one(name, power, formula):
    values = [1, 2, 5, 10]
    text, curve = benchmark.fitted_curve(name, values, [0.5 + 0.25 * value**power for value in values])
    assert text == formula
    assert curve(4.0) == pytest.approx(0.5 + 0.25 * 4**power)


def test_a_case_is_measured_with_the_products_of_its_updates(monkeypatch):
    monkeypatch.setattr(benchmark, "FILL", 60)
    case = benchmark._case("er", "GridWorld", seeds=2, hidden=(8, 8))
    cost = benchmark._measure_case(case, 1, with_products=True)
    weights = 2 * 8 + 8 * 8 + 8 * 4
    forward, backward = 2 * 32 * weights, 2 * 32 * (2 * weights - 2 * 8)
    assert cost.operations == 2 * forward + backward
    assert cost.product_microseconds > 0 and 0 < cost.best <= cost.median and cost.memory_mib > 100


def test_a_process_of_its_own_returns_what_it_computes():
    assert benchmark._in_new_process(divmod, 7, 2) == (3, 1)


def test_a_measurement_that_is_killed_is_one_sentence():
    with pytest.raises(UserError, match="a measurement was killed, perhaps for want of memory"):
        benchmark._in_new_process(os._exit, 1)


def test_only_what_is_asked_for_is_measured(instant, capsys):
    benchmark.main(["--repeats", "1", "--cases", "er", "--scaling", "--also"])
    assert "prioritized" not in capsys.readouterr().out


def test_a_step_in_gymnasium_is_divided_into_its_parts(monkeypatch):
    times = iter([500.0, 1300.0, 9000.0])
    monkeypatch.setattr(benchmark, "_time", lambda function, count, repeats: (0.0, next(times)))
    parts = {row["case"]: row["milliseconds_per_step"] for row in benchmark._step_parts(1)}
    assert parts == pytest.approx({"environments": 0.5, "call": 0.8, "learning": 7.7})


def test_a_mistake_is_refused(tmp_path, capsys):
    with pytest.raises(UserError, match="--repeats is 0"):
        benchmark.main(["--repeats", "0"])
    (tmp_path / "x.csv").write_text("table,case\n")
    assert speed.main(["--table", str(tmp_path / "x.csv"), "--output", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
