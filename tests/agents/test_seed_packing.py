"""Seed k's numbers are independent of the seeds that share its job, although XLA's rounding depends on their number.

The thorough tier compares every environment with every kind of agent (benchmarks/packing.py); the quick tier samples.
"""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import packing
import pandas as pd
import pytest
import tensorflow as tf
from helpers import run_of

from dyna_td.training.log import diverged_seeds
from dyna_td.training.program import make_program
from dyna_td.training.stacks import BOX_WIDTH, LARGEST_STACK, WIDTHS, stack_seeds, stacks_of
from dyna_td.training.trainer import execute

CONTROL = {"planning_updates": 4, "warm_up_steps": 100, "buffer_capacity": 130, "target_period": 50, "discount": 0.9}
CHAINS = {"chain_steps": 30, "model_start": 130}
RUNS = {
    3: run_of("sin", "prioritized_l2", (), 30, learning_rate=1e-2),
    min(WIDTHS): run_of("GridWorld", "dyna_td", (), 160, **CONTROL, **CHAINS),
}


def results_of(run, seeds):
    """Every variable with the seed axis in front, after training, and every metric."""
    program = make_program(replace(run, seeds=tuple(seeds)))
    program.train(tf.constant(run.steps))
    variables = [value.numpy() for value in program.variables if value.shape.rank and value.shape[0] == len(seeds)]
    return variables, {name: value.numpy() for name, value in program.evaluate().items()}


@pytest.mark.parametrize("size", RUNS)
def test_a_small_stack_has_the_numbers_of_twenty(size):
    wide, many = results_of(RUNS[size], range(20))
    few = slice(3, 3 + size)  # a seed's place in its stack must not matter
    narrow, metrics = results_of(RUNS[size], range(20)[few])
    np.testing.assert_equal(narrow, [value[few] for value in wide])
    np.testing.assert_equal(metrics, {metric: value[few] for metric, value in many.items()})
    assert RUNS[size].environment == "sin" or (many["chain_states"] > 0).all()


@pytest.mark.thorough
@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("environment", sorted({environment for environment, _ in packing.cases()}))
def test_every_kind_of_agent_has_the_numbers_of_twenty(environment):
    # A new process, because one that has compiled many hundreds of programs may crash in the compiler.
    command, paths = [sys.executable, packing.__file__, environment], {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env=os.environ | paths, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("equal") == [place for place, _ in packing.cases()].count(environment)


def test_a_single_seed_and_more_seeds_than_one_stack_holds_have_their_numbers_too(monkeypatch):
    monkeypatch.setattr("dyna_td.training.stacks.LARGEST_STACK", 3)
    run = run_of("sin", "l2", (), 40, 20, examples=50, hidden=(8,))
    many, one = (execute(replace(run, seeds=tuple(seeds))).records for seeds in (range(4), (3,)))
    assert set(one["seed"]) == {3}
    pd.testing.assert_frame_equal(many[many["seed"] == 3].reset_index(drop=True), one, check_exact=True)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 19, 20, 21, 30, 41, 50])
def test_stacks_hold_every_seed_once_and_companions_fill_them_to_a_size_that_is_compiled(count):
    seeds = tuple(range(2, 2 + count))
    stacks = stack_seeds(seeds, LARGEST_STACK)
    assert all(2 <= len(stack) <= LARGEST_STACK for stack in stacks)
    assert sum(stacks, ())[:count] == seeds
    filled = stacks_of(run_of("CartPole-v1", "er", seeds))
    for stack, longer in zip(stacks, filled, strict=True):
        assert longer[: len(stack)] == stack and len(longer) in WIDTHS and len(set(longer)) == len(longer)
        assert set(longer) & set(seeds) == set(stack) & set(seeds)
    assert {len(stack) for stack in stacks_of(run_of("Pendulum-v1", "er", seeds))} == {BOX_WIDTH}
    of_algorithm_4 = stacks_of(run_of("CartPole-v1", "dyna_td", seeds, search_control="algorithm_4"))
    assert {len(stack) for stack in of_algorithm_4} == {LARGEST_STACK}


def test_a_seed_has_diverged_if_its_agent_says_so_or_else_if_a_number_is_not_finite():
    rows = [(0, 5, "distance", np.nan), (0, 5, "diverged", 0.0), (1, 5, "diverged", 1.0), (1, 9, "diverged", 1.0)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    assert diverged_seeds(records) == {"1": 5}
    assert diverged_seeds(records[records["metric"] == "distance"]) == {"0": 5}
