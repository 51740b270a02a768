"""Seed k's numbers do not depend on which seeds share its job, and the same seeds give the same numbers."""

from dataclasses import asdict, replace

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

from dyna_td.settings import DQNSettings, DynaFrequencySettings, DynaSettings, RegressionSettings, Run
from dyna_td.training.trainer import LARGEST_STACK, diverged_seeds, execute, execute_sweep, make_program, stack_seeds

REGRESSION = RegressionSettings(examples=300, learning_rate=1e-2)
CONTROL = DQNSettings(planning_updates=4, warm_up_steps=100, buffer_capacity=130, target_period=50, discount=0.9)
RUNS = {
    "l2": Run("sin", "l2", REGRESSION, (), steps=100, evaluate_every=50),
    "prioritized_l2": Run("sin", "prioritized_l2", REGRESSION, (), steps=100, evaluate_every=50),
    "cubic": Run("sin", "cubic", replace(REGRESSION, examples=301), (), steps=60, evaluate_every=30),
    "er": Run("CartPole-v1", "er", CONTROL, (), steps=200, evaluate_every=100),
    "schaul_prioritized_er": Run("MazeGridWorld", "schaul_prioritized_er", CONTROL, (), steps=200, evaluate_every=100),
    "figure_1c": Run(
        "MountainCar-v0", "full_prioritized_er", replace(CONTROL, hidden=(16, 16)), (), steps=200, evaluate_every=200
    ),
    "prioritized_er": Run("GridWorld", "prioritized_er", CONTROL, (), steps=200, evaluate_every=100),
    "full_prioritized_er": Run("Acrobot-v1", "full_prioritized_er", CONTROL, (), steps=200, evaluate_every=100),
}
NUMBERS = {**asdict(CONTROL), "chain_steps": 30, "model_start": 130}
DYNA_RUNS = {
    "dyna_td": Run("GridWorld", "dyna_td", DynaSettings(**NUMBERS), (), steps=160, evaluate_every=80),
    "dyna_td_langevin_learned": Run(
        "GridWorld",
        "dyna_td",
        DynaSettings(**NUMBERS, search_control="langevin", model="learned"),
        (),
        steps=180,
        evaluate_every=90,
    ),
    "dyna_frequency_algorithm_4": Run(
        "MountainCar-v0",
        "dyna_frequency",
        DynaFrequencySettings(**{**NUMBERS, "activation": "tanh"}, search_control="algorithm_4"),
        (),
        steps=160,
        evaluate_every=80,
    ),
}

# Networks of 64 units: XLA orders other sums by the stack's size than with 32.
MAZE = Run("MazeGridWorld", "er", replace(CONTROL, hidden=(64, 64)), (), steps=140)
# With the paper's 4,000 examples XLA orders other sums by the stack's size than with 300.
PAPER = RegressionSettings(learning_rate=1e-2)
PAPER_RUNS = {
    agent: Run("sin", agent, PAPER, (), steps=30)
    for agent in ("l2", "prioritized_l2", "full_prioritized_l2", "cubic", "plain_cubic", "power4")
}


def with_thorough(names, *long):
    """`names` as parameters, of which those in `long` run with --thorough alone."""
    return [pytest.param(name, marks=pytest.mark.thorough) if name in long else name for name in names]


def train(name, seeds, **changes):
    """The records of a short run, and nothing else."""
    return execute(replace(RUNS[name], seeds=tuple(seeds), **changes)).records


def trained(run, seeds):
    program = make_program(replace(run, seeds=tuple(seeds)))
    program.train(tf.constant(run.steps))
    return program


def weights_of(program):
    networks = [program.learner.network] if hasattr(program, "learner") else [program.agent.learner.q]
    if isinstance(getattr(program, "settings", None), DynaSettings) and program.settings.model == "learned":
        networks.append(program.agent.model.network)
    return [parameter.numpy() for network in networks for parameter in network.parameters]


# Those of l2 are held to more below, to their weights. The rest are five seeds, or one, whose stack has a companion.
@pytest.mark.parametrize("name", with_thorough(sorted(RUNS.keys() - {"l2"}), "schaul_prioritized_er"))
def test_the_rows_of_a_few_seeds_are_the_same_among_twenty(name):
    few = {"prioritized_l2": [3], "er": [3]}.get(name, range(5))
    wide, narrow = train(name, range(20)), train(name, few)
    common = wide[wide["seed"].isin(set(narrow["seed"]))].reset_index(drop=True)
    pd.testing.assert_frame_equal(common, narrow, check_exact=True)


@pytest.mark.parametrize("name", with_thorough(DYNA_RUNS, "dyna_frequency_algorithm_4"))
def test_two_dyna_seeds_are_the_same_among_twenty(name):
    wide, narrow = trained(DYNA_RUNS[name], range(20)), trained(DYNA_RUNS[name], (3, 4))
    evaluated = narrow.evaluate()
    assert (evaluated["chain_states"].numpy() > 0).all()
    for metric, value in wide.evaluate().items():
        np.testing.assert_array_equal(evaluated[metric], value[3:5], err_msg=metric)
    assert_same_weights(narrow, wide)


@pytest.mark.parametrize("run", [*PAPER_RUNS.values(), MAZE], ids=[*PAPER_RUNS, "maze"])
def test_the_weights_of_two_seeds_are_the_same_among_twenty(run):
    assert_same_weights(trained(run, (3, 4)), trained(run, range(20)))


def assert_same_weights(narrow, wide):
    for mine, theirs in zip(weights_of(narrow), weights_of(wide), strict=True):
        np.testing.assert_array_equal(mine, theirs[3:5])


def test_a_seed_has_diverged_if_its_agent_says_so_or_else_if_a_number_is_not_finite():
    rows = [(0, 5, "distance", np.nan), (0, 5, "diverged", 0.0), (1, 5, "diverged", 1.0), (1, 9, "diverged", 1.0)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    assert diverged_seeds(records) == {"1": 5}
    assert diverged_seeds(records[records["metric"] == "distance"]) == {"0": 5}


def test_more_seeds_than_one_stack_holds_are_trained_as_several():
    many = train("l2", range(LARGEST_STACK + 3))
    few = train("l2", [0, LARGEST_STACK + 2])
    common = many[many["seed"].isin([0, LARGEST_STACK + 2])].reset_index(drop=True)
    pd.testing.assert_frame_equal(common, few, check_exact=True)


@pytest.mark.parametrize("environment", ["Acrobot-v1", "CartPole-v1", "GridWorld"])
def test_what_is_drawn_before_training_is_the_same_wherever_a_seed_stands(environment):
    wide = make_program(Run(environment, "er", CONTROL, tuple(range(20, 40)), steps=10))
    narrow = make_program(Run(environment, "er", CONTROL, tuple(range(23, 28)), steps=10))
    np.testing.assert_array_equal(narrow.environment_state, wide.environment_state[3:8])


@pytest.mark.parametrize("examples", [300, 401, 1003])
def test_a_seeds_training_set_is_the_same_wherever_it_stands(examples):
    settings = replace(REGRESSION, examples=examples)
    wide = make_program(Run("sin", "prioritized_l2", settings, tuple(range(40, 60)), steps=10)).learner
    narrow = make_program(Run("sin", "prioritized_l2", settings, tuple(range(43, 48)), steps=10)).learner
    np.testing.assert_array_equal(narrow.x, wide.x[3:8])
    np.testing.assert_array_equal(narrow.y, wide.y[3:8])
    np.testing.assert_array_equal(narrow.priorities.priorities, wide.priorities.priorities[3:8])


def test_two_seeds_start_with_different_weights_and_draw_different_mini_batches():
    program = make_program(Run("GridWorld", "er", CONTROL, (0, 1), steps=10))
    kernel = program.agent.learner.q.kernels[0].numpy()
    assert not np.array_equal(kernel[0], kernel[1])
    for place in range(10):
        program.agent.replay._added.assign(place + 1)
    places = program.agent.draw(step=0, k=0)[0].numpy()
    assert not np.array_equal(places[0], places[1])


def test_the_interval_between_evaluations_does_not_change_the_training():
    often, rarely = train("er", range(2), evaluate_every=50), train("er", range(2), evaluate_every=200)
    common = often[often["step"].isin([0, 200])].reset_index(drop=True)
    pd.testing.assert_frame_equal(common, rarely, check_exact=True)


@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 30, 40, 41, 50])
def test_stacks_hold_every_seed_once_and_between_two_and_twenty(count):
    seeds = tuple(range(100, 100 + count))
    stacks = stack_seeds(seeds)
    assert all(2 <= len(stack) <= LARGEST_STACK for stack in stacks)
    assert sum(stacks, ())[:count] == seeds
    assert sum(map(len, stacks)) == max(count, 2)


def test_the_rates_of_a_sweep_train_as_if_each_were_alone():
    runs = [
        replace(RUNS["er"], seeds=(0, 1), settings=replace(CONTROL, learning_rate=rate)) for rate in (1e-2, 1e-3, 1e-2)
    ]
    together = execute_sweep(runs)
    for run, outcome in zip(runs[:2], together, strict=False):
        pd.testing.assert_frame_equal(outcome.records, execute(run).records, check_exact=True)
    pd.testing.assert_frame_equal(together[0].records, together[2].records, check_exact=True)
    assert not together[0].records.equals(together[1].records)
