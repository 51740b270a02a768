"""Seed k's numbers do not depend on which seeds share its job, and the same seeds give the same numbers.

XLA orders sums by the size of the stack, so every kind of program is compared among 3 and among 20 seeds, to the last
bit. With 2, MountainCar is a known exception (README). The quick tier has one program of each kind; the one in
Gymnasium stands in test_gym_program.py.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from helpers import run_of

from dyna_td.training import trainer
from dyna_td.training.program import make_program
from dyna_td.training.trainer import LARGEST_STACK, diverged_seeds, execute, stack_seeds

LEARNERS = ("l2", "prioritized_l2", "full_prioritized_l2", "cubic", "plain_cubic", "power4")
CONTROL = {"planning_updates": 4, "warm_up_steps": 100, "buffer_capacity": 130, "target_period": 50, "discount": 0.9}
CHAINS = {"chain_steps": 30, "model_start": 130}
RUNS = {
    # With the paper's 4,000 examples XLA orders sums otherwise than with 300.
    **{f"{name} of 4,000": run_of("sin", name, (), 30, learning_rate=1e-2) for name in LEARNERS},
    **{name: run_of("sin", name, (), 60, learning_rate=1e-2, examples=301) for name in LEARNERS},
    "er": run_of("CartPole-v1", "er", (), 200, **CONTROL),
    "er with 64 units": run_of("MazeGridWorld", "er", (), 140, hidden=(64, 64), **CONTROL),
    "prioritized_er": run_of("GridWorld", "prioritized_er", (), 200, **CONTROL),
    "schaul_prioritized_er": run_of("MazeGridWorld", "schaul_prioritized_er", (), 200, **CONTROL),
    "laber": run_of("GridWorld", "laber", (), 200, **CONTROL),
    "full_prioritized_er": run_of("Acrobot-v1", "full_prioritized_er", (), 200, **CONTROL),
    "figure 1c": run_of("MountainCar-v0", "full_prioritized_er", (), 200, hidden=(16, 16), **CONTROL),
    "dyna_td": run_of("GridWorld", "dyna_td", (), 160, **CONTROL, **CHAINS),
    "dyna_td, langevin and learned": run_of(
        "GridWorld", "dyna_td", (), 180, search_control="langevin", model="learned", **CONTROL, **CHAINS
    ),
    "dyna_frequency, algorithm_4": run_of(
        "MountainCar-v0", "dyna_frequency", (), 160, search_control="algorithm_4", **CONTROL, **CHAINS
    ),
}
QUICK = ("prioritized_l2 of 4,000", "dyna_td")


def results_of(run, seeds):
    """Every variable with the seed axis in front after training, but for one that is never read; and every metric."""
    program = make_program(replace(run, seeds=tuple(seeds)))
    program.train(tf.constant(run.steps))
    is_used = getattr(run.settings, "search_control", "") != "algorithm_4"
    unread = [] if is_used else [program.agent.search_control.visited.mean_move]
    variables = [
        value.numpy()
        for value in program.variables
        if value.shape.rank and value.shape[0] == len(seeds) and not any(value is other for other in unread)
    ]
    metrics = {**program.evaluate(), **(program.measure()[0] if run.agent == "prioritized_er" else {})}
    return variables, {name: value.numpy() for name, value in metrics.items()}


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.thorough) for name in RUNS]
)
def test_three_seeds_are_the_same_among_twenty(name):
    (narrow, few), (wide, many) = results_of(RUNS[name], (3, 4, 5)), results_of(RUNS[name], range(20))
    for mine, theirs in zip(narrow, wide, strict=True):
        np.testing.assert_array_equal(mine, theirs[3:6])
    for metric, value in many.items():
        np.testing.assert_array_equal(few[metric], value[3:6], err_msg=metric)
    if name.startswith("dyna"):
        assert (few["chain_states"] > 0).all()


@pytest.mark.parametrize("environment", ["Acrobot-v1", "CartPole-v1", "GridWorld"])
def test_a_seeds_first_states_are_the_same_wherever_it_stands(environment):
    wide, narrow = (make_program(run_of(environment, "er", seeds, 10)) for seeds in (range(20, 40), range(23, 28)))
    np.testing.assert_array_equal(narrow.environment_state, wide.environment_state[3:8])


def test_a_single_seed_and_more_seeds_than_one_stack_holds_have_their_numbers_too(monkeypatch):
    monkeypatch.setattr(trainer, "LARGEST_STACK", 3)
    run = run_of("sin", "l2", (), 40, 20, examples=50, hidden=(8,))
    many, one = (execute(replace(run, seeds=tuple(seeds))).records for seeds in (range(4), (3,)))
    assert set(one["seed"]) == {3}
    pd.testing.assert_frame_equal(many[many["seed"] == 3].reset_index(drop=True), one, check_exact=True)


def test_stacks_hold_every_seed_once_and_between_two_and_twenty():
    for count in (1, 2, 19, 20, 21, 30, 40, 41, 50):
        seeds = tuple(range(100, 100 + count))
        stacks = stack_seeds(seeds)
        assert all(2 <= len(stack) <= LARGEST_STACK for stack in stacks)
        assert sum(stacks, ())[:count] == seeds
        assert sum(map(len, stacks)) == max(count, 2)


def test_a_seed_has_diverged_if_its_agent_says_so_or_else_if_a_number_is_not_finite():
    rows = [(0, 5, "distance", np.nan), (0, 5, "diverged", 0.0), (1, 5, "diverged", 1.0), (1, 9, "diverged", 1.0)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    assert diverged_seeds(records) == {"1": 5}
    assert diverged_seeds(records[records["metric"] == "distance"]) == {"0": 5}
