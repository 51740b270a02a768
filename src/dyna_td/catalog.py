"""What can be named in an experiment or on the command line: agents, environments, metrics, settings.

Agents are named by the module that holds them, as text: planning must import neither TensorFlow nor an agent that the
plan does not train, and a run's source digest must not follow an agent that it does not use.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass

from dyna_td.errors import UserError, require_choice
from dyna_td.runs import (
    ControlSettings,
    DynaFrequencySettings,
    DynaSettings,
    DynaTDLongSettings,
    RegressionSettings,
    Run,
    Settings,
)

# "module:class" of the supervised task's learners (Section 3.3). `cubic` is scaled as in Theorem 1, figure 9's
# `plain_cubic` is not.
LEARNERS = {
    "l2": "dyna_td.regression:L2",
    "prioritized_l2": "dyna_td.regression:PrioritizedL2",
    "full_prioritized_l2": "dyna_td.regression:FullPrioritizedL2",
    "cubic": "dyna_td.regression:Cubic",
    "plain_cubic": "dyna_td.regression:PlainCubic",
    "power4": "dyna_td.regression:Power4",
}

# Agents for discrete actions.
CONTROL_AGENTS = {
    "er": "dyna_td.agents.er:ER",
    "prioritized_er": "dyna_td.agents.prioritized_er:PrioritizedER",
    "schaul_prioritized_er": "dyna_td.agents.schaul_prioritized_er:SchaulPrioritizedER",
    "full_prioritized_er": "dyna_td.agents.full_prioritized_er:FullPrioritizedER",
    "dyna_td": "dyna_td.agents.dyna_td:DynaTD",
    "dyna_td_long": "dyna_td.agents.dyna_td:DynaTDLong",
    "dyna_value": "dyna_td.agents.dyna_value:DynaValue",
    "dyna_frequency": "dyna_td.agents.dyna_frequency:DynaFrequency",
}

# The numbers of the agents that have more than ControlSettings.
_DYNA_SETTINGS = {
    "dyna_td": DynaSettings,
    "dyna_td_long": DynaTDLongSettings,
    "dyna_value": DynaSettings,
    "dyna_frequency": DynaFrequencySettings,
}
DYNA_AGENTS = tuple(_DYNA_SETTINGS)

# Those that pass every stored example or transition through the network at each update.
FULL_PASS = {"full_prioritized_l2", "cubic", "full_prioritized_er"}

SUPERVISED_TASK = "sin"
CONTROL_ENVIRONMENTS = ("GridWorld", "MazeGridWorld", "MountainCar-v0", "CartPole-v1", "Acrobot-v1")
ENVIRONMENTS = (SUPERVISED_TASK, *CONTROL_ENVIRONMENTS)


@dataclass(frozen=True)
class Metric:
    """One word of the `metric` column; `supervised` tells whether it belongs to the supervised task or to control."""

    unit: str
    meaning: str
    higher_is_better: bool
    supervised: bool


METRICS = {
    "return": Metric("reward", "undiscounted return of one evaluation episode", True, False),
    "episode_length": Metric("environment steps", "length of that episode", False, False),
    "test_rmse": Metric("target", "root mean squared error on the noise-free test points", False, True),
    "test_rmse_high": Metric("target", "test_rmse on x < 0 alone, the high-frequency half", False, True),
    "test_rmse_low": Metric("target", "test_rmse on x >= 0 alone, the low-frequency half", False, True),
    "train_rmse": Metric("target", "root mean squared error on the noisy training set", False, True),
    "diverged": Metric("0 or 1", "whether the value network has a parameter that is not finite", False, False),
}

# What Dyna agents count, since training began.
DYNA_METRICS = {
    "chain_steps_made": Metric("steps", "steps of search-control chains", False, False),
    "chain_restarts": Metric("restarts", "new starts of search-control chains", False, False),
    "chain_states": Metric("states", "states accepted into the search-control queue", True, False),
    "chain_vanished_gradients": Metric("steps", "chain steps whose gradient was too short to follow", False, False),
    "chain_nonfinite_gradients": Metric(
        "steps", "chain steps whose gradient, or its length, was not finite: the chain starts anew", False, False
    ),
    "queue_size": Metric("states", "states in the search-control queue now", True, False),
}
# Dyna-Frequency's, of those chains that climbed the frequency instead of the value.
FREQUENCY_METRICS = {
    "frequency_steps_made": Metric("steps", "steps of chains that climb the frequency", False, False),
    "frequency_vanished_gradients": Metric("steps", "those whose gradient was too short to follow", False, False),
    "frequency_nonfinite_gradients": Metric("steps", "those whose gradient was not finite", False, False),
}
METRICS |= DYNA_METRICS | FREQUENCY_METRICS

# The environment whose sampling distributions are measured at every evaluation (Section 4.2), and from what states:
# the suffix of the metric and its meaning.
SAMPLED_ENVIRONMENT = "GridWorld"
_SOURCES = {
    "": "states drawn as the agent's own sampler draws them: from its queue (or B_er, while it is empty), all by "
    "priority, or uniformly from B_er",
    "_buffer": "states drawn uniformly from B_er",
    "_recent": "states drawn uniformly from the newest 20,000 of the search-control queue",
}
_CONTROLS = {
    "_floor": "as many states drawn from p* itself: no sampler can be expected to be closer",
    "_exact_uniform": "the uniform distribution itself",
}
_DISTANCES = {
    "distance_uniform": "mean over the 50x50 cells of |p - p*|",
    "distance_on_policy": "sum over the 50x50 cells of d_pi |p - p*|",
}
_COVERAGES = {
    "entropy_10": ("nats", "entropy of the histogram on 10x10 cells"),
    "entropy_50": ("nats", "entropy of the histogram on 50x50 cells"),
    "occupied_cells": ("cells", "cells of 50x50 that hold one of 2000 states"),
    "mass_top_left": ("share", "share of states with x < 0.5 and y > 0.5"),
    "mass_right": ("share", "share of states with x > 0.6, right of the wall"),
}
SAMPLING_METRICS = {
    _name + _suffix: Metric("probability", f"{_meaning}; p: {_source}", False, False)
    for _suffix, _source in {**_SOURCES, **_CONTROLS}.items()
    for _name, _meaning in _DISTANCES.items()
} | {
    _name + _suffix: Metric(_unit, f"{_meaning}; {_source}", True, False)
    for _suffix, _source in _SOURCES.items()
    for _name, (_unit, _meaning) in _COVERAGES.items()
}
METRICS |= SAMPLING_METRICS

# A setting's unit and meaning, for `--help`.
SETTINGS = {
    "examples": "|T|, training examples of the supervised task",
    "noise": "sigma, standard deviation of the noise on the training targets",
    "batch_size": "b, examples or transitions in a mini-batch",
    "learning_rate": "Adam's step size",
    "hidden": "units of the hidden layers, for example 32x32",
    "planning_updates": "n, mini-batch updates after each environment step",
    "buffer_capacity": "transitions in the ER buffer",
    "warm_up_steps": "random environment steps before learning starts",
    "exploration": "epsilon of the behaviour policy",
    "evaluation_exploration": "epsilon of the evaluated policy",
    "discount": "gamma, per environment step",
    "target_period": "parameter updates between two copies of the target network",
    "activation": "of the hidden units: relu or tanh",
    "model": "what completes the states of search control: true or learned",
    "search_control": "rule of a chain step: released (the authors' code), algorithm_4 (the paper's box) or langevin",
    "mixing_rate": "rho, share of a mini-batch that comes from the search-control queue",
    "states_per_fill": "m, states that search control fetches at once",
    "chain_steps": "k_b, steps of a chain at most",
    "full_chains": "True: a chain makes all its steps and its last m states count; False: it ends with its m-th state",
    "search_every": "environment steps from one chain to the next",
    "queue_capacity": "states in the search-control queue",
    "model_hidden": "units of a learned model's hidden layers",
    "model_learning_rate": "Adam's step size of a learned model",
    "model_batch_size": "transitions in a learned model's mini-batch",
    "model_start": "environment steps before a learned model is used",
}


def is_supervised(environment: str) -> bool:
    """Whether `environment` is the supervised task, where a step is a mini-batch update."""
    return environment == SUPERVISED_TASK


def settings_type(environment: str, agent: str) -> type[Settings]:
    """The dataclass of the numbers that `agent` has on `environment`."""
    return RegressionSettings if is_supervised(environment) else _DYNA_SETTINGS.get(agent, ControlSettings)


def headline_metric(environment: str) -> str:
    """The metric by which a learning rate is selected on `environment`."""
    return "test_rmse" if is_supervised(environment) else "return"


def require_metric(metric: object, environment: str, agents: Iterable[str]) -> str:
    """Returns `metric` if a run of each of `agents` on `environment` has it.

    Raises:
      UserError: for an unknown metric, or one that they do not have there.
    """
    known = {
        name: meaning
        for name, meaning in METRICS.items()
        if meaning.supervised == is_supervised(environment)
        and (environment == SAMPLED_ENVIRONMENT or name not in SAMPLING_METRICS)
        and ((name not in DYNA_METRICS and not name.endswith("_recent")) or set(agents) <= set(DYNA_AGENTS))
        and (name not in FREQUENCY_METRICS or set(agents) <= {"dyna_frequency"})
    }
    return require_choice(metric, known, f"metric of {', '.join(agents)} on {environment}")


def require_agent(agent: object, environment: str) -> str:
    """Returns `agent` if it can be trained on `environment`.

    Raises:
      UserError: for an unknown agent, or one that belongs to the other kind of environment.
    """
    here, elsewhere = (LEARNERS, CONTROL_AGENTS) if is_supervised(environment) else (CONTROL_AGENTS, LEARNERS)
    if agent in elsewhere:
        raise UserError(f"agent {agent!r} does not train on {environment}: choose one of {', '.join(here)}.")
    return require_choice(agent, here, "agent")


def work(run: Run) -> int:
    """How long `run` takes, in examples passed through the network: what matters is which of two takes longer."""
    stored = getattr(run.settings, "examples", None) or run.settings.buffer_capacity
    updates = run.seed_updates * (3 * run.settings.batch_size + (stored if run.agent in FULL_PASS else 0))
    chains = run.steps * len(run.seeds) * 10 * getattr(run.settings, "chain_steps", 0)
    return updates + chains


def load(path: str) -> type:
    """The class that "module:class" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def module_of(agent: str) -> str:
    """The name of the module that holds `agent`."""
    return (LEARNERS | CONTROL_AGENTS)[agent].partition(":")[0]
