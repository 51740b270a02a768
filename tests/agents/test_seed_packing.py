"""A seed has the same bytes beside any others, and on every CPU.

The thorough tier compares every environment with every kind of agent (benchmarks/bits.py); the quick tier samples.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace

import bits
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from helpers import run_of

from dyna_td.programs.program import make_program
from dyna_td.programs.stacks import MAX_STACK, stacks_of
from dyna_td.records.metrics import diverged_seeds
from dyna_td.training.trainer import execute

CONTROL = {"planning_updates": 4, "warm_up_steps": 100, "buffer_capacity": 130, "target_period": 50, "discount": 0.9}
CHAINS = {"chain_steps": 30, "model_start": 130}
RUNS = {
    3: run_of("sin", "prioritized_l2", (), 30, learning_rate=1e-2),
    5: run_of("GridWorld", "dyna_td", (), 160, **CONTROL, **CHAINS),
}

QUICK = ["sin:prioritized_l2", "CartPole-v1:dyna_td:model=learned,search_control=langevin", "Hopper-v4:prioritized_er"]


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


@pytest.mark.parametrize("case", QUICK)
def test_a_training_has_the_bytes_that_it_has_on_other_cpus(case):
    assert bits.digests(bits.run_of(case)) == json.loads(bits.DIGESTS.read_text())[case]


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("environment", [*sorted({case.partition(":")[0] for case in bits.CASES}), "digests"])
def test_every_kind_of_agent_has_these_bytes_and_asks_no_library_that_rounds_by_cpu(environment):
    # A new process, because one that has compiled many hundreds of programs may crash in the compiler.
    cases = [case for case in bits.CASES if case.partition(":")[0] == environment]
    command = ["stacks", *cases] if cases else ["compare", str(bits.DIGESTS)]
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "ONEDNN_VERBOSE": "1"}
    done = subprocess.run(
        [sys.executable, bits.__file__, *command], env=os.environ | paths, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": equal") == len(cases or json.loads(bits.DIGESTS.read_text()))
    assert ",exec," not in done.stdout


def test_a_single_seed_and_more_seeds_than_one_stack_holds_have_their_numbers_too(monkeypatch):
    monkeypatch.setattr("dyna_td.programs.stacks.MAX_STACK", 3)
    run = run_of("sin", "l2", (), 40, 20, examples=50, hidden=(8,))
    many, one = (execute(replace(run, seeds=tuple(seeds))).records for seeds in (range(4), (3,)))
    assert set(one["seed"]) == {3}
    pd.testing.assert_frame_equal(many[many["seed"] == 3].reset_index(drop=True), one, check_exact=True)


@pytest.mark.parametrize("count", [1, 2, 3, 5, 19, 20, 21, 30, 41, 50])
@pytest.mark.parametrize("environment", ["sin", "CartPole-v1", "Pendulum-v1"])
def test_stacks_hold_every_seed_once_and_only_a_single_one_has_a_companion(environment, count):
    seeds = tuple(range(2, 2 + count))
    agent = "l2" if environment == "sin" else "er"
    stacks = stacks_of(run_of(environment, agent, seeds))
    assert all(2 <= len(stack) <= MAX_STACK for stack in stacks)
    assert sum(stacks, ()) == (seeds if count > 1 else (2, 3))


def test_a_seed_has_diverged_if_its_agent_says_so_or_else_if_a_number_is_not_finite():
    rows = [(0, 5, "distance", np.nan), (0, 5, "diverged", 0.0), (1, 5, "diverged", 1.0), (1, 9, "diverged", 1.0)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    assert diverged_seeds(records) == {"1": 5}
    assert diverged_seeds(records[records["metric"] == "distance"]) == {"0": 5}
