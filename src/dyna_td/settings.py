"""Settings, each number once with its default, meaning and source.

Defaults are the paper's main settings. A source is `paper`, `code` (the released code, where the paper is silent) or
`ours`. Nothing here imports TensorFlow, so planning does not wait for it.
"""

import math
import reprlib
from dataclasses import Field, dataclass, field
from numbers import Real
from typing import Any, ClassVar

from dyna_td.errors import UserError

MAX_INT = 2**31 - 1
MAX_SEED = 999_999  # the largest seed
MAX_SEEDS = 1_000  # seeds of one job
MAX_STEPS = 60_000_000  # the random streams allow a few more
FROZEN_SOURCES = ("released", "algorithm_4", "langevin", "ideal")  # long chains on a frozen Q sample these states


def number(default, meaning: str, source: str, least: float = 0, most: float = MAX_INT, choices: tuple[str, ...] = ()):
    """A setting: its default, its meaning with the unit, its source, and its bounds (inclusive) or choices."""
    metadata = {"meaning": meaning, "source": source, "least": least, "most": most, "choices": choices}
    return field(default=default, metadata=metadata)


def other_default(kind: type[Any], name: str, default, source: str = "") -> Any:
    """The setting `name` of `kind` with another default, and perhaps source, for a type that extends it."""
    metadata = kind.__dataclass_fields__[name].metadata
    return field(default=default, metadata={**metadata, "source": source or metadata["source"]})


def checked(setting: Field, value: Any, name: str = "") -> Any:
    """`value` in the setting's type: 5e4 becomes a whole number, a list a tuple.

    Raises:
      UserError: for another type, or a value out of bounds.
    """
    default: Any = setting.default
    limits = setting.metadata
    if isinstance(default, tuple):
        is_good = isinstance(value, list | tuple) and 0 < len(value) <= 8
        is_good = is_good and all(is_whole(part) and 0 < part <= 10_000 for part in value)
        expected = "1 to 8 whole numbers up to 10000, as [32, 32] in a file and 32x32 as an option"
    elif isinstance(default, bool):
        is_good, expected = isinstance(value, bool), "true or false"
    elif isinstance(default, str):
        value = "true" if value is True else value  # YAML reads `model: true` as a boolean
        is_good, expected = value in limits["choices"], " or ".join(limits["choices"]) or "one of its choices"
    else:
        is_number = is_whole(value) if isinstance(default, int) else is_finite(value)
        is_good = is_number and limits["least"] <= value <= limits["most"]
        kind = "a whole number" if isinstance(default, int) else "a number"
        expected = f"{kind} from {limits['least']:g} to {limits['most']:.10g}"
    if not is_good:
        raise UserError(f"{name or setting.name} is {reprlib.repr(value)}, expected {expected}.")
    return tuple(map(int, value)) if isinstance(default, tuple) else type(default)(value)


def is_finite(value: Any) -> bool:
    """Whether `value` is a finite number; True is not."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def as_words(value: object) -> str:
    """The value of a setting as its option takes it: 32x32."""
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def is_whole(value: Any) -> bool:
    """Whether `value` is a whole number, such as 5 or 5e4; True is not."""
    return is_finite(value) and float(value).is_integer()


@dataclass(frozen=True)
class RegressionSettings:
    """The supervised task of Section 3.3 (figures 1, 9, 10, 11)."""

    always_named: ClassVar[tuple[str, ...]] = ("examples", "noise", "batch_size")  # in a run's name even by default

    examples: int = number(4000, "|T|, training examples of the supervised task", "paper", 1)
    noise: float = number(0.5, "sigma, standard deviation of the noise on the training targets", "paper", 0, 1_000)
    batch_size: int = number(128, "b, examples or transitions in a mini-batch", "code", 1)
    learning_rate: float = number(1.0e-3, "Adam's step size", "paper sweeps it", 1e-30, 1_000)
    hidden: tuple[int, ...] = number((32, 32), "units of the hidden layers, for example 32x32", "paper")


@dataclass(frozen=True)
class ControlSettings:
    """The settings of every control agent, on discrete actions or vectors."""

    always_named: ClassVar[tuple[str, ...]] = ("planning_updates",)

    planning_updates: int = number(10, "n, mini-batch updates after each environment step", "paper", 1, 4_000)
    learning_rate: float = number(1.0e-3, "Adam's step size", "paper sweeps 1e-3 and 1e-4", 1e-30, 1_000)
    batch_size: int = number(32, "b, examples or transitions in a mini-batch", "paper", 1)
    hidden: tuple[int, ...] = number((32, 32), "units of the hidden layers, for example 32x32", "paper")
    activation: str = number("relu", "activation of the hidden units: relu or tanh", "paper", choices=("relu", "tanh"))
    buffer_capacity: int = number(50_000, "transitions in the ER buffer", "paper", 1)
    warm_up_steps: int = number(5_000, "random environment steps before learning starts", "paper")
    discount: float = number(0.99, "gamma, per environment step", "code", 0, 1)


@dataclass(frozen=True)
class DQNSettings(ControlSettings):
    """Deep Q-learning on discrete actions (paper, appendix "Common settings")."""

    exploration: float = number(0.1, "epsilon of the behaviour policy", "paper", 0, 1)
    evaluation_exploration: float = number(0.05, "epsilon of the evaluated policy", "code", 0, 1)
    target_period: int = number(1_000, "tau, parameter updates between two copies to the target network", "paper", 1)


@dataclass(frozen=True)
class DDPGSettings(ControlSettings):
    """DDPG on action vectors (paper, appendix "Environment-specific settings", MuJoCo)."""

    planning_updates: int = other_default(ControlSettings, "planning_updates", 5, "code")
    learning_rate: float = number(1.0e-3, "the critic's Adam step size", "code", 1e-30, 1_000)
    batch_size: int = other_default(ControlSettings, "batch_size", 64)
    hidden: tuple[int, ...] = number((200, 100), "units; the critic's action joins at the second layer", "paper, code")
    buffer_capacity: int = other_default(ControlSettings, "buffer_capacity", 1_000_000, "code")
    warm_up_steps: int = other_default(ControlSettings, "warm_up_steps", 10_000, "code")
    actor_learning_rate: float = number(1.0e-4, "Adam's step size of DDPG's actor", "code", 1e-30, 1_000)
    target_rate: float = number(
        1.0e-3, "share of the networks that DDPG's targets take over at each update", "code", 0, 1
    )
    noise_scale: float = number(
        0.2, "standard deviation of the innovations of DDPG's exploration noise", "code", 0, 1_000
    )
    noise_decay: float = number(0.15, "share of itself that DDPG's exploration noise loses at each step", "code", 0, 1)
    evaluation_episodes: int = number(
        2, "episodes of one evaluation; their mean is reported", "ours; code: the better", 1, 100
    )


@dataclass(frozen=True)
class SearchControlSettings:
    """Search control and its model (Algorithms 1, 3 and 4), added to a learner's settings."""

    model: str = number(
        "true",
        "model that completes the states of search control: true, or learned (always so without a TensorFlow twin)",
        "paper",
        choices=("true", "learned"),
    )
    search_control: str = number(
        "released",
        "rule of a chain step: released, algorithm_4 or langevin",
        "code",
        choices=("released", "algorithm_4", "langevin"),
    )
    mixing_rate: float = number(0.5, "rho, share of a mini-batch from the search-control queue", "paper", 0, 1)
    states_per_fill: int = number(20, "m, states that search control fetches at once", "paper", 1, 1_000)
    chain_steps: int = number(100, "k_b, steps of a chain at most", "paper; code: 200", 1, 4_000)
    full_chains: bool = number(False, "True: a chain makes all its steps; its last m accepted states count", "ours")
    search_every: int = number(1, "environment steps from one fill to the next", "paper", 1)
    queue_capacity: int = number(1_000_000, "states in the search-control queue", "code", 1)
    model_hidden: tuple[int, ...] = number((64, 64), "ReLU units of a learned model's hidden layers", "paper")
    model_learning_rate: float = number(1.0e-4, "Adam's step size of a learned model", "paper", 1e-30, 1_000)
    model_batch_size: int = number(128, "transitions in a learned model's mini-batch", "paper", 1)
    model_start: int = number(5_000, "environment steps before a learned model is used", "code")
    model_stop: int = number(0, "environment steps after which a learned model and its search end; 0: never", "ours")
    clip_to_box: bool = number(False, "True: a learned model's s' stays in the box that chains search", "ours")
    step_size: float = number(
        0.0, "alpha_h, a chain's step size; 0: its rule's own, 0.1 or langevin's 0.001", "paper", 0, 1_000
    )
    chain_noise: float = number(1.0, "factor of the noise of a chain's rule", "ours; code on MuJoCo: 0.2", 0, 1_000)
    acceptance: float = number(
        0.0, "least distance / sqrt(d) from the last accepted state; 0: the mean move", "code", 0, 1_000
    )
    queue_goals: bool = number(False, "True: terminal states join the queue, as always with algorithm_4", "ours")


@dataclass(frozen=True)
class DynaSettings(SearchControlSettings, DQNSettings):
    """HC-Dyna over deep Q-learning."""


@dataclass(frozen=True)
class DDPGDynaSettings(SearchControlSettings, DDPGSettings):
    """HC-Dyna over DDPG (paper, appendix "Environment-specific settings", MuJoCo)."""

    model: str = other_default(SearchControlSettings, "model", "learned")
    mixing_rate: float = other_default(SearchControlSettings, "mixing_rate", 0.25, "paper: 16 of 64")
    states_per_fill: int = other_default(SearchControlSettings, "states_per_fill", 100)
    chain_steps: int = other_default(SearchControlSettings, "chain_steps", 500, "paper")
    search_every: int = other_default(SearchControlSettings, "search_every", 50)
    model_hidden: tuple[int, ...] = other_default(SearchControlSettings, "model_hidden", (200, 200))
    model_start: int = other_default(SearchControlSettings, "model_start", 10_000, "paper")


Settings = RegressionSettings | ControlSettings
