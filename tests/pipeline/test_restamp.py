"""Finished runs outlive a change of code that changes no number, and no other."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from files import edit

from dyna_td import cli
from dyna_td.pipeline import finished, plans, provenance, results
from dyna_td.publishing import handover, restamp
from dyna_td.settings import DQNSettings, DynaSettings, RegressionSettings, Run

ROOT = Path(__file__).parents[2]
PLAN = plans.load_plan("paper")
SWEPT = PLAN.figure("figure_9").runs[0]
SEEDS = tuple(range(16))  # of the first of three programs of its 50


@pytest.fixture
def made(tmp_path, finish):
    """A finished, swept run that other code made."""
    finish(SWEPT, tmp_path / "results", digest="old")
    return finished.read(PLAN, SWEPT, tmp_path / "results")


@pytest.fixture
def training(made, monkeypatch):
    """Stands in for training: brings the beginning of what the files have, changed by the function that it is given."""

    def install(change=lambda records: records):
        def train(run, until, measures, **options):
            records = made.table.records if measures else made.sweep.records
            if not measures:
                records = records[records["learning_rate"] == run.settings.learning_rate].drop(columns="learning_rate")
            mine = records[records["seed"].isin(SEEDS if measures else run.seeds) & (records["step"] <= until)]
            return change(mine.reset_index(drop=True))

        monkeypatch.setattr(restamp, "train_beginning", train)

    install()
    return install


@pytest.mark.parametrize(
    ("run", "step"),
    [
        (Run("sin", "l2", RegressionSettings(), (0,), 700, 500), 700),
        (Run("GridWorld", "er", DQNSettings(warm_up_steps=5_100), (0,), 50_000, 500), 6_500),
        (Run("GridWorld", "dyna_td", DynaSettings(model="learned", model_start=7_000), (0,), 50_000, 500), 8_000),
        (Run("GridWorld", "dyna_td", DynaSettings(model="true", model_start=7_000), (0,), 50_000, 500), 6_000),
    ],
)
def test_trainings_end_two_evaluations_after_learning_has_begun(run, step):
    assert restamp.last_step(run) == step


def test_the_cheapest_of_the_runs_that_differ_in_numbers_alone_is_the_witness_of_all():
    runs = [PLAN.run(f"GridWorld/dyna_td/{name}") for name in ("n10-lr0.001", "n30-lr0.001", "n30-lr0.001-learned")]

    def outdated(run, core_seconds, digest="old"):
        details = {"source_digest": digest, "core_seconds": core_seconds}
        table = finished.Table(Path("x.csv"), pd.DataFrame(), details, {})
        return finished.Finished(run, run, table, None, None)

    few, many, learned = map(outdated, runs, (10.0, 30.0, 20.0))
    other = outdated(replace(runs[1], seeds=(0,)), 1.0, digest="older")
    assert restamp.sample([many, few, learned]) == {runs[0].name: few, runs[1].name: few, runs[2].name: learned}
    assert restamp.sample([few, other]) == {runs[0].name: few, runs[1].name: other}


@pytest.fixture
def command(training, monkeypatch, tmp_path, capsys):
    """`restamp` on the finished run, without processes; returns status, words, and the runs handed to Snakemake."""
    monkeypatch.chdir(tmp_path)

    class Here:
        def __init__(self, *arguments, **options): ...
        def __enter__(self):
            return self

        def __exit__(self, *error): ...
        def shutdown(self, **options): ...

        map = staticmethod(map)

    monkeypatch.setattr(restamp, "ProcessPoolExecutor", Here)

    def call(*arguments):
        recorded = []
        monkeypatch.setattr(handover, "tell_snakemake", lambda scale, runs, directory: recorded.extend(runs))
        status = cli.main(["restamp", "--scale", "paper", *arguments])
        said = capsys.readouterr()
        return status, said.out + said.err, [each.run.name for each in recorded]

    return call


def details_of(made):
    return [json.loads(results.provenance_json(table.csv).read_text()) for table in made.tables]


def test_a_run_with_the_same_numbers_is_stamped_and_keeps_its_past_and_its_times(command, made, tmp_path):
    before = details_of(made)
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (1e9, 1e9))
    status, said, recorded = command()
    assert (status, recorded) == (0, [SWEPT.name])
    assert said.splitlines()[-1] == "1 runs stamped after comparing 1, 0 were current."
    for old, new in zip(before, details_of(made), strict=True):
        assert len(new["source_digest"]) == 64
        (fact,) = new.pop("restamped")
        assert (fact["source_digest"], fact["compared_run"]) == ("old", SWEPT.name)
        assert (fact["seeds"], fact["last_step"]) == (list(SEEDS), 1000)
        assert {**old, "source_digest": None} == {**new, "source_digest": None}
    assert {path.stat().st_mtime for path in files} == {1e9}
    assert finished.read(PLAN, SWEPT, tmp_path / "results").is_current
    assert command()[1].splitlines()[-1] == "0 runs stamped after comparing 0, 1 were current."
    for table in made.tables:
        path = results.provenance_json(table.csv)
        path.write_text(path.read_text().replace('  "source_digest": "', '  "source_digest": "0', 1))
    command("--every-run")
    assert [len(details["restamped"]) for details in details_of(made)] == [2, 2]


def test_one_number_that_differs_keeps_all_from_being_stamped_and_other_machines_are_told(command, made, training):
    for table in made.tables:
        path = results.provenance_json(table.csv)
        here = provenance.machine()
        path.write_text(json.dumps(json.loads(path.read_text()) | here | {"versions": {"numpy": "1.0"}}))
    before = details_of(made)
    training(lambda records: records.assign(value=0.125))
    status, said, recorded = command()
    assert (status, recorded) == (2, []) and said.startswith(
        f"error: {made.sweep.csv.relative_to(Path.cwd())} has the row "
    )
    assert (
        f"; its kind of run is not stamped (numpy 1.0 there, {np.__version__} here: that alone can change them).\n"
        in said
    )
    assert details_of(made) == before


# Instead of TensorFlow, which takes its time: what a training brings is a constant times the step.
TRAINER = """
from types import SimpleNamespace

import pandas as pd

from dyna_td.learning.regression import CONSTANT



def stack_seeds(seeds):
    return [seeds]


def execute(run, progress, checkpoint, watch=None):
    rows = [(seed, step, "test_rmse", CONSTANT * step) for seed in run.seeds for step in (0, 50, 100)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    cost = {"core_seconds": 1.0, "diverged_seeds": {}, "remarks": {}}
    return SimpleNamespace(records=records, states=None, cost=cost, weights={})


class RegressionProgram:
    def train(self):
        return execute
"""


@pytest.mark.slow(30)
def test_a_real_pipeline_keeps_what_was_stamped(tmp_path):
    """In a copy of the project, with everything real but the training."""
    for name in ("src", "envs", "experiments", "figures", "profiles"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    environment = handover.environment(tmp_path)

    def call(*arguments):
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    sources = tmp_path / "src" / "dyna_td"
    for name in ("trainer", "regression_program"):
        (sources / "training" / f"{name}.py").write_text(TRAINER)
    regression = sources / "learning" / "regression.py"
    learners = "".join(f"class {name}:\n    pass\n\n\n" for name in ("L2", "Cubic", "Power4", "PlainCubic"))
    regression.write_text(f"CONSTANT = 2.0\n\n\n{learners}")
    edit(tmp_path / "experiments" / "scales.yaml", "learning_rates: 2", "learning_rates: 1")  # nothing to select
    run = plans.load_plan("smoke", tmp_path / "experiments").figure("figure_9").runs[0]
    csv = results.run_csv("smoke", run.name)
    wanted = (str(csv), "--config", "scale=smoke")
    restamped = ("dyna_td", "restamp", "--scale", "smoke", "--cores", "1")
    status, said = call("snakemake", "--cores", "1", *wanted)
    assert status == 0, said
    edit(regression, "2.0", "1.0 + 1.0")
    status, said = call(*restamped)
    assert (status, said.splitlines()[-1]) == (0, "1 runs stamped after comparing 1, 0 were current."), said
    assert "Nothing to be done" in call("snakemake", "--dry-run", *wanted)[1]
