"""Agents and environments by name, for experiments and the command line.

An agent is one entry of `AGENTS`. Classes are named as "module:class", so planning imports no TensorFlow.
"""

import importlib
import os
import sys
from dataclasses import Field, dataclass, field, fields, make_dataclass
from typing import Any

from dyna_td.errors import UserError, require_choice
from dyna_td.settings import (
    ControlSettings,
    DDPGDynaSettings,
    DDPGSettings,
    DQNSettings,
    DynaSettings,
    RegressionSettings,
    Run,
    SearchControlSettings,
    Settings,
    number,
)

# The supervised task's learners (Section 3.3). `cubic` is scaled as in Theorem 1, figure 9's `plain_cubic` is not.
LEARNERS = {
    "l2": "dyna_td.learning.regression:L2",
    "prioritized_l2": "dyna_td.learning.regression:PrioritizedL2",
    "full_prioritized_l2": "dyna_td.learning.regression:FullPrioritizedL2",
    "cubic": "dyna_td.learning.regression:Cubic",
    "plain_cubic": "dyna_td.learning.regression:PlainCubic",
    "power4": "dyna_td.learning.regression:Power4",
}

SUPERVISED_TASK = "sin"
ROUNDABOUT = "roundabout-paper-v0"
# These have a TensorFlow twin, so they have a true model and train in one program; all others step Gymnasium.
TWIN_ENVIRONMENTS = ("GridWorld", "MazeGridWorld", "MountainCar-v0", "CartPole-v1", "Acrobot-v1")
_BOX_ENVIRONMENTS = ("Hopper-v4", "Hopper-v5", "Walker2d-v4", "Walker2d-v5")  # their actions are vectors
ENVIRONMENTS = (SUPERVISED_TASK, *TWIN_ENVIRONMENTS, *_BOX_ENVIRONMENTS, ROUNDABOUT)
SAMPLED_ENVIRONMENT = "GridWorld"  # its sampling distributions are measured at every evaluation (Section 4.2)


@dataclass(frozen=True)
class Agent:
    """An agent for control.

    Attributes:
      path: its class, as "module:class".
      dyna: whether it has search control and its settings.
      numbers: its own settings by name (`settings.number`), or its own defaults of shared settings.
      on: its environments: `any`, `discrete` for discrete actions, or the name of one.
    """

    path: str
    dyna: bool = False
    numbers: dict[str, Any] = field(default_factory=dict)
    on: str = "any"


def _ablation(name: str, dyna: bool = True, on: str = "discrete", **numbers) -> Agent:
    return Agent(f"dyna_td.agents.ablations:{name}", dyna, numbers, on)


def _warm_up(name: str, dyna: bool = True, **numbers) -> Agent:
    return Agent(f"dyna_td.agents.warm_up:{name}", dyna, {**_WARM_UP, **numbers}, on="discrete")


def _exponent(default: float, source: str):
    return {"priority_exponent": number(default, "exponent of the priorities |delta|", source, 0, 10)}


_TD, _VALUE = "dyna_td.agents.dyna_td:DynaTD", "dyna_td.agents.dyna_value:DynaValue"
_FREQUENCY = "dyna_td.agents.dyna_frequency:DynaFrequency"
_SMOOTH = {"activation": "tanh", "step_size": 0.01}  # for higher derivatives (paper); a chain's step (code)

_LEARNED = number("learned", "model that completes the states of search control", "ours", choices=("learned",))

_WARM_UP = {
    "warm_up_goal": number(
        "hidden",
        "what the warm-up shows of the goal: hidden, shown (one episode) or natural",
        "ours",
        choices=("hidden", "shown", "natural"),
    )
}
_TERMINATION = {
    "termination": number(
        "known", "termination rule of search control: known or learned", "ours", choices=("known", "learned")
    )
}

AGENTS = {
    "er": Agent("dyna_td.agents.er:ER"),
    "prioritized_er": Agent("dyna_td.agents.prioritized_er:PrioritizedER", numbers=_exponent(1.0, "paper")),
    "schaul_prioritized_er": Agent(
        "dyna_td.agents.schaul_prioritized_er:SchaulPrioritizedER", numbers=_exponent(0.6, "Schaul et al., Table 3")
    ),
    "laber": Agent(
        "dyna_td.agents.laber:LaBER",
        numbers={
            "large_batch": number(4, "size of the uniform batch, in mini-batches", "Lahire et al.", 1, 99),
            "importance_weights": number(
                True, "True: importance weights give ER's gradient in expectation", "Lahire et al."
            ),
        },
    ),
    "full_prioritized_er": Agent(
        "dyna_td.agents.full_prioritized_er:FullPrioritizedER", numbers=_exponent(1.0, "paper"), on="discrete"
    ),
    "dyna_td": Agent(_TD, dyna=True),
    # Long chains become stationary before their states count (paper, Section 4.2).
    "dyna_td_long": Agent(_TD, dyna=True, numbers={"chain_steps": 1_000, "full_chains": True}, on="discrete"),
    "dyna_value": Agent(_VALUE, dyna=True),
    "dyna_frequency": Agent(_FREQUENCY, dyna=True, numbers=_SMOOTH, on="discrete"),
    # Ablations; the paper has none of these.
    "descend_td": _ablation("DescendTD"),
    "random_sign": _ablation("RandomSign"),
    "descend_value": _ablation("DescendValue"),
    "random_sign_each_step": _ablation("RandomSignEachStep"),
    "random_direction": _ablation("RandomDirection"),
    "noise_only": _ablation("NoiseOnly"),
    "uniform_states": _ablation("UniformStates"),
    "replayed_states": _ablation("ReplayedStates", on="any"),
    # p* is too costly for every step and soon outdated: many states a fill, and a queue of five fills.
    "ideal_states": _ablation(
        "IdealStates", on=SAMPLED_ENVIRONMENT, states_per_fill=1_000, search_every=10, queue_capacity=5_000
    ),
    "cubic_dqn": _ablation("CubicDQN", dyna=False),
    # What the warm-up, or the model, shows of the goal.
    "er_warm_up": _warm_up("ERWarmUp", dyna=False),
    "prioritized_er_warm_up": _warm_up("PrioritizedERWarmUp", dyna=False, **_exponent(1.0, "paper")),
    "dyna_td_warm_up": _warm_up("DynaTDWarmUp", **_TERMINATION),
    "uniform_states_warm_up": _warm_up("UniformStatesWarmUp", **_TERMINATION),
    # Published runs bear these names (`make sensitivity`, figure 6). `dyna_td_noise` and `prioritized_er_exponent` are
    # `dyna_td` and `prioritized_er`.
    "dyna_td_noise": Agent(_TD, dyna=True),
    "dyna_td_acceptance": Agent(_TD, dyna=True, numbers={"acceptance": 0.1}),  # paper, appendix
    "dyna_td_goals": Agent(_TD, dyna=True, numbers={"queue_goals": True}, on="discrete"),
    "dyna_value_goals": Agent(_VALUE, dyna=True, numbers={"queue_goals": True}, on="discrete"),
    "dyna_frequency_goals": Agent(_FREQUENCY, dyna=True, numbers={"queue_goals": True, **_SMOOTH}, on="discrete"),
    "prioritized_er_exponent": Agent("dyna_td.agents.prioritized_er:PrioritizedER", numbers=_exponent(1.0, "paper")),
    # Dyna-TD with measurements on its final Q (claims 45 to 47).
    "dyna_td_frozen": Agent(
        _TD,
        dyna=True,
        numbers={"model": _LEARNED, "probe_steps": number(5_000, "steps of a chain on the last Q", "ours", 100, 1e6)},
        on=SAMPLED_ENVIRONMENT,
    ),
}
FROZEN_SOURCES = ("released", "algorithm_4", "langevin", "ideal")  # of states that only dyna_td_frozen samples
DYNA_AGENTS = tuple(name for name, agent in AGENTS.items() if agent.dyna)
FREQUENCY_AGENTS = tuple(name for name, agent in AGENTS.items() if agent.path == _FREQUENCY)


def is_supervised(environment: str) -> bool:
    """Whether `environment` is the supervised task, where a step is a mini-batch update."""
    return environment == SUPERVISED_TASK


def has_twin(environment: str) -> bool:
    """Whether `environment` has a TensorFlow twin, which gives it a true model."""
    return environment in TWIN_ENVIRONMENTS


def has_box_actions(environment: str) -> bool:
    """Whether the actions of `environment` are vectors, for DDPG; the others are discrete.

    Raises:
      UserError: see `require_environment`.
    """
    if environment in ENVIRONMENTS:
        return environment in _BOX_ENVIRONMENTS
    import envs  # imported late, because Gymnasium takes a moment and known environments do not need it

    look_in_working_directory()
    try:
        return envs.has_box_actions(environment)
    except envs.UnusableEnvironment as error:
        raise UserError(str(error)) from error


def look_in_working_directory() -> None:
    """Lets imports find the user's own modules in the working directory, after all others."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())


def settings_type(environment: str, agent: str) -> type[Settings]:
    """The dataclass of the settings that `agent` has on `environment`, with the agent's own defaults."""
    return RegressionSettings if is_supervised(environment) else _settings_type(agent, has_box_actions(environment))


made_settings_types: dict[str, dict[bool, type[ControlSettings]]] = {}  # by agent, and whether actions are vectors


def _settings_type(agent: str, box_actions: bool) -> type[ControlSettings]:
    known = made_settings_types.setdefault(agent, {})
    if box_actions not in known:
        known[box_actions] = _make_settings_type(agent, box_actions)
    return known[box_actions]


def _make_settings_type(agent: str, box_actions: bool) -> type[ControlSettings]:
    declared = AGENTS[agent]
    kinds = (DDPGSettings, DDPGDynaSettings) if box_actions else (DQNSettings, DynaSettings)
    kind = kinds[declared.dyna]
    if not declared.numbers:
        return kind
    own = {}
    for name, value in declared.numbers.items():
        if not isinstance(value, Field):
            if name not in kind.__dataclass_fields__:
                continue  # a default that only the other kind of actions has
            shared = kind.__dataclass_fields__[name]
            value = field(default=value, metadata=shared.metadata)
        own[name] = (name, type(value.default), number(value.default, **value.metadata))
    made: Any = make_dataclass(kind.__name__, own.values(), bases=(kind,), frozen=True)
    made.__reduce__ = lambda settings: (_rebuilt, (agent, box_actions, dict(vars(settings))))  # pickles
    return made


def _rebuilt(agent: str, box_actions: bool, numbers: dict) -> ControlSettings:
    return _settings_type(agent, box_actions)(**numbers)


def agents_on(environment: str) -> list[str]:
    """The names of the learners or agents that train on `environment`."""
    if is_supervised(environment):
        return list(LEARNERS)
    here = ("any", environment) if has_box_actions(environment) else ("any", "discrete", environment)
    return [name for name, agent in AGENTS.items() if agent.on in here]


def require_environment(environment: Any) -> str:
    """Returns `environment` if it can be trained on: one of `ENVIRONMENTS`, or any that Gymnasium can make.

    Raises:
      UserError: for an unknown environment, or one with observations or actions that no agent can handle.
    """
    if environment not in ENVIRONMENTS:
        if str(environment).lower() == SUPERVISED_TASK:
            raise UserError(f"unknown environment {environment!r}: did you mean {SUPERVISED_TASK!r}?")
        has_box_actions(environment)
    return environment


def require_agent(agent: object, environment: str) -> str:
    """Returns `agent` if it can be trained on `environment`.

    Raises:
      UserError: for an unknown agent, or one that belongs to another kind of environment.
    """
    if isinstance(agent, str) and ":" in agent and agent not in AGENTS:
        from dyna_td.pipeline import own_code

        own_code.adopt(agent)
    here = agents_on(environment)
    if agent in LEARNERS | AGENTS and agent not in here:
        raise UserError(f"agent {agent!r} does not train on {environment}: choose one of {', '.join(here)}.")
    return require_choice(agent, here, "agent")


def all_settings() -> dict[str, str]:
    """Every setting's meaning by its name, the most general first: for `--help`."""
    kinds: list[type[Settings | SearchControlSettings]] = [DQNSettings, SearchControlSettings, RegressionSettings]
    kinds += [DDPGSettings, *(_settings_type(agent, box_actions=False) for agent in AGENTS)]
    meanings: dict[str, str] = {}
    for setting in (setting for kind in kinds for setting in fields(kind)):
        meanings.setdefault(setting.name, setting.metadata["meaning"])
    return meanings


def program_of(run: Run) -> str:
    """The program that trains `run`, as "module:class"."""
    if is_supervised(run.environment):
        return "dyna_td.training.regression_program:RegressionProgram"
    if run.agent == "dyna_td_frozen":
        return "dyna_td.training.frozen_program:FrozenProgram"
    if has_twin(run.environment):
        return "dyna_td.training.twin_program:TwinProgram"
    return "dyna_td.training.gym_program:GymProgram"


def learner_of(settings: ControlSettings) -> str:
    """The learner of action values, as "module:class": DDPG for action vectors, DQN for discrete actions."""
    return f"dyna_td.learning.{'ddpg:DDPG' if isinstance(settings, DDPGSettings) else 'q_learning:DQN'}"


def twin_of(environment: str) -> str:
    """The twin of an environment, as "module:class"."""
    return f"envs.twins:{environment.partition('-')[0]}Twin"


def entries_of(run: Run) -> tuple[str, ...]:
    """The names, as "module:name", that training `run` loads; all code behind its numbers is reached from them."""
    common = (program_of(run),)
    if is_supervised(run.environment):
        return (*common, LEARNERS[run.agent])
    agent = (*common, *with_source(AGENTS[run.agent].path), learner_of(run.settings))
    if has_twin(run.environment):
        return (*agent, twin_of(run.environment))
    return (*agent, "envs.roundabout:Roundabout") if run.environment == ROUNDABOUT else agent


def with_source(path: str) -> tuple[str, ...]:
    """The path of an agent's class, or nothing if the class stands in a notebook."""
    return () if path.startswith("__main__:") and not hasattr(sys.modules["__main__"], "__file__") else (path,)


def load(path: str) -> Any:
    """The class that "module:class" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
