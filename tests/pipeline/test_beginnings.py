"""A quick run is the beginning of a published one, and says how far it repeats its numbers."""

import io
import lzma
import signal
import time
from dataclasses import replace
from types import SimpleNamespace as Facts

import numpy as np
import pandas as pd
import pytest
from files import sentence_of

from dyna_td.pipeline.screen import Screen
from dyna_td.plan import plans
from dyna_td.records import beginnings, published, results
from dyna_td.training import job
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.progress import progress

QUICK, PAPER = plans.load_plan("quick"), plans.load_plan("paper")
RUN = QUICK.runs["GridWorld/dyna_td/n10-lr0.001"]
DETAILS = {"settings": {}, "versions": {}, "arithmetic": "portable", "source_digest": "c"}


def test_every_quick_run_is_the_beginning_of_a_published_one():
    for name, run in QUICK.runs.items():
        whole = PAPER.runs[name]
        assert (run.settings, run.sweep, run.length) == (whole.settings, whole.sweep, whole.steps)
        assert run.seeds == whole.seeds[: len(run.seeds)] and len(run.seeds) in (4, 5) and run.steps <= whole.steps
        if published.read_details(name):  # others were declared, and are not yet trained
            assert not QUICK.is_swept(run), "it takes the published learning rate"


def test_a_changed_sweep_is_trained_although_another_one_is_published():
    run = QUICK.figure("figure_14").panels["b"].curves["dyna_value"]
    changed = [replace(run, sweep=(1e-3, 3e-4)), replace(run, settings=replace(run.settings, batch_size=16))]
    assert not QUICK.is_swept(run) and all(map(QUICK.is_swept, changed))
    assert [len(each.seeds) for each in QUICK.selection_runs(changed[0])] == [4, 4]


@pytest.fixture
def repeat(tmp_path):
    """Compares records with published ones, both given as values by seed and step."""

    def table(values):
        rows = [(seed, step, "return", value) for (seed, step), value in values.items()]
        return pd.DataFrame(rows, columns=results.COLUMNS)

    def call(here, there, details=DETAILS, joined=None):
        csv = tmp_path / "runs" / f"{RUN.name}.csv"
        results.write(csv, table(there), DETAILS | {"steps": 50_000} | (joined or {}))
        csv.with_name(f"{csv.name}.xz").write_bytes(lzma.compress(csv.read_bytes()))
        return beginnings.repeat(RUN, table(here), details, tmp_path)

    return call


def test_numbers_that_are_equal_repeat_the_published_ones_and_a_gap_equals_a_gap(repeat):
    found = repeat({(0, 0): 1.5, (0, 500): np.nan}, {(0, 0): 1.5, (0, 500): np.nan, (0, 1000): 3.0, (1, 0): 9.0})
    assert (found.verdict, found.seeds, found.last_step, found.of_steps) == ("equal", 1, 500, 50_000)


def test_later_seeds_of_an_older_arithmetic_are_compared_only_with_themselves(repeat):
    joined = {"portable_seeds": 1, "joined": ["seeds 0 to 0: new", "seeds 1 to 1: old"]}
    here, there = {(0, 0): 1.0, (1, 0): 2.0}, {(0, 0): 1.0, (1, 0): 9.0}
    trained, restored = repeat(here, there, joined=joined), repeat(there, there, DETAILS | joined, joined)
    assert [(found.verdict, found.seeds) for found in (trained, restored)] == [("equal", 1), ("equal", 2)]
    assert repeat(here, there, DETAILS | joined, joined).verdict == "different"
    assert repeat(there, here, DETAILS | joined).seeds == 1, "restored before all seeds were trained again"
    assert "of seeds 0 to 0, some to 1 (" in beginnings.sentence([trained, restored])


def test_a_difference_has_its_step_its_size_and_its_cause(repeat, tmp_path):
    details = DETAILS | {"arithmetic": "the CPU's", "source_digest": "d", "cpu": "another, which is no difference"}
    here = {(0, 0): 1.0, (0, 500): 2.0, (1, 500): 2.5, (0, 1000): 3.0}
    found = repeat(here, here | {(1, 500): 2.0, (0, 1000): 3.25}, details)
    assert (found.verdict, found.equal_to, found.metric, found.largest) == ("different", 0, "return", 0.5)
    assert str(found).endswith("(arithmetic portable there, the CPU's here; other sources)")
    lacking = repeat({(0, 0): 1.0, (1, 500): 2.0}, {(0, 0): 1.0, (0, 500): 2.0, (1, 500): 2.0})
    assert "equal up to step 0, then return lacks a number" in str(lacking), "a published number has to be there"
    beginnings.as_table([lacking]).to_csv(tmp_path / "repeats.csv", index=False)
    assert beginnings.read(tmp_path / "repeats.csv") == [lacking]


def test_a_cause_that_all_differing_runs_share_is_said_once_also_after_reading_them_from_a_table(repeat, tmp_path):
    different = repeat({(0, 0): 1.0}, {(0, 0): 2.0}, DETAILS | {"source_digest": "d"})
    unpublished = beginnings.repeat(RUN, pd.DataFrame(columns=results.COLUMNS), DETAILS, tmp_path / "nothing")
    found = [different, different, unpublished]
    assert [each.verdict for each in found] == ["different", "different", beginnings.NOT_PUBLISHED]
    beginnings.as_table(found).to_csv(tmp_path / "repeats.csv", index=False)
    assert beginnings.read(tmp_path / "repeats.csv") == found and beginnings.read(tmp_path / "none.csv") == []
    assert "".join(beginnings.lines("figure_2", found)).count("other sources") == 1
    whole = (tmp_path / "repeats.csv").read_text()
    for damaged in (whole[:-1], whole.replace(",50000,", ",many,"), whole.replace("last_step", "step")):
        (tmp_path / "repeats.csv").write_text(damaged)
        assert "repeats.csv is damaged; delete the folder" in sentence_of(beginnings.read, tmp_path / "repeats.csv")
    assert len(beginnings.lines("figure_2", found, in_full=True)) == 4


@pytest.fixture
def screen(tmp_path, monkeypatch):
    """A screen of figure 2's two trainings, and its output."""
    monkeypatch.chdir(tmp_path)
    rule, figure = Facts(name="train_sampled_run"), Facts(name="figure_2")
    jobs = [Facts(rule=rule, wildcards=Facts(run=run.name)) for run in QUICK.figure("figure_2").runs]
    jobs.append(Facts(rule=figure, wildcards=()))
    dag = Facts(jobs=jobs, targetjobs=jobs[-1:], jobid=jobs.index, needrun=lambda job: True)
    before = signal.getsignal(signal.SIGINT)
    made = Screen(QUICK, Facts(dag=dag, cores=2), io.StringIO())
    yield made
    made.stop()  # its thread
    signal.signal(signal.SIGINT, before)


def event(name, **facts):
    return Facts(event=Facts(name=name), levelno=20, getMessage=lambda: "chatter", **facts)


def test_progress_counts_runs_and_the_steps_that_jobs_and_checkpoints_hold(screen):
    first, second = (results.run_csv("quick", run.name) for run in QUICK.figure("figure_2").runs)
    total = sum(run.steps for run in QUICK.figure("figure_2").runs)
    identity = {"source": results.describe(QUICK.figure("figure_2").runs[1])["source_digest"]}
    Checkpoint(second.with_suffix(".checkpoint"), identity).save({}, {"steps_done": total // 10})
    Checkpoint(first.with_suffix(".checkpoint"), {"source": "older code"}).save({}, {"steps_done": total // 10})
    screen.start()
    screen.emit(event("JOB_INFO", jobid=0))
    screen.emit(event("RUN_INFO"))
    with job.workplace(first) as place, progress("run", io.StringIO(), place / "steps") as show:
        show(total // 4, total // 2)
        screen._read_steps(time.monotonic())
        screen._show()
    screen.emit(event("JOB_FINISHED", job_id=0))
    shown = screen.stream.getvalue()
    lines = [line.rpartition(", about ")[0] for line in shown.splitlines()]
    words = ["0 of 2 runs, 10%", "0 of 2 runs, 35%", "1 of 2 runs, 60%"]
    assert lines == [f"figure_2: {each} of the steps" for each in words]
    assert shown.count(" left\n") == 3 and "chatter" not in shown


def test_a_failed_job_shows_its_sentence_and_the_place_of_its_log(screen, tmp_path):
    log = tmp_path / "job.log"
    log.write_text("compiling\nerror: no space; free some.\n")
    screen.emit(event("JOB_ERROR", rule_name="train_run", jobid=0, log=[str(log)]))
    screen.stop()
    assert screen.stream.getvalue() == f"error: no space; free some.\n  (log: {log})\n"


def test_after_an_interruption_no_job_has_failed_and_each_says_where_it_continues(screen):
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        screen.start()
        signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    screen.emit(event("JOB_ERROR", rule_name="train_run", jobid=0, log=[]))
    screen.stop()
    name = QUICK.figure("figure_2").runs[0].name
    last = f"Stopped; 0 of 2 runs are done. The same command continues at the beginning of {name}.\n"
    assert screen.stream.getvalue().endswith(last)
