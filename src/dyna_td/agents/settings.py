"""The settings of single agents: an agent that is not here has those of its learner, with or without search control."""

from dataclasses import dataclass

from dyna_td.settings import DDPGSettings, DQNSettings, DynaSettings, number, other_default

MOST_EXPONENT = 2  # exponent of a priority: larger ones leave float32 before the squared loss of the same TD error does


@dataclass(frozen=True)
class _Prioritized:
    priority_exponent: float = number(1.0, "exponent of the priorities |delta|", "paper", 0, MOST_EXPONENT)


@dataclass(frozen=True)
class PrioritizedSettings(_Prioritized, DQNSettings):
    """Of PrioritizedER and FullPrioritizedER."""


@dataclass(frozen=True)
class DDPGPrioritizedSettings(_Prioritized, DDPGSettings):
    """Of PrioritizedER on action vectors."""


@dataclass(frozen=True)
class _Schaul:
    priority_exponent: float = number(
        0.6, "exponent of the priorities |delta|", "Schaul et al., Table 3", 0, MOST_EXPONENT
    )


@dataclass(frozen=True)
class SchaulSettings(_Schaul, DQNSettings):
    """Of SchaulPrioritizedER."""


@dataclass(frozen=True)
class DDPGSchaulSettings(_Schaul, DDPGSettings):
    """Of SchaulPrioritizedER on action vectors."""


@dataclass(frozen=True)
class _LAP:
    priority_exponent: float = number(
        0.4, "exponent of LAP's priorities max(|delta|, 1)", "Fujimoto et al.", 0, MOST_EXPONENT
    )


@dataclass(frozen=True)
class LAPSettings(_LAP, DQNSettings):
    """Of LAP and PAL; as in their TD3. On Atari their exponent is 0.6, and Huber's loss 0.01 wide."""


@dataclass(frozen=True)
class DDPGLAPSettings(_LAP, DDPGSettings):
    """Of LAP and PAL on action vectors."""


@dataclass(frozen=True)
class _LaBER:
    large_batch: int = number(4, "size of the uniform batch, in mini-batches", "Lahire et al.", 1, 99)
    importance_weights: bool = number(
        True, "True: importance weights give ER's gradient in expectation", "Lahire et al."
    )


@dataclass(frozen=True)
class LaBERSettings(_LaBER, DQNSettings):
    """Of LaBER."""


@dataclass(frozen=True)
class DDPGLaBERSettings(_LaBER, DDPGSettings):
    """Of LaBER on action vectors."""


@dataclass(frozen=True)
class LongChainSettings(DynaSettings):
    """Of Dyna-TD whose chains become stationary before their states count (paper, Section 4.2)."""

    chain_steps: int = other_default(DynaSettings, "chain_steps", 1_000)
    full_chains: bool = other_default(DynaSettings, "full_chains", True)


@dataclass(frozen=True)
class FrequencySettings(DynaSettings):
    """Of Dyna-Frequency: tanh for higher derivatives (paper), and its chains' step size (code)."""

    activation: str = other_default(DynaSettings, "activation", "tanh")
    step_size: float = other_default(DynaSettings, "step_size", 0.01)


@dataclass(frozen=True)
class IdealStatesSettings(DynaSettings):
    """Of the ablation `IdealStates`: p* is too costly for every step and soon outdated.

    So a fill has many states, and the queue holds five fills.
    """

    states_per_fill: int = other_default(DynaSettings, "states_per_fill", 1_000)
    search_every: int = other_default(DynaSettings, "search_every", 10)
    queue_capacity: int = other_default(DynaSettings, "queue_capacity", 5_000)


@dataclass(frozen=True)
class FrozenSettings(DynaSettings):
    """Of Dyna-TD with measurements on its last Q, by its learned model."""

    model: str = number("learned", "model that completes the states of search control", "ours", choices=("learned",))
    probe_steps: int = number(5_000, "steps of a chain on the last Q", "ours", 100, 1e6)
    probe: str = number(
        "rules",
        "what is measured on the last Q: chains of each rule, gradients and Theorem 3, or chains that mix",
        "ours",
        choices=("rules", "long_chains"),
    )


@dataclass(frozen=True)
class _WarmUp:
    warm_up_goal: str = number(
        "hidden",
        "what the warm-up shows of the goal: hidden, shown (one scripted episode), last (its last transition), walk (a "
        "random walk that reached it) or natural",
        "ours",
        choices=("hidden", "shown", "last", "walk", "natural"),
    )


@dataclass(frozen=True)
class WarmUpSettings(_WarmUp, DQNSettings):
    """Of ER with another warm-up."""


@dataclass(frozen=True)
class PrioritizedWarmUpSettings(_Prioritized, WarmUpSettings):
    """Of PrioritizedER with another warm-up."""


@dataclass(frozen=True)
class DynaWarmUpSettings(_WarmUp, DynaSettings):
    """Of a Dyna agent with another warm-up."""

    termination: str = number(
        "known", "termination rule of search control: known or learned", "ours", choices=("known", "learned")
    )
