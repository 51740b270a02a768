"""The picture of runs that were trained by hand."""

import numpy as np
import pandas as pd
import pytest
import runs
import style
from files import error_of

from dyna_td.pipeline import results
from dyna_td.training import checkpoint


@pytest.fixture
def csv(tmp_path):
    rows = [(seed, step, metric, seed - step) for seed in (0, 1) for step in (0, 500) for metric in ("return", "speed")]
    path = tmp_path / "lander.csv"
    details = {"agent": "dyna_td", "environment": "LunarLander-v3", "seeds": [0, 1]}
    results.write(path, pd.DataFrame(rows, columns=results.COLUMNS), details)
    return path


def test_runs_are_drawn(csv, tmp_path):
    assert runs.main([str(csv), str(csv), "--metric", "speed", "--output", str(tmp_path / "x.png")]) == 0
    assert (tmp_path / "x.png").stat().st_size > 5_000 and (tmp_path / "x.pdf").exists()


def test_an_agents_first_run_has_its_look_and_the_window_is_no_longer_than_the_runs(csv, tmp_path, monkeypatch):
    pictures = []
    monkeypatch.setattr(runs, "save", lambda figure, output: pictures.append(figure))
    runs.main([str(csv), str(csv), "--window", "30", "--output", str(tmp_path / "x.png")])
    first, second = (line.get_color() for line in pictures[0].axes[0].lines)
    assert first == style.style_of("dyna_td").colour != second
    assert "an evaluation and the 1 before it" in pictures[0].get_supxlabel()


def test_the_supervised_task_is_drawn_by_its_own_metric(tmp_path):
    path = tmp_path / "sin.csv"
    rows = [(0, step, "test_rmse", 1 / (1 + step)) for step in (0, 500)]
    details = {"agent": "l2", "environment": "sin", "seeds": [0]}
    results.write(path, pd.DataFrame(rows, columns=results.COLUMNS), details)
    assert runs.main([str(path), "--output", str(tmp_path / "x.png")]) == 0


def test_a_training_that_is_under_way_is_drawn_from_its_checkpoint(csv, tmp_path):
    records, details = results.read(csv, "")
    csv.unlink()
    arrays = checkpoint.pack(records, "log0.metrics")
    checkpoint.Checkpoint(csv.with_suffix(".checkpoint"), {"settings": [details]}).save(arrays, {})
    assert runs.main([str(csv), "--output", str(tmp_path / "x.png")]) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--metric", "retrun", "--output", "x.png"], "did you mean 'return'?"),
        (["--output", "x.jpg"], "--output is 'x.jpg', expected a name that ends in .png."),
        (["--output", "x.png", "--window", "0"], "--window is 0, expected at least 1."),
        (["none.csv", "--output", "x.png"], "cannot read none."),
        (["foreign.csv", "--output", "x.png"], "cannot read foreign."),
        ([".", "--output", "x.png"], ". is no CSV: name one that"),
    ],
)
def test_a_mistake_is_one_sentence(csv, monkeypatch, tmp_path, capsys, options, words):
    monkeypatch.chdir(tmp_path)
    with open("foreign.checkpoint", "wb") as file:
        np.savez(file, facts=np.frombuffer(b"{}", np.uint8))
    assert words in error_of(runs.main, [str(csv), *options], capsys)
