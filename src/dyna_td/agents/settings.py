"""Settings of single agents, which `registry` composes with those of their learner, with or without search control.

So an agent has them with deep Q-learning and with DDPG. Other agents have only their learner's.
"""

from dataclasses import dataclass

from dyna_td.settings import DynaSettings, number, other_default

MAX_EXPONENT = 2  # a priority's: with a larger one, priorities overflow float32 before squared TD errors do


@dataclass(frozen=True)
class PrioritizedSettings:
    """Settings of PrioritizedER and FullPrioritizedER."""

    priority_exponent: float = number(
        1.0, "alpha, exponent of the priorities |delta|; of LAP and PAL, of max(|delta|, 1)", "paper", 0, MAX_EXPONENT
    )


@dataclass(frozen=True)
class SchaulSettings:
    """Settings of SchaulPrioritizedER."""

    priority_exponent: float = number(
        0.6, "exponent of the priorities |delta|", "Schaul et al., Table 3", 0, MAX_EXPONENT
    )


@dataclass(frozen=True)
class LAPSettings:
    """Settings of LAP and PAL, as in the authors' TD3. On Atari they use exponent 0.6 and a Huber loss 0.01 wide."""

    priority_exponent: float = number(
        0.4, "exponent of LAP's priorities max(|delta|, 1)", "Fujimoto et al.", 0, MAX_EXPONENT
    )


@dataclass(frozen=True)
class LaBERSettings:
    """Settings of LaBER."""

    large_batch: int = number(4, "size of the uniform batch, in mini-batches", "Lahire et al.", 1, 99)
    importance_weights: bool = number(
        True, "True: importance weights give ER's gradient in expectation", "Lahire et al."
    )


@dataclass(frozen=True)
class LongChainSettings:
    """Settings of Dyna-TD with: chains of 1,000 steps, of which the last m accepted states count (Section 4.2)."""

    chain_steps: int = other_default(DynaSettings, "chain_steps", 1_000)
    full_chains: bool = other_default(DynaSettings, "full_chains", True)


@dataclass(frozen=True)
class FrequencySettings:
    """Settings of Dyna-Frequency: tanh, which has higher derivatives (paper), and the chains' step size (code)."""

    activation: str = other_default(DynaSettings, "activation", "tanh")
    step_size: float = other_default(DynaSettings, "step_size", 0.01)


@dataclass(frozen=True)
class IdealStatesSettings:
    """Settings of the ablation `IdealStates`: rare fills with many states, and a queue of five fills.

    p* is too costly to compute at every step, and soon outdated.
    """

    states_per_fill: int = other_default(DynaSettings, "states_per_fill", 1_000)
    search_every: int = other_default(DynaSettings, "search_every", 10)
    queue_capacity: int = other_default(DynaSettings, "queue_capacity", 5_000)


@dataclass(frozen=True)
class FrozenSettings:
    """Settings of Dyna-TD with measurements on its last Q, by its learned model."""

    model: str = number("learned", "model that completes the states of search control", "ours", choices=("learned",))
    probe_steps: int = number(5_000, "steps of a chain on the last Q", "ours", 100, 500_000)
    probe: str = number(
        "rules",
        "what is measured on the last Q: chains of each rule, gradients and Theorem 3, or chains that mix",
        "ours",
        choices=("rules", "long_chains"),
    )


@dataclass(frozen=True)
class WarmUpSettings:
    """Settings of an agent with another warm-up."""

    warm_up_goal: str = number(
        "hidden",
        "what the warm-up shows of the goal: hidden, shown (one scripted episode), last (its last transition), walk (a "
        "random walk that reached it) or natural (unchanged)",
        "ours",
        choices=("hidden", "shown", "last", "walk", "natural"),
    )


@dataclass(frozen=True)
class PrioritizedWarmUpSettings(PrioritizedSettings, WarmUpSettings):
    """Settings of PrioritizedER with another warm-up."""


@dataclass(frozen=True)
class DynaWarmUpSettings(WarmUpSettings):
    """Settings of a Dyna agent with another warm-up."""

    termination: str = number(
        "known", "termination rule of search control: known or learned", "ours", choices=("known", "learned")
    )
