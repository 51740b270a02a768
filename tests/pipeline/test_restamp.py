"""Finished runs outlive a change of code that changes no number, and no other."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.errors import UserError
from dyna_td.pipeline import finished, plans, provenance, results
from dyna_td.publishing import restamp
from dyna_td.settings import DQNSettings, DynaSettings, RegressionSettings, Run

ROOT = Path(__file__).parents[2]
PLAN = plans.load_plan("paper")
SWEPT = PLAN.figure("figure_9").runs[0]


@pytest.fixture
def made(tmp_path, finish):
    """A finished, swept run that other code made."""
    finish(SWEPT, tmp_path / "results", digest="old")
    return finished.read(PLAN, SWEPT, tmp_path / "results")


def trainer(made, change=lambda records: records):
    """Stands in for training: the beginning of what the files have, changed by `change`."""

    def train(run, until, measures):
        records = made.table.records if measures else made.sweep.records
        if not measures:
            records = records[records["learning_rate"] == run.settings.learning_rate].drop(columns="learning_rate")
        mine = records[records["seed"].isin(restamp.compared_seeds(run)) & (records["step"] <= until)]
        return change(mine.reset_index(drop=True))

    return train


def test_the_same_numbers_of_two_seeds_up_to_a_step_are_no_difference(made):
    assert restamp.first_difference(made, trainer(made)) is None


def test_the_first_number_that_differs_is_told_by_its_row(made):
    def change(records):
        return records.assign(value=records["value"].where(records.index != 1, 0.5))

    (row,) = [line for line in made.table.csv.read_text().splitlines() if line.startswith("1,0,")]
    told = f"{made.table.csv} has the row {row}, but the code that is here makes 1,0,test_rmse,0.5"
    assert restamp.first_difference(made, trainer(made, change)) == told


def test_a_sweep_that_differs_is_a_difference(made):
    def train(run, until, measures):
        return trainer(made, (lambda records: records) if measures else lambda r: r.assign(value=0.125))(
            run, until, measures
        )

    assert f"{made.sweep.csv} has the row" in restamp.first_difference(made, train)


def test_a_metric_more_or_less_is_a_difference(made):
    assert "other metrics" in restamp.first_difference(made, trainer(made, lambda records: records[:-1]))
    with_one_more = trainer(made, lambda records: pd.concat([records, records[-1:].assign(metric="zeal")]))
    assert "other metrics" in restamp.first_difference(made, with_one_more)


@pytest.mark.parametrize(
    ("run", "step"),
    [
        (Run("sin", "l2", RegressionSettings(), (0,), 50_000, 500), 1_000),
        (Run("sin", "l2", RegressionSettings(), (0,), 700, 500), 700),
        (Run("GridWorld", "er", DQNSettings(warm_up_steps=5_000), (0,), 50_000, 500), 6_000),
        (Run("GridWorld", "er", DQNSettings(warm_up_steps=5_100), (0,), 50_000, 500), 6_500),
        (Run("GridWorld", "dyna_td", DynaSettings(model="learned", model_start=7_000), (0,), 50_000, 500), 8_000),
        (Run("GridWorld", "dyna_td", DynaSettings(model="true", model_start=7_000), (0,), 50_000, 500), 6_000),
    ],
)
def test_trainings_end_two_evaluations_after_learning_has_begun(run, step):
    assert restamp.last_step(run) == step


@pytest.mark.parametrize("count", [1, 2, 20, 21, 30, 50])
def test_the_compared_seeds_are_those_of_the_first_program(count):
    from dyna_td.training.trainer import stack_seeds

    run = Run("sin", "l2", RegressionSettings(), tuple(range(count)), 1000)
    assert set(restamp.compared_seeds(run)) == set(stack_seeds(run.seeds)[0]) & set(run.seeds)


def test_the_cheapest_run_stands_for_those_that_differ_in_numbers_alone(tmp_path, finish):
    runs = PLAN.figure("figure_3").runs + PLAN.figure("figure_4").runs
    names = {}
    for run in runs:
        if run.environment == "GridWorld" and run.agent in ("er", "dyna_td"):
            finish(run, tmp_path, digest="old")
            names[run.name] = finished.read(PLAN, run, tmp_path)
    witness_of = {name: made.run.name for name, made in restamp.sample(names.values()).items()}
    assert witness_of["GridWorld/er/n30-lrselected"] == "GridWorld/er/n10-lrselected"
    assert witness_of["GridWorld/dyna_td/n30-lr0.001"] == "GridWorld/dyna_td/n10-lr0.001-chain30"
    assert witness_of["GridWorld/dyna_td/n30-lr0.001-learned"] == "GridWorld/dyna_td/n10-lr0.001-learned-chain30"


def test_runs_of_studies_are_looked_at_but_what_is_measured_at_the_end_alone_is_left_out(tmp_path, finish):
    control = next(run for run in PLAN.figure("controls").runs if run.agent == "noise_only")
    frozen = PLAN.figure("frozen").runs[0]
    for run in (control, frozen):
        finish(run, tmp_path, digest="old")
    found = restamp.survey(PLAN, tmp_path)
    assert [made.run for made in found.outdated] == [control] and not found.current
    csv = results.run_csv("paper", frozen.name, tmp_path)
    assert found.left_out == [f"{csv} is measured at its last step alone, which no beginning can show."]


@pytest.fixture
def command(made, tmp_path, monkeypatch, capsys):
    """`restamp` on the finished run, with a stand-in for training and Snakemake; returns status and what was said."""
    told = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(restamp, "tell_snakemake", lambda scale, runs, directory: told.extend(runs))

    def call(difference=None, *arguments):
        answers = lambda witnesses, *_: ((witness, difference) for witness in witnesses)  # noqa: E731
        monkeypatch.setattr(restamp, "first_differences", answers)
        status = cli.main(["restamp", "--scale", "paper", *arguments])
        said = capsys.readouterr()
        return status, said.out + said.err, [each.run.name for each in told]

    return call


def details_of(made):
    return [json.loads(results.provenance_json(table.csv).read_text()) for table in made.tables]


def test_a_run_with_the_same_numbers_is_stamped_and_keeps_its_past_and_its_times(command, made, tmp_path):
    before = details_of(made)
    files = [path for path in (tmp_path / "results").rglob("*") if path.is_file()]
    for path in files:
        os.utime(path, (1e9, 1e9))
    status, said, told = command()
    assert (status, told) == (0, [SWEPT.name])
    assert said.splitlines()[-1] == "1 runs stamped after comparing 1, 0 were current."
    for old, new in zip(before, details_of(made), strict=True):
        assert new["source_digest"] != "old" and len(new["source_digest"]) == 64
        (fact,) = new.pop("restamped")
        assert (fact["source_digest"], fact["compared_run"]) == ("old", SWEPT.name)
        assert (fact["seeds"], fact["last_step"]) == (list(range(16)), 1000)  # of 50 in three programs
        assert {**old, "source_digest": None} == {**new, "source_digest": None}
    assert {path.stat().st_mtime for path in files} == {1e9}
    assert finished.read(PLAN, SWEPT, tmp_path / "results").is_current
    assert command()[1].splitlines()[-1] == "0 runs stamped after comparing 0, 1 were current."


def test_a_second_change_is_added_to_the_past(command, made):
    command()
    for table in made.tables:
        path = results.provenance_json(table.csv)
        path.write_text(path.read_text().replace('  "source_digest": "', '  "source_digest": "0', 1))
    command("", "--every-run")
    assert [len(details["restamped"]) for details in details_of(made)] == [2, 2]


def test_one_run_that_differs_keeps_all_from_being_stamped(command, made):
    for table in made.tables:
        path = results.provenance_json(table.csv)
        details = json.loads(path.read_text()) | {"cpu": provenance.machine()["cpu"]}
        details["versions"] = provenance.machine()["versions"] | {"numpy": "1.0"}
        del details["versions"]["mujoco"]  # of which older runs do not tell
        path.write_text(json.dumps(details))
    before = details_of(made)
    status, said, told = command("x.csv has the row 1, but the code that is here makes 2")
    assert (status, told) == (2, [])
    assert said == (
        "error: x.csv has the row 1, but the code that is here makes 2; nothing is stamped "
        f"(numpy 1.0 there, {np.__version__} here: that alone can change them).\n"
    )
    assert details_of(made) == before


def test_older_sources_that_did_not_make_a_run_are_refused(command, made, tmp_path):
    nowhere = str(tmp_path / "nowhere")
    status, said, told = command(None, "--against", nowhere)
    assert (status, told) == (2, [])
    assert said == (
        f"error: --against is {nowhere}, expected a checkout of this project: make one, for example with "
        f"`git worktree add {nowhere} COMMIT`.\n"
    )
    older = restamp.Older(ROOT, "paper", tmp_path / "results")  # which would not make a run with the digest `old`
    with pytest.raises(UserError) as error:
        older.first_difference(made, train=None)
    assert str(error.value) == (
        f"the sources in {ROOT} cannot be asked for {SWEPT.name} (they did not make it), expected a checkout of those "
        "that made it: git_commit in its JSON file, or there the last under restamped."
    )


def test_a_setting_that_is_newer_than_a_run_had_its_default(command, made):
    for table in made.tables:
        path = results.provenance_json(table.csv)
        details = json.loads(path.read_text())
        del details["settings"]["batch_size"]
        path.write_text(json.dumps(details))
    assert command()[0] == 0
    assert [details["settings"]["batch_size"] for details in details_of(made)] == [128, 128]


def test_a_run_of_other_settings_is_left_out(command, made):
    path = results.provenance_json(made.table.csv)
    path.write_text(path.read_text().replace('"batch_size": 128', '"batch_size": 64'))
    status, said, told = command()
    assert (status, told) == (0, [])
    assert said.startswith("left out: ") and "has other settings than the plan" in said
    assert said.endswith("0 runs stamped after comparing 0, 0 were current.\n")


@pytest.fixture
def project(tmp_path):
    """A copy of the project whose sources a test may edit; returns a caller of its Python modules, in its folder."""
    for name in ("src", "envs", "experiments", "figures", "profiles"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("Snakefile", "environment.yaml"):
        shutil.copy(ROOT / name, tmp_path)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path / "src"), str(tmp_path)])}

    def call(*arguments):
        command = [sys.executable, "-m", *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    return call


def edit(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


# Instead of TensorFlow, which takes its time: what a training brings is a constant times the step.
TRAINING = """
from types import SimpleNamespace

import pandas as pd

from dyna_td.learning.regression import CONSTANT


def execute(run, progress, checkpoint):
    rows = [(seed, step, "test_rmse", CONSTANT * step) for seed in run.seeds for step in (0, 50, 100)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    return SimpleNamespace(records=records, states=None, cost={"diverged_seeds": {}, "remarks": {}})
"""


@pytest.mark.slow(30)
def test_snakemake_plans_nothing_after_a_stamp_but_trains_anew_where_a_number_changed(project, tmp_path):
    training, regression = (tmp_path / "src" / "dyna_td" / f"{name}.py" for name in ("training", "regression"))
    training.write_text(TRAINING)
    regression.write_text("CONSTANT = 2.0\n")
    edit(tmp_path / "experiments" / "scales.yaml", "learning_rates: 2", "learning_rates: 1")  # nothing to select
    run = plans.load_plan("smoke", tmp_path / "experiments").figure("figure_9").runs[0]
    wanted = (str(results.run_csv("smoke", run.name)), "--config", "scale=smoke")
    status, said = project("snakemake", "--cores", "1", *wanted)
    assert status == 0, said
    edit(regression, "2.0", "1.0 + 1.0")
    status, said = project("dyna_td", "restamp", "--scale", "smoke", "--cores", "1")
    assert (status, said.splitlines()[-1]) == (0, "1 runs stamped after comparing 1, 0 were current."), said
    assert "Nothing to be done" in project("snakemake", "--dry-run", *wanted)[1]
    told = tmp_path / results.provenance_json(results.run_csv("smoke", run.name))
    before = told.read_bytes()
    edit(regression, "1.0 + 1.0", "3.0")
    status, said = project("dyna_td", "restamp", "--scale", "smoke", "--cores", "1")
    row = "has the row 0,50,test_rmse,100, but the code that is here makes 0,50,test_rmse,150; nothing is stamped."
    assert (status, said) == (2, f"error: results/smoke/runs/{run.name}.csv {row}\n")
    assert told.read_bytes() == before


@pytest.mark.slow(30)
def test_what_another_cpu_changed_is_compared_with_the_older_sources(project, tmp_path, tmp_path_factory):
    training, regression = (tmp_path / "src" / "dyna_td" / f"{name}.py" for name in ("training", "regression"))
    training.write_text(TRAINING)
    regression.write_text("CONSTANT = 2.0\n")
    edit(tmp_path / "experiments" / "scales.yaml", "learning_rates: 2", "learning_rates: 1")  # nothing to select
    run = plans.load_plan("smoke", tmp_path / "experiments").figure("figure_9").runs[0]
    csv = tmp_path / results.run_csv("smoke", run.name)
    wanted = (str(results.run_csv("smoke", run.name)), "--config", "scale=smoke")
    status, said = project("snakemake", "--cores", "1", *wanted)
    assert status == 0, said
    told = results.provenance_json(csv)
    older = tmp_path_factory.mktemp("older") / "checkout"
    shutil.copytree(tmp_path, older, ignore=shutil.ignore_patterns("results", ".snakemake"))
    # As if it came from a machine that computes otherwise.
    csv.write_text(csv.read_text().replace(",100,test_rmse,200\n", ",100,test_rmse,201\n"))
    details = json.loads(told.read_text()) | {"csv_sha256": hashlib.sha256(csv.read_bytes()).hexdigest()}
    told.write_text(json.dumps(details))

    def restamp_against(checkout):
        return project("dyna_td", "restamp", "--scale", "smoke", "--cores", "1", "--against", str(checkout))

    edit(regression, "2.0", "3.0")
    status, said = restamp_against(older)
    row = "the row 0,50,test_rmse,100, but the code that is here makes 0,50,test_rmse,150; nothing is stamped."
    assert status == 2 and said.endswith(f"error: {older} makes, of results/smoke/runs/{run.name}.csv, {row}\n"), said
    edit(regression, "3.0", "1.0 + 1.0")
    status, said = restamp_against(older)
    assert status == 0, said
    assert said.splitlines()[0] == f"{run.name}: other numbers up to step 100"
    assert said.splitlines()[1] == f"{run.name}: the same numbers up to step 100 as {older} makes here"
    assert said.splitlines()[2] == "1 runs stamped after comparing 1, 0 were current."
