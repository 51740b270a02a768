"""The benchmark of speed: its table and its pictures."""

import os

import pandas as pd
import pictures
import pytest
import speed

from dyna_td.errors import UserError


@pytest.fixture
def instant(monkeypatch):
    """Measures every case at once: 10 microseconds an update."""
    cost = {"best": 5.0, "median": 10.0, "compile_seconds": 2.0, "memory_mib": 600.0}
    monkeypatch.setattr(speed, "in_new_process", lambda function, *arguments: cost)
    for table in ("hopper_step", "roundabout"):
        monkeypatch.setitem(speed.TABLES, table, lambda repeats: [{"case": "one", "milliseconds_per_step": 1.0}])


def test_every_case_is_a_row_and_the_picture_is_drawn_from_them(instant, tmp_path):
    output = tmp_path / "benchmark.csv"
    assert speed.main(["--repeats", "1", "--output", str(output)]) == 0
    table = pd.read_csv(output)
    expected = {("cases", name) for name in speed.CASES} | {("hopper_step", "one"), ("roundabout", "one")}
    expected |= {(name, str(value)) for name, cases in speed.SCALING.items() for value in cases}
    assert set(zip(table["table"], table["case"], strict=True)) == expected
    rows = table.set_index(["table", "case"])
    assert rows.loc[("cases", "dyna_td"), "milliseconds_per_step"] == pytest.approx(10e-3 * 30 * 20)  # n and all seeds
    assert rows.loc[("seeds", "1"), "milliseconds_per_step"] == pytest.approx(10e-3 * 30)
    assert rows.loc[("cases", "dyna_td"), "keras_ratio"] == 1.0
    assert pictures.main([str(output)]) == 0
    assert (tmp_path / "speed.png").stat().st_size > 10_000


@pytest.mark.parametrize(("name", "power", "formula"), [("seeds", 1, "0.50 + 0.25 x"), ("hidden", 2, "0.50 + 0.25 x²")])
def test_a_fitted_curve_goes_through_costs_that_lie_on_one(name, power, formula):
    values = [1, 2, 5, 10]
    text, curve = pictures.fitted_curve(name, values, [0.5 + 0.25 * value**power for value in values])
    assert text == formula
    assert curve(4.0) == pytest.approx(0.5 + 0.25 * 4**power)


@pytest.mark.thorough
def test_a_case_and_the_keras_dqn_are_measured(monkeypatch):
    monkeypatch.setattr(speed, "FILL", 60)
    monkeypatch.setattr(speed, "KERAS_UPDATES", 3)
    for cost in (speed.time_case(speed.case("er", seeds=2, hidden=(8, 8)), 1), speed.time_keras(1)):
        assert 0 < cost["best"] <= cost["median"] and cost["memory_mib"] > 100 and cost["compile_seconds"] > 0


def test_a_step_in_gymnasium_is_divided_into_its_parts(monkeypatch):
    times = iter([500.0, 1300.0, 9000.0])
    monkeypatch.setattr(speed, "time_chunks", lambda work, count, repeats: (0.0, next(times)))
    assert speed.time_hopper_step(1) == pytest.approx({"environments": 0.5, "call": 0.8, "learning": 7.7})


@pytest.mark.thorough
def test_a_process_of_its_own_returns_its_result_or_one_sentence():
    assert speed.in_new_process(divmod, 7, 2) == (3, 1)
    with pytest.raises(UserError, match="a measurement was killed, perhaps for want of memory"):
        speed.in_new_process(os._exit, 1)


def test_a_mistake_is_one_sentence_before_anything_is_measured(tmp_path, capsys):
    assert speed.main(["--repeats", "0"]) == 2
    assert speed.main(["--output", str(tmp_path)]) == 2
    (tmp_path / "x.csv").write_text("table,case\n")
    assert pictures.main([str(tmp_path / "x.csv")]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == errors.count("error: ") == 3
