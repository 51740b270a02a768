"""The benchmark of speed: its table."""

import pandas as pd
import pytest
import speed


@pytest.fixture
def instant(monkeypatch):
    """Measures every case at once: 10 microseconds an update."""
    cost = {"best": 5.0, "median": 10.0, "compile_seconds": 2.0, "memory_mib": 600.0}
    monkeypatch.setattr(speed, "in_new_process", lambda function, *arguments: cost)
    monkeypatch.setitem(speed.TABLES, "roundabout", lambda repeats: [{"case": "one", "milliseconds_per_step": 1.0}])


def test_every_case_is_a_row(instant, tmp_path):
    output = tmp_path / "benchmark.csv"
    assert speed.main(["--repeats", "1", "--output", str(output)]) == 0
    table = pd.read_csv(output)
    expected = {("cases", name) for name in speed.CASES} | {("roundabout", "one")}
    expected |= {("seeds", str(seeds)) for seeds in speed.SEED_COUNTS}
    assert set(zip(table["table"], table["case"], strict=True)) == expected
    rows = table.set_index(["table", "case"])
    assert rows.loc[("cases", "dyna_td"), "milliseconds_per_step"] == pytest.approx(10e-3 * 30 * 20)  # n and all seeds
    assert rows.loc[("seeds", "1"), "milliseconds_per_step"] == pytest.approx(10e-3 * 30)
    assert rows.loc[("cases", "dyna_td"), "keras_ratio"] == 1.0


def test_a_mistake_is_one_sentence_before_anything_is_measured(tmp_path, capsys):
    assert speed.main(["--repeats", "0"]) == 2
    assert speed.main(["--output", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert errors.count("\n") == errors.count("error: ") == 2
