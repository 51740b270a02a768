"""Costs come only from measurements of finished and published runs; minutes left and progress from the speed seen."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from files import rows_of

from dyna_td import cli
from dyna_td.pipeline.forecast import Forecast, Training
from dyna_td.plan import costs, plans
from dyna_td.records import results
from dyna_td.training import progress

PAPER, QUICK = plans.load_plan("paper"), plans.load_plan("quick")
SWEPT = PAPER.figures["figure_1"].panels["b"].curves["l2"]
SWEEP = f"{SWEPT.name}.selection"


@pytest.fixture
def published(tmp_path, monkeypatch):
    """An empty folder of published runs."""
    monkeypatch.setattr(costs, "PUBLISHED", tmp_path / "published")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "published"


def write(path, run, seconds, memory=1000.0, sweep=(), **facts):
    path.parent.mkdir(parents=True, exist_ok=True)
    details = {"seeds": list(run.seeds), "steps": run.steps, "sweep": list(sweep)}
    path.write_text(json.dumps(details | facts | {"core_seconds": seconds, "peak_memory_mib": memory}))


def test_what_was_never_measured_has_the_largest_cost_and_can_be_forecast(published):
    assert costs.measured(PAPER, SWEPT.name) is None
    found = costs.expected(PAPER, SWEPT.name)
    assert found[:2] == costs.UNMEASURED[:2] and 0 < found.training(10, SWEPT.steps) < found.core_seconds
    write(published / f"{SWEPT.name}.json", replace(SWEPT, steps=10), 7.0)  # it has another number of steps
    assert costs.measured(PAPER, SWEPT.name) is None


def test_an_unknown_environment_is_expected_to_be_as_slow_as_the_slowest(published):
    write(published / "roundabout-paper-v0" / "er" / "n10.json", replace(SWEPT, seeds=(0, 1), steps=1_000), 400.0)
    found = costs.expected(PAPER, SWEPT.name)
    assert found.core_seconds == pytest.approx(costs.START + 0.2 * len(SWEPT.seeds) * SWEPT.steps)


def test_published_costs_are_those_of_the_papers_scale_alone(published):
    write(published / f"{SWEPT.name}.json", SWEPT, 7.0)
    write(published / f"{SWEEP}.json", PAPER.selection_runs(SWEPT)[0], 3.0, sweep=SWEPT.sweep)
    assert [costs.measured(PAPER, job)[:2] for job in (SWEPT.name, SWEEP)] == [(7.0, 1000.0), (3.0, 1000.0)]
    assert costs.measured(QUICK, SWEEP) is None
    write(results.beside(results.run_csv("quick", SWEPT.name), "json"), QUICK.runs[SWEPT.name], 2.0)  # finished
    assert costs.measured(QUICK, SWEPT.name).core_seconds == 2.0


def test_a_beginning_is_expected_to_take_its_share_of_the_published_seconds(published):
    run = QUICK.runs["GridWorld/dyna_td_long/n10-lr0.001"]  # 4 of 20 seeds, 15,000 of 50,000 steps
    clock = [[0, 0.0], [5_000, 1.0], [15_000, 20.0], [50_000, 100.0]]
    write(published / f"{run.name}.json", PAPER.runs[run.name], 5000.0, 900.0, train_seconds_at=clock)
    found = costs.expected(QUICK, run.name)
    assert found.core_seconds == pytest.approx(costs.START + (5000.0 - costs.START) * 6 / 22 * 0.2)
    assert found.memory_mib == 900.0
    assert costs.memory_mb(QUICK, run.name, 2) == 2 * costs.memory_mb(QUICK, run.name) > 2 * 900


def test_a_run_without_measurement_is_expected_to_take_what_the_dearest_like_it_took(published):
    for name, seconds, memory in (("some", 1000.0, 2000.0), ("other", 3000.0, 500.0)):
        write((published / SWEPT.name).with_name(f"{name}.json"), SWEPT, seconds, memory)
    found = costs.expected(PAPER, SWEPT.name)
    assert found.core_seconds == pytest.approx(costs.START + 3000.0) and found.memory_mib == 2000.0


def test_the_estimate_of_figures_counts_shared_jobs_once_and_how_many_were_not_measured(published, capsys):
    for run in PAPER.figures["figure_10"].runs:
        write(published / f"{run.name}.json", run, 3600.0, 2048.0)
    assert cli.main(["estimate", "figure_10", "figure_1", "--scale", "paper", "--cores", "4"]) == 0
    lines = {line.split("  ")[0].strip(): line.split() for line in capsys.readouterr().out.splitlines()}
    jobs = 2 * len(PAPER.figures["figure_10"].runs)
    assert (lines["figure_10"][1], lines["figure_10"][-1]) == (str(jobs), str(jobs // 2))
    assert lines["all of these"][3:5] == lines["figure_1"][1:3]  # figure 1 has all runs of figure 10


SECONDS, START = (300.0, 200.0, 200.0, 100.0), 20.0
CLOCK = ((0, 0.0), (5_000, 1.0), (30_000, 100.0))  # published: the first steps do not learn


def trainings():
    cost = [costs.Cost(costs.START + 5.0 + seconds, 900.0, 4, 30_000, CLOCK, 5.0) for seconds in SECONDS]
    return {number: Training(f"run{number}", 30_000, each) for number, each in enumerate(cost)}


def steps_at(seconds, whole):
    """The steps done after `seconds` of training that takes `whole`."""
    return int(np.interp(100 * seconds / whole, [moment for _, moment in CLOCK], [step for step, _ in CLOCK]))


@pytest.mark.parametrize("slower", [(2.5, 3.0, 2.0, 3.5), (0.4, 0.5, 0.5, 0.4)])
def test_minutes_left_are_right_within_a_factor_of_one_and_a_half_after_the_first_minute(slower):
    forecast, times = Forecast(trainings(), cores=2), [slow * s for slow, s in zip(slower, SECONDS, strict=True)]
    begun, free, said = {}, [0.0, 0.0], {}
    for number in range(4):  # two cores, the longest first
        begun[number] = min(free)
        free[free.index(begun[number])] += START + times[number]
    for now in range(int(max(free)) + 1):
        for number, job in forecast.trainings.items():
            trained = now - begun[number] - START
            job.has_ended = trained >= times[number]
            if 0 <= trained < times[number]:
                forecast.note(number, steps_at(trained, times[number]), now)
        said[now] = forecast.minutes
    wrong = {now: said[now] / ((max(free) - now) / 60) for now in range(60, int(max(free)) - 30)}
    assert all(1 / 1.5 < factor < 1.5 for factor in wrong.values()), wrong
    assert forecast.share == 1 and said[int(max(free))] < 0.02


def test_a_training_of_several_stacks_or_rates_has_the_steps_of_all_as_its_log_says():
    swept = next(run for run in PAPER.runs.values() if run.sweep and run.environment == "GridWorld")
    sweep = Training.of(PAPER, f"{swept.name}.selection")
    assert sweep.total % (len(swept.sweep) * swept.steps) == 0 and sweep.name == swept.name
    assert sweep.cost.training(sweep.total, sweep.total) > sweep.cost.training(swept.steps, sweep.total) > 0


RECORDS = rows_of(lambda seed, step, _: 100.0 * seed + step, seed=(0, 1), step=(0, 500), metric=["return"])


@pytest.mark.parametrize(("begun", "words"), [(0, "200 steps/s, 0 s left"), (600, "140 steps/s, 0 s left")])
def test_a_line_is_plain_and_its_speed_that_of_this_training(monkeypatch, begun, words):
    clock = iter([0.0, 10.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    stream = io.StringIO()
    with progress.progress("run", stream) as show:
        show(begun, 2000)
        show.watch(RECORDS)
        show(2000, 2000)  # the last line is always shown
    assert stream.getvalue() == f"run: compiling\nrun: 2,000 of 2,000 steps, {words}, mean return 550\n"


def test_on_a_terminal_progress_is_a_bar_with_the_latest_mean_return():
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    with progress.progress("run", terminal) as show:
        show.watch(RECORDS)
        show(0, 1000)
        show(1000, 1000)
    assert "run: compiling" in terminal.getvalue() and "mean return 550" in terminal.getvalue()
