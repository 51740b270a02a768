"""Agents and environments by name, for experiments and the command line.

An agent is one entry of `AGENTS`. Classes are named as "module:class", so planning imports no TensorFlow.
"""

import contextlib
import functools
import importlib
import os
import sys
from dataclasses import dataclass, fields
from typing import Any

from dyna_td import envs
from dyna_td.agents import settings as own
from dyna_td.envs.grid_world import Dials
from dyna_td.errors import UserError
from dyna_td.runs.run import Run
from dyna_td.settings import (
    ControlSettings,
    DDPGDynaSettings,
    DDPGSettings,
    DQNSettings,
    DynaSettings,
    RegressionSettings,
    SearchControlSettings,
    Settings,
)

SUPERVISED_TASK = "sin"
ROUNDABOUT = "roundabout-paper-v0"
# These and variants of GridWorld have a TensorFlow twin, a true model, and train in one program; others step Gymnasium.
TWIN_ENVIRONMENTS = tuple(name for name, known in envs.KNOWN.items() if known.twin)
ENVIRONMENTS = (SUPERVISED_TASK, *envs.KNOWN)
SAMPLED_ENVIRONMENT = "GridWorld"  # its sampling distributions are measured at every evaluation (Section 4.2)


@dataclass(frozen=True)
class Agent:
    """An agent for control, or a learner of the supervised task.

    Attributes:
      path: its class, as "module:class".
      own: the settings of its own, a dataclass that may also give others another default.
      kinds: the settings that it shares, on discrete actions and, if it trains there, on vectors.
      on: the only environment on which it trains; empty: any but the supervised task.
      label: its name in pages and pictures; by default its key in `AGENTS`.
      climbs_frequency: whether it counts the chains that climb the frequency.
      has_chains: whether its search control, if any, runs chains.
      measures_last_q: whether its training ends with measurements on Q (claims 45 to 47).
      anneals: whether its numbers depend on the run's length from the first step on.
    """

    path: str
    own: Any = None
    kinds: tuple[type[Settings], ...] = (DQNSettings,)
    on: str = ""
    label: str = ""
    climbs_frequency: bool = False
    has_chains: bool = True
    measures_last_q: bool = False
    anneals: bool = False

    @functools.cached_property
    def settings(self) -> type[Settings]:
        """The type of its settings on discrete actions."""
        return _composed(self.own, self.kinds[0])

    @functools.cached_property
    def box_settings(self) -> type[Settings] | None:
        """Their type where actions are vectors; None: it trains on discrete actions alone."""
        return _composed(self.own, self.kinds[1]) if len(self.kinds) > 1 else None

    @property
    def dyna(self) -> bool:
        """Whether it has search control."""
        return issubclass(self.settings, SearchControlSettings)


def _composed(own: Any, kind: type[Settings]) -> type[Settings]:
    """The dataclass of all settings of `kind` and of `own`, unless one has them already."""
    if own is None or issubclass(kind, own):
        return kind
    if issubclass(own, kind):
        return own
    return dataclass(frozen=True)(type(own.__name__, (own, kind), {"__doc__": own.__doc__}))


_without_chains = functools.partial(Agent, has_chains=False)
_learner = functools.partial(Agent, kinds=(RegressionSettings,), on=SUPERVISED_TASK)
_BOTH = (DQNSettings, DDPGSettings)
_DYNA = (DynaSettings,)
DYNA_KINDS = (DynaSettings, DDPGDynaSettings)

AGENTS = {
    "er": Agent("dyna_td.agents.er:ER", kinds=_BOTH, label="ER"),
    "prioritized_er": Agent(
        "dyna_td.agents.prioritized_er:PrioritizedER", own.PrioritizedSettings, _BOTH, label="PrioritizedER"
    ),
    "schaul_prioritized_er": Agent(
        "dyna_td.agents.schaul_prioritized_er:SchaulPrioritizedER",
        own.SchaulSettings,
        _BOTH,
        label="Schaul's PER",
        anneals=True,
    ),
    "laber": Agent("dyna_td.agents.laber:LaBER", own.LaBERSettings, _BOTH, label="LaBER"),
    "lap": Agent("dyna_td.agents.lap:LAP", own.LAPSettings, _BOTH, label="LAP"),
    "pal": Agent("dyna_td.agents.pal:PAL", own.LAPSettings, _BOTH, label="PAL"),
    "full_prioritized_er": Agent(
        "dyna_td.agents.full_prioritized_er:FullPrioritizedER", own.PrioritizedSettings, label="Full-PrioritizedER"
    ),
    "dyna_td": Agent("dyna_td.agents.dyna_td:DynaTD", kinds=DYNA_KINDS, label="Dyna-TD"),
    "dyna_td_long": Agent("dyna_td.agents.dyna_td:DynaTD", own.LongChainSettings, _DYNA, label="Dyna-TD-Long"),
    "dyna_value": Agent("dyna_td.agents.dyna_value:DynaValue", kinds=DYNA_KINDS, label="Dyna-Value"),
    "dyna_frequency": Agent(
        "dyna_td.agents.dyna_frequency:DynaFrequency",
        own.FrequencySettings,
        _DYNA,
        climbs_frequency=True,
        label="Dyna-Frequency",
    ),
    # Ablations; the paper has none of these.
    "descend_td": Agent("dyna_td.agents.ablations:DescendTD", kinds=_DYNA, label="descend the TD error"),
    "moving_target": Agent("dyna_td.agents.ablations:MovingTarget", kinds=_DYNA, label="y not constant"),
    "random_sign": Agent("dyna_td.agents.ablations:RandomSign", kinds=_DYNA, label="random sign"),
    "descend_value": Agent("dyna_td.agents.ablations:DescendValue", kinds=_DYNA, label="descend V"),
    "random_sign_each_step": Agent(
        "dyna_td.agents.ablations:RandomSignEachStep", kinds=_DYNA, label="random sign, each step"
    ),
    "random_direction": Agent("dyna_td.agents.ablations:RandomDirection", kinds=_DYNA, label="random direction"),
    "noise_only": Agent("dyna_td.agents.ablations:NoiseOnly", kinds=_DYNA, label="noise only"),
    "uniform_states": _without_chains("dyna_td.agents.ablations:UniformStates", kinds=_DYNA, label="uniform states"),
    "replayed_states": _without_chains(
        "dyna_td.agents.ablations:ReplayedStates", kinds=DYNA_KINDS, label="states of ER"
    ),
    "ideal_states": _without_chains(
        "dyna_td.agents.ablations:IdealStates",
        own.IdealStatesSettings,
        _DYNA,
        on=SAMPLED_ENVIRONMENT,
        label="states from p*",
    ),
    "cubic_dqn": Agent("dyna_td.agents.ablations:CubicDQN", label="ER, cubic loss"),
    "mixed_dqn": Agent("dyna_td.agents.ablations:MixedDQN", label="ER, mixed loss"),
    "huber_dqn": Agent("dyna_td.agents.ablations:HuberDQN", label="ER, Huber's loss"),
    # Ablations of what the warm-up, or the model, shows of the goal.
    "er_warm_up": Agent("dyna_td.agents.warm_up:ERWarmUp", own.WarmUpSettings),
    "prioritized_er_warm_up": Agent("dyna_td.agents.warm_up:PrioritizedERWarmUp", own.PrioritizedWarmUpSettings),
    "dyna_td_warm_up": Agent("dyna_td.agents.warm_up:DynaTDWarmUp", own.DynaWarmUpSettings, _DYNA),
    "uniform_states_warm_up": _without_chains(
        "dyna_td.agents.warm_up:UniformStatesWarmUp", own.DynaWarmUpSettings, _DYNA
    ),
    # Measurements on the last Q.
    "dyna_td_frozen": Agent(
        "dyna_td.agents.dyna_td:DynaTD", own.FrozenSettings, _DYNA, on=SAMPLED_ENVIRONMENT, measures_last_q=True
    ),
    # The supervised task's learners (Section 3.3). `cubic` is scaled as in Theorem 1, figure 9's `plain_cubic` is not.
    "l2": _learner("dyna_td.learning.regression:L2", label="L2"),
    "prioritized_l2": _learner("dyna_td.learning.regression:PrioritizedL2", label="PrioritizedL2"),
    "full_prioritized_l2": _learner("dyna_td.learning.regression:FullPrioritizedL2", label="Full-PrioritizedL2"),
    "cubic": _learner("dyna_td.learning.regression:Cubic", label="Cubic"),
    "plain_cubic": _learner("dyna_td.learning.regression:PlainCubic"),
    "power4": _learner("dyna_td.learning.regression:Power4", label="Power4"),
}
LEARNED = ", learned model"  # follows an agent's label where the model is not the true one
FROZEN_AGENTS = tuple(name for name, agent in AGENTS.items() if agent.measures_last_q)


def is_supervised(environment: str) -> bool:
    """Whether `environment` is the supervised task, where a step is a mini-batch update."""
    return environment == SUPERVISED_TASK


def has_twin(environment: str) -> bool:
    """Whether `environment` has a TensorFlow twin, which gives it a true model; variants of GridWorld have one."""
    if environment in TWIN_ENVIRONMENTS:
        return True
    try:
        return bool(Dials.of(environment))
    except ValueError:
        return False


def task(environment: str) -> str:
    """A known environment without its variant and version, such as MountainCar; any other id as it is."""
    is_known = environment in envs.KNOWN or has_twin(environment)
    return environment.partition("-")[0] if is_known else environment


def has_box_actions(environment: str) -> bool:
    """Whether the actions of `environment` are vectors, for DDPG; the others are discrete.

    Raises:
      UserError: for an environment that Gymnasium cannot make, or one that no agent can handle.
    """
    if environment in ENVIRONMENTS:
        return environment in envs.KNOWN and envs.KNOWN[environment].has_box_actions  # the supervised task has none
    look_in_working_directory()
    try:
        with contextlib.chdir("."):  # an environment may change the folder; this returns to it
            return envs.has_box_actions(environment)
    except envs.UnusableEnvironment as error:
        raise UserError(str(error)) from error


def look_in_working_directory() -> None:
    """Lets imports find the user's own modules in the working directory, after all others."""
    if not {"", os.getcwd()} & set(sys.path):
        sys.path.append(os.getcwd())


def settings_type(environment: str, agent: str) -> type[Settings]:
    """The dataclass of the settings that `agent`, one of `agents_on(environment)`, has there."""
    declared = AGENTS[agent]
    kind = declared.box_settings if has_box_actions(environment) else declared.settings
    assert kind, f"{agent} does not train on {environment}"
    return kind


def agents_on(environment: str) -> list[str]:
    """The names of the learners or agents that train on `environment`; raises UserError as `has_box_actions`."""
    box = has_box_actions(environment)
    on = (environment,) if is_supervised(environment) else ("", environment)
    return [name for name, agent in AGENTS.items() if (agent.box_settings or not box) and agent.on in on]


def all_settings() -> dict[str, str]:
    """Every setting's meaning by its name, the most general first: for `--help`."""
    kinds: list[type[Settings | SearchControlSettings]] = [DQNSettings, SearchControlSettings, RegressionSettings]
    kinds += [DDPGSettings, *(agent.settings for agent in AGENTS.values())]
    meanings: dict[str, str] = {}
    for setting in (setting for kind in kinds for setting in fields(kind)):
        meanings.setdefault(setting.name, setting.metadata["meaning"])
    return meanings


def program_of(run: Run) -> str:
    """The program that trains `run`, as "module:class"."""
    if is_supervised(run.environment):
        return "dyna_td.programs.regression:RegressionProgram"
    if AGENTS[run.agent].measures_last_q:
        return "dyna_td.programs.frozen:FrozenProgram"
    if has_twin(run.environment):
        return "dyna_td.programs.twin:TwinProgram"
    return "dyna_td.programs.gym:GymProgram"


def learner_of(settings: ControlSettings) -> str:
    """The learner of action values, as "module:class": DDPG for action vectors, DQN for discrete actions."""
    return f"dyna_td.learning.{'ddpg:DDPG' if isinstance(settings, DDPGSettings) else 'q_learning:DQN'}"


def twin_of(environment: str) -> str:
    """The twin of an environment that `has_twin`, as "module:class"."""
    return f"dyna_td.envs.twins:{envs.KNOWN[environment if environment in envs.KNOWN else 'GridWorld'].twin}"


def entries_of(run: Run) -> tuple[str, ...]:
    """The names, as "module:name", that training `run` loads; all code behind its numbers is reached from them."""
    agent = (program_of(run), *with_source(AGENTS[run.agent].path))
    if is_supervised(run.environment):
        return agent
    agent = (*agent, learner_of(run.settings))
    if has_twin(run.environment):
        return (*agent, twin_of(run.environment))
    entry_point = envs.KNOWN[run.environment].entry_point if run.environment in envs.KNOWN else ""
    return (*agent, f"dyna_td.envs.{entry_point}") if entry_point else agent


def with_source(path: str) -> tuple[str, ...]:
    """The path of an agent's class, or nothing if the class is defined in a notebook."""
    return () if path.startswith("__main__:") and not hasattr(sys.modules["__main__"], "__file__") else (path,)


def load(path: str) -> Any:
    """The class that "module:class" names."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
