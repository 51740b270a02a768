"""Fixtures of the pipeline's tests: a stand-in for training, and copies of the project that a test may edit."""

import shutil
import sys
import types
from functools import partial
from pathlib import Path

import files
import pandas as pd
import pytest

from dyna_td.plan import plans
from dyna_td.plan.selection import select_learning_rate
from dyna_td.records import results
from dyna_td.records.files import ROOT
from dyna_td.training.log import Outcome

COST = {"train_seconds": 3.0, "compile_seconds": 1.0, "evaluate_seconds": 0.5, "trained_seeds": 50, "core_seconds": 4.5}


def pytest_collection_modifyitems(items):
    """Runs the slow tests after all others, so that a small mistake shows first; the slowest of them begin.

    With two processes, neither then waits long for the other at the end.
    """
    marks = {item: item.get_closest_marker("slow") for item in items}
    items.sort(key=lambda item: marks[item].args[0] if marks[item] else float("inf"), reverse=True)


@pytest.fixture
def experiments_copy(tmp_path):
    return Path(shutil.copytree(ROOT / "experiments", tmp_path / "experiments"))


@pytest.fixture
def fake_training(monkeypatch):
    """Replaces training by a metric: the seed's last digit plus the learning rate. Lists the runs asked for."""
    executed = []

    def execute(run, progress, checkpoint=None, watch=None):
        executed.append(run)
        steps = sorted({*range(0, run.steps, run.evaluate_every), run.steps})
        metrics = ("test_rmse", "train_rmse") if run.environment == "sin" else ("return", "episode_length")
        keys = {"seed": run.seeds[::-1], "step": steps, "metric": metrics}
        records = files.rows_of(lambda seed, *_: seed % 10 + run.settings.learning_rate, **keys)
        states = pd.DataFrame(columns=["seed", "step", "source", "x", "y"])
        cost = {"train_seconds": 1.0, "compile_seconds": 0.5, "peak_memory_mib": 10.0}
        cost |= {"train_seconds_at": [[run.steps, 1.0]], "diverged_seeds": {}, "remarks": {}, "seed_updates": 1}
        progress(run.steps, run.steps)
        return Outcome(records, states, cost, {})

    def execute_sweep(runs, progress, checkpoint):
        return [execute(run, progress) for run in runs]

    training = types.SimpleNamespace(execute=execute, execute_sweep=execute_sweep)
    monkeypatch.setitem(sys.modules, "dyna_td.training.trainer", training)
    return executed


@pytest.fixture
def snakemake(tmp_path):
    """Calls Snakemake on the project with results in a temporary folder; returns the finished process."""
    return partial(files.python, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), cwd=tmp_path)


@pytest.fixture(scope="session")
def finish():
    """A function that writes a run of the paper's scale with made-up numbers, as training would; returns the CSV."""
    plan = plans.load_plan("paper")
    panels = [panel for figure in plan.drawn.values() for panel in figure.panels.values()]

    def call(run, directory):
        steps = sorted({0, run.steps // 2, *run.moments.values()})
        metrics = sorted({panel.metric for panel in panels if run in panel.curves.values()})
        records = files.rows_of(
            lambda seed, step, _: seed % 7 + 1 / (1 + step), seed=run.seeds, step=steps, metric=metrics
        )
        details = COST | {"run": run.name, "diverged_seeds": {"1": 500}, "date": "2026-01-02"}
        trained, states = run, None
        if run.sweep:
            seeds = plan.selection_runs(run)[0].seeds
            metrics = ("test_rmse", "return", "diverged")
            keys = {"learning_rate": run.sweep, "seed": seeds, "step": [0], "metric": metrics}
            sweep = files.rows_of(lambda rate, seed, step, metric: rate * (metric != "diverged"), **keys)
            choice = select_learning_rate(run, sweep)
            asked = results.describe(run) | {"seeds": seeds} | choice | COST
            results.write(results.run_csv(plan.scale, run.name + results.SWEEP, directory), sweep, asked)
            trained = run.with_learning_rate(choice["learning_rate"])
            details["learning_rate_selection"] = choice
        if run.environment == "GridWorld":
            keys = {"seed": run.seeds, "step": run.moments.values(), "source": ["own", "buffer"]}
            states = files.rows_of(lambda *_: 0.25, **keys).rename(columns={"value": "x"}).assign(y=0.75)
        csv = results.run_csv(plan.scale, run.name, directory)
        results.write(csv, records, results.describe(trained) | details, states)
        return csv

    return call
