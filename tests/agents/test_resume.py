"""A training that goes on from a checkpoint brings the same numbers as one that was never interrupted."""

import shutil
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dyna_td.settings import DDPGSettings, DQNSettings, DynaSettings, RegressionSettings, Run
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.trainer import execute, execute_sweep, make_program

DYNA = {"model": "learned", "model_start": 90, "chain_steps": 20, "model_batch_size": 32, "model_hidden": (16, 16)}
RUNS = {
    "sin": Run("sin", "prioritized_l2", RegressionSettings(examples=100), (0, 1), steps=160, evaluate_every=40),
    "GridWorld": Run(
        "GridWorld", "dyna_td", DynaSettings(planning_updates=2, warm_up_steps=60, **DYNA), (0, 1), 160, 40
    ),
    "Hopper": Run(
        "Hopper-v4",
        "prioritized_er",
        DDPGSettings(planning_updates=1, warm_up_steps=50, hidden=(20, 10), evaluation_episodes=1),
        (0, 1),
        160,
        40,
    ),
    "roundabout": Run("roundabout-paper-v0", "er", DQNSettings(planning_updates=1, warm_up_steps=50), (0, 1), 120, 40),
}


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
    names = ("env_steps", "seed_updates", "trained_seeds", "diverged_seeds", "remarks")
    assert all(mine.cost[name] == theirs.cost[name] for name in names)
    assert [step for step, _ in mine.cost["train_seconds_at"]] == [step for step, _ in theirs.cost["train_seconds_at"]]


@pytest.mark.parametrize("name", ["sin", "GridWorld", "Hopper", pytest.param("roundabout", marks=pytest.mark.thorough)])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, name):
    path = tmp_path / "run.checkpoint"
    whole = execute(RUNS[name], keep_copies(path, at=[4]), Checkpoint(path, {}, interval=0.0))
    shutil.move(path.with_suffix(".4"), path)
    begun = []
    resumed = execute(RUNS[name], lambda done, total: begun.append(done), Checkpoint(path, {}, interval=1e9))
    assert 0 < begun[0] < RUNS[name].steps
    assert_same(resumed, whole)


def test_a_sweep_over_two_stacks_goes_on_in_the_run_and_stack_where_it_was(tmp_path):
    run = replace(RUNS["sin"], seeds=tuple(range(21)), steps=80)
    runs = [replace(run, settings=replace(run.settings, learning_rate=rate)) for rate in (1e-2, 1e-3)]
    path, at = tmp_path / "run.checkpoint", (3, 7, 12)
    whole = execute_sweep(runs, keep_copies(path, at), Checkpoint(path, {}, interval=0.0))
    for call in at:
        shutil.move(path.with_suffix(f".{call}"), path)
        resumed = execute_sweep(runs, checkpoint=Checkpoint(path, {}, interval=1e9))
        for mine, theirs in zip(resumed, whole, strict=True):
            assert_same(mine, theirs)


def test_finished_stacks_are_kept_when_a_later_one_fails(tmp_path, monkeypatch):
    run = replace(RUNS["sin"], seeds=tuple(range(21)), steps=40)
    path = tmp_path / "run.checkpoint"
    whole = execute(run)

    def fail(done, total):
        if done > 40:
            raise RuntimeError("an environment fails in the second stack")

    with pytest.raises(RuntimeError):
        execute(run, fail, Checkpoint(path, {}, interval=1e9))
    begun = []
    resumed = execute(run, lambda done, total: begun.append(done), Checkpoint(path, {}, interval=1e9))
    assert begun[0] == 40
    assert_same(resumed, whole)


def bits(arrays):
    return [array.tobytes() for array in arrays]


def addresses(program):
    return [array.__array_interface__["data"][0] for array in program.snapshot().values()]


def test_a_program_goes_back_to_every_bit_and_leaves_alone_what_is_as_it_was():
    program = make_program(RUNS["sin"])
    program.train(np.int32(10))
    weights = program.optimizers[0].variables[0]
    weights.assign(np.where(np.arange(weights.shape[-1]) % 2, -0.0, np.nan) * np.ones(weights.shape))
    before, values = addresses(program), program.values()
    kept = bits(program.snapshot().values())
    weights.assign(np.zeros(weights.shape))  # equal numbers, other bits
    program.step.assign_add(1)
    program.restore(values)
    assert bits(program.snapshot().values()) == kept
    moved = [number for number, place in enumerate(addresses(program)) if place != before[number]]
    assert len(moved) <= 2 < len(kept)


def test_a_training_holds_no_second_copy_of_its_buffers(tmp_path):
    settings = replace(RUNS["Hopper"].settings, planning_updates=0)
    run = replace(RUNS["Hopper"], settings=settings, steps=200_000, evaluate_every=200_000)
    size = sum(array.nbytes for array in make_program(run).snapshot().values())
    assert size > 40 * 2**20
    checkpoint = Checkpoint(tmp_path / "run.checkpoint", {}, interval=0.0)
    held = []

    def stop_at_the_third(done, total):
        # NumPy's arrays alone: neither TensorFlow's tensors nor the objects, some megabytes, of which it builds graphs.
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        held.append(sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces))
        if len(held) % 3 == 0:
            raise KeyboardInterrupt

    tracemalloc.start()
    with pytest.raises(KeyboardInterrupt):
        execute(run, stop_at_the_third, checkpoint)
    assert tracemalloc.get_traced_memory()[1] < 0.5 * size
    with pytest.raises(KeyboardInterrupt):
        execute(run, stop_at_the_third, checkpoint)
    tracemalloc.stop()
    assert checkpoint.path.exists() and held[-1] < 0.1 * size
