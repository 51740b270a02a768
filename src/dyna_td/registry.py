"""What can be named in an experiment or on the command line: agents, environments, metrics, settings.

Agents are named by the module that holds them, as text: planning must import neither TensorFlow nor an agent that the
plan does not train, and a run's source digest must not follow an agent that it does not use.
"""

import importlib
from collections.abc import Iterable
from dataclasses import dataclass

from dyna_td.errors import UserError, require_choice
from dyna_td.settings import (
    AcceptanceSettings,
    ChainNoiseSettings,
    ControlSettings,
    DDPGAcceptanceSettings,
    DDPGChainNoiseSettings,
    DDPGDynaSettings,
    DDPGSettings,
    DQNSettings,
    DynaFrequencySettings,
    DynaSettings,
    DynaTDLongSettings,
    FrozenSettings,
    IdealStatesSettings,
    PriorityExponentSettings,
    RegressionSettings,
    Run,
    SearchControlSettings,
    Settings,
)

# "module:class" of the supervised task's learners (Section 3.3). `cubic` is scaled as in Theorem 1, figure 9's
# `plain_cubic` is not.
LEARNERS = {
    "l2": "dyna_td.learning.regression:L2",
    "prioritized_l2": "dyna_td.learning.regression:PrioritizedL2",
    "full_prioritized_l2": "dyna_td.learning.regression:FullPrioritizedL2",
    "cubic": "dyna_td.learning.regression:Cubic",
    "plain_cubic": "dyna_td.learning.regression:PlainCubic",
    "power4": "dyna_td.learning.regression:Power4",
}

# Agents for control.
CONTROL_AGENTS = {
    "er": "dyna_td.agents.er:ER",
    "prioritized_er": "dyna_td.agents.prioritized_er:PrioritizedER",
    "schaul_prioritized_er": "dyna_td.agents.schaul_prioritized_er:SchaulPrioritizedER",
    "full_prioritized_er": "dyna_td.agents.full_prioritized_er:FullPrioritizedER",
    "dyna_td": "dyna_td.agents.dyna_td:DynaTD",
    "dyna_td_long": "dyna_td.agents.dyna_td:DynaTDLong",
    "dyna_value": "dyna_td.agents.dyna_value:DynaValue",
    "dyna_frequency": "dyna_td.agents.dyna_frequency:DynaFrequency",
    # Controls, and agents with an unstated number open; the paper has none of these.
    "descend_td": "dyna_td.agents.ablations:DescendTD",
    "random_sign": "dyna_td.agents.ablations:RandomSign",
    "descend_value": "dyna_td.agents.ablations:DescendValue",
    "random_direction": "dyna_td.agents.ablations:RandomDirection",
    "noise_only": "dyna_td.agents.ablations:NoiseOnly",
    "uniform_states": "dyna_td.agents.ablations:UniformStates",
    "replayed_states": "dyna_td.agents.ablations:ReplayedStates",
    "ideal_states": "dyna_td.agents.ablations:IdealStates",
    "cubic_dqn": "dyna_td.agents.ablations:CubicDQN",
    "dyna_td_noise": "dyna_td.agents.sensitivity:DynaTDNoise",
    "dyna_td_acceptance": "dyna_td.agents.sensitivity:DynaTDAcceptance",
    "dyna_td_goals": "dyna_td.agents.sensitivity:DynaTDGoals",
    "dyna_value_goals": "dyna_td.agents.sensitivity:DynaValueGoals",
    "dyna_frequency_goals": "dyna_td.agents.sensitivity:DynaFrequencyGoals",
    "prioritized_er_exponent": "dyna_td.agents.sensitivity:PrioritizedERExponent",
    "dyna_td_frozen": "dyna_td.agents.dyna_td:DynaTD",
}

# The numbers of each agent on discrete actions, and of those that also train where actions are vectors.
_DQN_AGENTS: dict[str, type[ControlSettings]] = {
    **dict.fromkeys(CONTROL_AGENTS, DQNSettings),
    **dict.fromkeys(("dyna_td", "descend_td", "random_sign", "dyna_value", "descend_value"), DynaSettings),
    **dict.fromkeys(("random_direction", "noise_only", "uniform_states", "replayed_states"), DynaSettings),
    **dict.fromkeys(("dyna_td_goals", "dyna_value_goals"), DynaSettings),
    "dyna_td_long": DynaTDLongSettings,
    **dict.fromkeys(("dyna_frequency", "dyna_frequency_goals"), DynaFrequencySettings),
    "ideal_states": IdealStatesSettings,
    "dyna_td_noise": ChainNoiseSettings,
    "dyna_td_acceptance": AcceptanceSettings,
    "prioritized_er_exponent": PriorityExponentSettings,
    "dyna_td_frozen": FrozenSettings,
}
_DDPG_AGENTS: dict[str, type[ControlSettings]] = {
    **dict.fromkeys(("er", "prioritized_er", "schaul_prioritized_er"), DDPGSettings),
    **dict.fromkeys(("dyna_td", "dyna_value"), DDPGDynaSettings),
    "dyna_td_noise": DDPGChainNoiseSettings,
    "dyna_td_acceptance": DDPGAcceptanceSettings,
}
FREQUENCY_AGENTS = {name for name, kind in _DQN_AGENTS.items() if kind is DynaFrequencySettings}
DYNA_AGENTS = tuple(name for name, kind in _DQN_AGENTS.items() if issubclass(kind, SearchControlSettings))

# Those that pass every stored example or transition through the network at each update.
FULL_PASS = {"full_prioritized_l2", "cubic", "full_prioritized_er"}

SUPERVISED_TASK = "sin"
ROUNDABOUT = "roundabout-paper-v0"
# Those with a TensorFlow twin train in the graph, and have a true model; all others step Gymnasium.
TWIN_ENVIRONMENTS = ("GridWorld", "MazeGridWorld", "MountainCar-v0", "CartPole-v1", "Acrobot-v1")
_BOX_ENVIRONMENTS = ("Hopper-v4", "Hopper-v5", "Walker2d-v4", "Walker2d-v5")  # where actions are vectors
ENVIRONMENTS = (SUPERVISED_TASK, *TWIN_ENVIRONMENTS, *_BOX_ENVIRONMENTS, ROUNDABOUT)


@dataclass(frozen=True)
class Metric:
    """One word of the `metric` column; `supervised` tells whether it belongs to the supervised task or to control."""

    unit: str
    meaning: str
    supervised: bool


METRICS = {
    "return": Metric("reward", "undiscounted return of one evaluation episode", False),
    "episode_length": Metric("environment steps", "length of that episode", False),
    "test_rmse": Metric("RMSE", "root mean squared error on the noise-free test points", True),
    "test_rmse_high": Metric("RMSE", "test_rmse on x < 0 alone, the high-frequency half", True),
    "test_rmse_low": Metric("RMSE", "test_rmse on x >= 0 alone, the low-frequency half", True),
    "train_rmse": Metric("RMSE", "root mean squared error on the noisy training set", True),
    "crashed": Metric("0 or 1", "share of the evaluation's episodes that ended in a crash", False),
    "crashes": Metric("crashes", "sum of crashed so far, in curves.csv against the evaluations' steps", False),
    "speed": Metric("m/s", "mean speed of the ego vehicle in an evaluation episode", False),
    "diverged": Metric("0 or 1", "whether the value network has a parameter that is not finite", False),
}

# What Dyna agents count, since training began.
DYNA_METRICS = {
    "chain_steps_made": Metric("steps", "steps of search-control chains", False),
    "chain_restarts": Metric("restarts", "new starts of search-control chains", False),
    "chain_states": Metric("states", "states accepted into the search-control queue", False),
    "chain_vanished_gradients": Metric("steps", "chain steps whose gradient was too short to follow", False),
    "chain_nonfinite_gradients": Metric(
        "steps", "chain steps whose gradient, or its length, was not finite: the chain starts anew", False
    ),
    "queue_size": Metric("states", "states in the search-control queue now", False),
}
# Dyna-Frequency's, of those chains that climbed the frequency instead of the value.
FREQUENCY_METRICS = {
    "frequency_steps_made": Metric("steps", "steps of chains that climb the frequency", False),
    "frequency_vanished_gradients": Metric("steps", "those whose gradient was too short to follow", False),
    "frequency_nonfinite_gradients": Metric("steps", "those whose gradient was not finite", False),
}
METRICS |= DYNA_METRICS | FREQUENCY_METRICS

# The environment whose sampling distributions are measured at every evaluation (Section 4.2), and from what states:
# the suffix of the metric and its meaning.
SAMPLED_ENVIRONMENT = "GridWorld"
_SAMPLED_ONLY = {"ideal_states", "dyna_td_frozen"}  # agents that need p*, or its cells
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
    _name + _suffix: Metric("probability", f"{_meaning}; p: {_source}", False)
    for _suffix, _source in {**_SOURCES, **_CONTROLS}.items()
    for _name, _meaning in _DISTANCES.items()
} | {
    _name + _suffix: Metric(_unit, f"{_meaning}; {_source}", False)
    for _suffix, _source in _SOURCES.items()
    for _name, (_unit, _meaning) in _COVERAGES.items()
}
METRICS |= SAMPLING_METRICS

# What dyna_td_frozen measures on its last Q, once; delta is by its learned model.
_KINDS = {
    "released": "long chains of the released rule",
    "algorithm_4": "long chains of Algorithm 4's rule",
    "langevin": "long chains of the Langevin rule",
    "langevin_constant_y": "the same with y held constant in the gradient",
    "langevin_small_steps": "long chains of the Langevin rule whose steps are a hundredth as large",
    "ideal": "as many independent draws from |delta| itself: no sampler can be expected to fit better",
}
_PROBED = {"uniform": "states uniform in the box", "queue": "states of the search-control queue"}
FROZEN_METRICS = {
    _name + _kind: Metric(_unit, f"{_meaning}; {_states}", False)
    for _kind, _states in _KINDS.items()
    for _name, _unit, _meaning in (
        ("beta_", "exponent", "beta of the density |delta|^beta that fits the states best, on 20x20 cells"),
        ("variation_", "total variation", "from the histogram of the states to |delta|"),
        ("variation_fitted_", "total variation", "from the histogram of the states to |delta|^beta"),
    )
} | {
    _name + _source: Metric(_unit, f"{_meaning}; {_states}", False)
    for _source, _states in _PROBED.items()
    for _name, _unit, _meaning in (
        ("cosine_", "cosine", "mean cosine of the gradients of log |delta| with y held constant and through y"),
        ("cosine_positive_", "share", "share of states with a cosine above 0"),
        ("cosine_close_", "share", "share of states with a cosine above 0.9"),
    )
}
FROZEN_METRICS |= {
    "variation_uniform": Metric("total variation", "from the uniform distribution to |delta|", False),
    "bound_left": Metric("probability", "mean over 50x50 states of Theorem 3's left side, |p - p^|", False),
    "bound_right": Metric("probability", "mean over 50x50 states of its right side", False),
    "bound_ratio": Metric("times", "bound_right / bound_left: how loose it is", False),
    "bound_slack": Metric("share", "of the right side that the left one leaves, in the tightest state", False),
    "bound_trivial": Metric("share", "share of states where the larger of p and p^ is a bound as good", False),
    "bound_model_error": Metric("total variation", "mean over states of the two models' distance", False),
}
METRICS |= FROZEN_METRICS
FROZEN_SOURCES = ("released", "algorithm_4", "langevin", "ideal")  # of sampled states that only it has, in the end
ROUNDABOUT_METRICS = ("crashed", "crashes", "speed")

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
    "chain_noise": "factor of the noise of a chain's rule, of dyna_td_noise",
    "acceptance": "distance / sqrt(d) from one accepted state to the next, at least, of dyna_td_acceptance",
    "probe_steps": "steps that count of each chain on the last Q, of dyna_td_frozen",
    "priority_exponent": "exponent of the priorities |delta|, of prioritized_er_exponent",
    "model_hidden": "units of a learned model's hidden layers",
    "model_learning_rate": "Adam's step size of a learned model",
    "model_batch_size": "transitions in a learned model's mini-batch",
    "model_start": "environment steps before a learned model is used",
    "model_stop": "environment steps after which search control, its states and the model's learning end; 0: never",
    "clip_to_box": "True: a learned model's states are kept to the box that chains keep to; False: to observations",
    "actor_learning_rate": "Adam's step size of DDPG's actor; learning_rate is its critic's",
    "target_rate": "share of the online networks that DDPG's target networks take over at each update",
    "noise_scale": "standard deviation of the innovations of DDPG's exploration noise",
    "noise_decay": "share of itself that DDPG's exploration noise loses at each step",
    "evaluation_episodes": "episodes of one evaluation, whose mean is reported",
}


def is_supervised(environment: str) -> bool:
    """Whether `environment` is the supervised task, where a step is a mini-batch update."""
    return environment == SUPERVISED_TASK


def has_twin(environment: str) -> bool:
    """Whether the dynamics of `environment` are known, so that it trains in the graph and there is a true model."""
    return environment in TWIN_ENVIRONMENTS


def settings_type(environment: str, agent: str) -> type[Settings]:
    """The dataclass of the numbers that `agent` has on `environment`."""
    return RegressionSettings if is_supervised(environment) else _agents_on(environment)[agent]


def has_box_actions(environment: str) -> bool:
    """Whether the actions of `environment` are vectors, so that DDPG learns their values; the others are discrete.

    Raises:
      UserError: see `require_environment`.
    """
    if environment in ENVIRONMENTS:
        return environment in _BOX_ENVIRONMENTS
    import envs  # Gymnasium takes a moment, which plans of known environments need not wait for

    return envs.has_box_actions(environment)


def _agents_on(environment: str) -> dict[str, type[ControlSettings]]:
    if has_box_actions(environment):
        return _DDPG_AGENTS
    elsewhere = set() if environment == SAMPLED_ENVIRONMENT else _SAMPLED_ONLY
    return {agent: kind for agent, kind in _DQN_AGENTS.items() if agent not in elsewhere}


def require_environment(environment: object) -> str:
    """Returns `environment` if it can be trained on: one of `ENVIRONMENTS`, or any that Gymnasium can make.

    Raises:
      UserError: for an unknown environment, or one whose observations or actions no agent can handle.
    """
    if environment not in ENVIRONMENTS:
        if str(environment).lower() == SUPERVISED_TASK:
            raise UserError(f"unknown environment {environment!r}: did you mean {SUPERVISED_TASK!r}? Write it so.")
        import envs

        envs.make(environment).close()
    return environment


def learner_of(settings: ControlSettings) -> str:
    """What learns the values of actions, as "module:class": vectors need another learner than discrete ones."""
    return "dyna_td.learning.ddpg:DDPG" if isinstance(settings, DDPGSettings) else "dyna_td.learning.q_learning:DQN"


def program_of(run: Run) -> str:
    """What trains `run`, as "module:class"."""
    if is_supervised(run.environment):
        return "dyna_td.training.regression_program:RegressionProgram"
    if run.agent == "dyna_td_frozen":
        return "dyna_td.training.frozen_program:FrozenProgram"
    if has_twin(run.environment):
        return "dyna_td.training.twin_program:ControlProgram"
    return "dyna_td.training.gym_program:GymProgram"


def twin_of(environment: str) -> str:
    """The twin of an environment, as "module:class"."""
    return f"envs.twins:{environment.partition('-')[0]}Twin"


def entries_of(run: Run) -> tuple[str, ...]:
    """What training `run` loads by name, each as "module:name": the code that makes its numbers starts there."""
    common = ("dyna_td.training.trainer:stack_seeds", program_of(run))
    if is_supervised(run.environment):
        return (*common, LEARNERS[run.agent])
    agent = (*common, CONTROL_AGENTS[run.agent], learner_of(run.settings))
    if has_twin(run.environment):
        return (*agent, twin_of(run.environment))
    return (*agent, "envs.roundabout:Roundabout") if run.environment == ROUNDABOUT else agent


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
        and (environment == ROUNDABOUT or name not in ROUNDABOUT_METRICS)
        and (name not in FREQUENCY_METRICS or set(agents) <= FREQUENCY_AGENTS)
        and (name not in FROZEN_METRICS or set(agents) <= {"dyna_td_frozen"})
    }
    return require_choice(metric, known, f"metric of {', '.join(agents)} on {environment}")


def require_agent(agent: object, environment: str) -> str:
    """Returns `agent` if it can be trained on `environment`.

    Raises:
      UserError: for an unknown agent, or one that belongs to another kind of environment.
    """
    here = LEARNERS if is_supervised(environment) else _agents_on(environment)
    if agent in LEARNERS | CONTROL_AGENTS and agent not in here:
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
