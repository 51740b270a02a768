"""A training that continues from a checkpoint gives the same numbers as one that was never interrupted."""

import shutil
import signal
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from files import tiers
from helpers import run_of

from dyna_td.programs.program import make_program
from dyna_td.training import interruption, trainer
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.trainer import execute, execute_sweep

DYNA = {"model": "learned", "model_start": 90, "chain_steps": 10, "model_batch_size": 32, "model_hidden": (8,)}
SHORT = {"planning_updates": 1, "warm_up_steps": 50}
RUNS = {
    "sin": run_of("sin", "prioritized_l2", (0, 1), 120, 40, examples=50, hidden=(8, 8)),
    "GridWorld": run_of("GridWorld", "prioritized_er", (4, 7), 160, 40, hidden=(8,), **SHORT),
    "Dyna": run_of("GridWorld", "dyna_td", (0, 1), 160, 40, hidden=(8,), **SHORT, **DYNA),
    "Pendulum": run_of("Pendulum-v1", "er", (0, 1), 160, 80, hidden=(8, 8), evaluation_episodes=1, **SHORT),
    "roundabout": run_of("roundabout-paper-v0", "er", (0, 1), 120, 40, **SHORT),
}
MADE = {}  # programs with their initial values, by environment, agent and seeds


@pytest.fixture
def compiled_once(monkeypatch):
    """Each training of the same seeds gets the same program with its initial values, except by Gymnasium."""

    def make(run):
        key = run.environment, run.agent, run.seeds
        if key not in MADE or run.environment in ("Pendulum-v1", "roundabout-paper-v0"):
            program = make_program(run)
            MADE[key] = program, program.values()
        program, beginning = MADE[key]
        program.restore(beginning)
        return program

    monkeypatch.setattr(trainer, "make_program", make)


def keep_copies(path, at):
    """A progress callback that copies the checkpoint at the calls `at`, into files with their numbers."""
    calls = []

    def progress(done, total):
        calls.append(done)
        if len(calls) in at:
            shutil.copy(path, path.with_suffix(f".{len(calls)}"))

    return progress


def assert_same(mine, theirs):
    pd.testing.assert_frame_equal(mine.records, theirs.records, check_exact=True)
    pd.testing.assert_frame_equal(mine.states, theirs.states, check_exact=True)
    np.testing.assert_equal(mine.weights, theirs.weights)
    names = ("env_steps", "seed_updates", "trained_seeds", "diverged_seeds", "remarks")
    assert all(mine.cost[name] == theirs.cost[name] for name in names)
    assert [step for step, _ in mine.cost["train_seconds_at"]] == [step for step, _ in theirs.cost["train_seconds_at"]]


@pytest.mark.parametrize("name", tiers(RUNS, quick=("GridWorld", "Pendulum")))  # sin is interrupted by signals, below
def test_a_run_goes_on_from_its_checkpoint(tmp_path, name, compiled_once):
    path = tmp_path / "run.checkpoint"
    whole = execute(RUNS[name], keep_copies(path, at=[4]), Checkpoint(path, {}, interval=0.0))
    shutil.move(path.with_suffix(".4"), path)
    begun = []
    resumed = execute(RUNS[name], lambda done, total: begun.append(done), Checkpoint(path, {}, interval=1e9))
    assert 0 < begun[0] < RUNS[name].steps
    assert_same(resumed, whole)
    if name == "GridWorld":  # it keeps sampled states at the moments of a run
        assert set(whole.states["seed"]) == {4, 7} and set(whole.states["step"]) == {160}
        assert whole.states.groupby("source").size().to_dict() == {"buffer": 4000, "own": 4000}
        at_zero = set(whole.records[whole.records["step"] == 0]["metric"])
        assert "return" in at_zero and "distance_uniform" in set(whole.records["metric"]) - at_zero


@pytest.fixture
def default_signals():
    """Handles signals as Python does by default; a shell's background jobs ignore SIGINT, nohup's SIGHUP."""
    before = {each: signal.signal(each, signal.SIG_DFL) for each in interruption._SIGNALS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def test_a_signal_that_nohup_ignores_stays_ignored(default_signals):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption.listen()
    signal.raise_signal(signal.SIGHUP)
    with pytest.raises(interruption.Interrupted):
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1])
def test_a_signal_ends_a_training_with_a_checkpoint_of_its_last_step(tmp_path, compiled_once, default_signals, number):
    run, checkpoint = RUNS["sin"], Checkpoint(tmp_path / "run.checkpoint", {}, interval=1e9)
    interruption.listen()
    with pytest.raises(interruption.Interrupted) as interrupted:
        execute(run, lambda done, total: signal.raise_signal(number) if done else None, checkpoint)
    assert interrupted.value.status == 128 + number
    begun = []
    resumed = execute(run, lambda done, total: begun.append(done), checkpoint)
    assert begun[0] == 40  # the first evaluation
    assert_same(resumed, execute(run))


def test_a_sweep_over_two_stacks_trains_each_rate_and_seed_as_if_alone(tmp_path, monkeypatch, compiled_once):
    monkeypatch.setattr("dyna_td.programs.stacks.MAX_STACK", 3)
    run = replace(RUNS["sin"], seeds=tuple(range(4)), steps=80)
    runs = [replace(run, settings=replace(run.settings, learning_rate=rate)) for rate in (1e-2, 1e-3)]
    path, at = tmp_path / "run.checkpoint", (3, 7, 12)
    whole = execute_sweep(runs, keep_copies(path, at), Checkpoint(path, {}, interval=0.0))
    for call in at:
        shutil.move(path.with_suffix(f".{call}"), path)
        resumed = execute_sweep(runs, checkpoint=Checkpoint(path, {}, interval=1e9))
        for mine, theirs in zip(resumed, whole, strict=True):
            assert_same(mine, theirs)
    assert not whole[0].records.equals(whole[1].records)
    for seeds in (run.seeds, (3,)):
        alone, several = execute(replace(runs[1], seeds=seeds)).records, whole[1].records
        several = several[several["seed"].isin(seeds)].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, several, check_exact=True)
