"""Fixtures of the pipeline's tests: a stand-in for training, and copies of the project that a test may edit."""

import os
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]


def pytest_collection_modifyitems(items):
    """Runs the slow tests after all others, so that a small mistake shows first."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)


@pytest.fixture
def experiments_copy(tmp_path):
    """A folder of experiments that a test may edit."""
    return Path(shutil.copytree(ROOT / "experiments", tmp_path / "experiments"))


@pytest.fixture
def fake_training(monkeypatch):
    """Replaces training by metrics that are the seed plus the learning rate; lists the runs that were asked for."""
    executed = []

    def execute(run, progress, checkpoint=None):
        executed.append(run)
        steps = sorted({*range(0, run.steps, run.evaluate_every), run.steps})
        metrics = ("test_rmse", "train_rmse") if run.environment == "sin" else ("return", "episode_length")
        rows = [
            (seed, step, metric, seed + run.settings.learning_rate)
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
        )

    def execute_sweep(runs, progress, checkpoint):
        return [execute(run, progress) for run in runs]

    training = types.SimpleNamespace(execute=execute, execute_sweep=execute_sweep)
    monkeypatch.setitem(sys.modules, "dyna_td.training", training)
    return executed


@pytest.fixture
def snakemake(tmp_path):
    """Calls Snakemake on the project with results in a temporary folder; returns the finished process."""

    def call(*arguments):
        command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *arguments]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    return call
