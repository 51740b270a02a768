"""Fixtures of the pipeline's tests: a stand-in for training, and copies of the project that a test may edit."""

import shutil
import subprocess
import sys
import types
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.pipeline import plans, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.selection import select_learning_rate
from dyna_td.publishing import store

COST = {"train_seconds": 3.0, "compile_seconds": 1.0, "evaluate_seconds": 0.5, "trained_seeds": 50, "core_seconds": 4.5}


def pytest_collection_modifyitems(items):
    """Runs the slow tests after all others, so that a small mistake shows first, and the slowest of them first.

    Of two processes, none then waits long for the other at the end.
    """
    marks = {item: item.get_closest_marker("slow") for item in items}
    items.sort(key=lambda item: marks[item].args[0] if marks[item] else float("inf"), reverse=True)


@pytest.fixture
def experiments_copy(tmp_path):
    """A folder of experiments that a test may edit."""
    return Path(shutil.copytree(ROOT / "experiments", tmp_path / "experiments"))


@pytest.fixture
def fake_training(monkeypatch):
    """Replaces training by a metric: the seed's last digit plus the learning rate. Lists the runs asked for."""
    executed = []

    def execute(run, progress, checkpoint=None, watch=None):
        executed.append(run)
        steps = sorted({*range(0, run.steps, run.evaluate_every), run.steps})
        metrics = ("test_rmse", "train_rmse") if run.environment == "sin" else ("return", "episode_length")
        rows = [
            (seed, step, metric, seed % 10 + run.settings.learning_rate)
            for metric in metrics
            for step in steps
            for seed in reversed(run.seeds)
        ]
        progress(run.steps, run.steps)
        return types.SimpleNamespace(
            records=pd.DataFrame(rows, columns=["seed", "step", "metric", "value"]),
            states=pd.DataFrame(columns=["seed", "step", "source", "x", "y"]),
            cost={
                "train_seconds": 1.0,
                "compile_seconds": 0.5,
                "peak_memory_mib": 10.0,
                "train_seconds_at": [[run.steps, 1.0]],
                "diverged_seeds": {},
                "remarks": {},
            },
            weights={},
        )

    def execute_sweep(runs, progress, checkpoint):
        return [execute(run, progress) for run in runs]

    training = types.SimpleNamespace(execute=execute, execute_sweep=execute_sweep)
    monkeypatch.setitem(sys.modules, "dyna_td.training.trainer", training)
    return executed


@pytest.fixture
def smoke_runs(fake_training, tmp_path, monkeypatch):
    """Selects, runs and aggregates figure 9 at smoke scale in the current folder; the CSV of each run."""
    monkeypatch.chdir(tmp_path)
    runs = plans.load_plan("smoke").figure("figure_9").runs
    for run in runs:
        assert cli.main(["select", run.name, "--scale", "smoke"]) == 0
        assert cli.main(["run", run.name, "--scale", "smoke"]) == 0
    assert cli.main(["aggregate", "figure_9", "--scale", "smoke"]) == 0
    return [results.run_csv("smoke", run.name) for run in runs]


@pytest.fixture
def snakemake(tmp_path):
    """Calls Snakemake on the project with results in a temporary folder; returns the finished process."""

    def call(*arguments):
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *arguments]
        environment = store.environment(ROOT)
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return call


@pytest.fixture(scope="session")
def finish():
    """What writes a run of the paper's scale, as its training would leave it, with random numbers; returns the CSV."""
    return _finish


def _finish(run, directory, digest=None, level=0.0, also=()):
    """Writes what training `run` would leave below `directory`: its sweep, numbers around `level`, states.

    Its metrics are those that figures show, and `also`.
    """
    plan = plans.load_plan("paper")
    rng = np.random.default_rng(zlib.crc32(run.name.encode()))
    steps = sorted({0, run.steps // 2, *run.moments.values()})
    panels = [panel for figure in plan.drawn.values() for panel in figure.panels.values()]
    metrics = {*also, *(panel.metric for panel in panels if run in panel.curves.values())}
    rows = pd.MultiIndex.from_product([run.seeds, steps, sorted(metrics)], names=["seed", "step", "metric"])
    records = rows.to_frame(index=False)
    records["value"] = rng.normal(level, size=len(records)).astype(np.float32).astype(float)
    trained, details = run, {}
    if run.sweep:
        candidates = plan.selection_runs(run)
        sweep = pd.concat(
            pd.DataFrame(
                {"learning_rate": rate, "seed": candidates[0].seeds, "step": 0, "metric": metric, "value": rate}
            )
            for rate in run.sweep
            for metric in ("test_rmse", "return")
        )
        choice = select_learning_rate(run, sweep)
        asked = results.describe(run) | {"seeds": candidates[0].seeds}
        asked["source_digest"] = digest or asked["source_digest"]
        results.write(results.run_csv(plan.scale, run.name + results.SWEEP, directory), sweep, asked | choice | COST)
        trained = run.with_learning_rate(choice["learning_rate"])
        details = {"learning_rate_selection": choice}
    asked = results.describe(trained) | {"run": run.name}
    asked["source_digest"] = digest or asked["source_digest"]
    states = None
    if run.environment == "GridWorld":
        places = [
            (seed, step, source) for seed in run.seeds for step in run.moments.values() for source in ("own", "buffer")
        ]
        states = pd.DataFrame(places, columns=["seed", "step", "source"]).assign(x=0.25, y=0.75)
    csv = results.run_csv(plan.scale, run.name, directory)
    results.write(csv, records, asked | details | COST | {"diverged_seeds": {"1": 500}, "date": "2026-01-02"}, states)
    return csv
