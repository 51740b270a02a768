"""What can be named in an experiment or on the command line: agents, environments, metrics, settings.

Agents are named by the module that holds them, as text: planning must import neither TensorFlow nor an agent that the
plan does not train, and a run's source digest must not follow an agent that it does not use.
"""

import importlib
from dataclasses import dataclass

from dyna_td.errors import UserError, require_choice
from dyna_td.runs import ControlSettings, RegressionSettings, Run, Settings

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
}

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
}

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
}


def is_supervised(environment: str) -> bool:
    """Whether `environment` is the supervised task, where a step is a mini-batch update."""
    return environment == SUPERVISED_TASK


def settings_type(environment: str) -> type[Settings]:
    """The dataclass of the numbers that an agent has on `environment`."""
    return RegressionSettings if is_supervised(environment) else ControlSettings


def headline_metric(environment: str) -> str:
    """The metric by which a learning rate is selected on `environment`."""
    return "test_rmse" if is_supervised(environment) else "return"


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
    return run.seed_updates * (3 * run.settings.batch_size + (stored if run.agent in FULL_PASS else 0))


def load(path: str) -> type:
    """The class that "module:class" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


def module_of(agent: str) -> str:
    """The name of the module that holds `agent`."""
    return (LEARNERS | CONTROL_AGENTS)[agent].partition(":")[0]
