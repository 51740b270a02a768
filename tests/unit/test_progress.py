"""Progress is a bar on a terminal and a few plain lines elsewhere."""

import io

import pytest
from files import rows_of

from dyna_td.training import progress


@pytest.mark.parametrize(
    ("begun", "done", "total", "line"),
    [
        (0, 2000, 2000, "2,000 of 2,000 steps, 200 steps/s, 0 s left"),  # the last line is always shown
        (600, 800, 1000, "800 of 1,000 steps, 20 steps/s, 10 s left"),  # steps before the first call do not count
        (0, 0, 100, "0 of 100 steps, 0 steps/s, time left unknown"),
    ],
)
def test_a_line_is_plain_and_its_speed_that_of_this_training(monkeypatch, begun, done, total, line):
    clock = iter([0.0, 10.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    with progress.progress("sin/l2", stream) as show:
        show(begun, total)
        show(done, total)
    assert stream.getvalue() == f"sin/l2: compiling\nsin/l2: {line}\n"


def test_the_latest_mean_return_goes_with_the_progress():
    records = rows_of(lambda seed, step, _: 100.0 * seed + step, seed=(0, 1), step=(0, 500), metric=["return"])
    for stream in (io.StringIO(), terminal := io.StringIO()):
        terminal.isatty = lambda: True
        with progress.progress("run", stream) as show:
            show.watch(records)
            show(0, 1000)
            show(1000, 1000)
        assert "run: compiling" in stream.getvalue() and "mean return 550" in stream.getvalue()
