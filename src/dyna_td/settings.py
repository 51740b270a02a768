"""What a run is: an environment, an agent and its settings, trained with all of its seeds in one job.

Nothing here imports TensorFlow, so the pipeline can plan in milliseconds. Every default below is the paper's main
setting; `paper` marks what the paper states and `code` what only the released code says (README, deviations table).
"""

from dataclasses import dataclass, field, fields, replace
from typing import ClassVar

from dyna_td.errors import UserError


@dataclass(frozen=True)
class RegressionSettings:
    """The supervised task of Section 3.3 (figures 1, 9, 10, 11)."""

    always_named: ClassVar[tuple[str, ...]] = ("examples", "noise", "batch_size")  # in a run's name, whatever the value

    examples: int = 4000  # |T|, paper
    noise: float = 0.5  # sigma of the training targets, paper
    batch_size: int = 128  # code
    learning_rate: float = 1.0e-3  # Adam's step size; the paper sweeps it
    hidden: tuple[int, ...] = (32, 32)  # tanh units, paper


@dataclass(frozen=True)
class ControlSettings:
    """What every control agent has, whatever its actions; the defaults are deep Q-learning's."""

    always_named: ClassVar[tuple[str, ...]] = ("planning_updates",)

    planning_updates: int = 10  # n, mini-batch updates after each environment step, paper
    learning_rate: float = 1.0e-3  # Adam's step size; the paper sweeps {1e-3, 1e-4}
    batch_size: int = 32  # b, paper
    hidden: tuple[int, ...] = (32, 32)  # units, paper
    activation: str = "relu"  # of the hidden units, paper
    buffer_capacity: int = 50_000  # transitions in the ER buffer, paper
    warm_up_steps: int = 5_000  # random environment steps before learning starts, paper
    discount: float = 0.99  # gamma, code


@dataclass(frozen=True)
class DQNSettings(ControlSettings):
    """Deep Q-learning on discrete actions (paper, appendix "Common settings")."""

    exploration: float = 0.1  # epsilon of the behaviour policy, paper
    evaluation_exploration: float = 0.05  # epsilon of the evaluated policy, code
    target_period: int = 1_000  # tau, parameter updates between two copies of the target network, paper


@dataclass(frozen=True)
class DDPGSettings(ControlSettings):
    """DDPG on actions that are vectors (paper, appendix "Environment-specific settings", MuJoCo)."""

    planning_updates: int = 5  # code
    learning_rate: float = 1.0e-3  # of the critic, code
    batch_size: int = 64  # paper
    hidden: tuple[int, ...] = (200, 100)  # of actor and critic, whose action joins at the second layer, paper and code
    buffer_capacity: int = 1_000_000  # code
    warm_up_steps: int = 10_000  # code
    actor_learning_rate: float = 1.0e-4  # code
    target_rate: float = 1.0e-3  # share of the online networks that the target networks take over at each update, code
    noise_scale: float = 0.2  # standard deviation of the exploration noise's innovations, code
    noise_decay: float = 0.15  # share of itself that the noise loses at each step, code
    evaluation_episodes: int = 2  # whose mean is reported; the released code takes the better one


@dataclass(frozen=True)
class SearchControlSettings:
    """What HC-Dyna (Algorithms 1, 3 and 4) has beside: the numbers of search control and of the model."""

    model: str = "true"  # whose transitions complete the states of search control: true or learned
    search_control: str = "released"  # rule of a chain step: released, algorithm_4 or langevin
    mixing_rate: float = 0.5  # rho, share of a mini-batch that comes from the search-control queue, paper
    states_per_fill: int = 20  # m, states that search control fetches at once, paper
    chain_steps: int = 100  # k_b, steps of the chain at most, paper (code: 200)
    full_chains: bool = False  # whether a chain makes all its steps and its last m states count, not its first m
    search_every: int = 1  # environment steps from one fill to the next, paper
    queue_capacity: int = 1_000_000  # states in the search-control queue, code
    model_hidden: tuple[int, ...] = (64, 64)  # ReLU units of a learned model, paper
    model_learning_rate: float = 1.0e-4  # its Adam's step size, paper
    model_batch_size: int = 128  # transitions in its mini-batch, paper
    model_start: int = 5_000  # environment steps before a learned model is used, code


@dataclass(frozen=True)
class DynaSettings(SearchControlSettings, DQNSettings):
    """HC-Dyna over deep Q-learning."""


@dataclass(frozen=True)
class DynaTDLongSettings(DynaSettings):
    """Dyna-TD-Long, whose chains are long enough to become stationary before their states count."""

    chain_steps: int = 1_000  # paper, Section 4.2
    full_chains: bool = True  # our choice: a chain that ends with its m-th state would be no longer than Dyna-TD's


@dataclass(frozen=True)
class DynaFrequencySettings(DynaSettings):
    """Dyna-Frequency, whose criterion needs activations with higher derivatives."""

    activation: str = "tanh"  # paper, appendix


@dataclass(frozen=True)
class IdealStatesSettings(DynaSettings):
    """States drawn from p* itself: many in a fill, because p* is too dear for every step, and soon forgotten."""

    states_per_fill: int = 1_000
    search_every: int = 10
    queue_capacity: int = 5_000  # five fills; p* is measured with 3,000 draws, which need about as many states


@dataclass(frozen=True)
class FrozenSettings(DynaSettings):
    """Dyna-TD with a learned model, whose Q is measured when training ends."""

    model: str = "learned"  # Theorem 3 holds it against the true one
    probe_steps: int = 5_000  # steps of each long chain that count

    def __post_init__(self):
        """Refuses the true model."""
        if self.model != "learned":
            raise UserError(f"model is {self.model}, but dyna_td_frozen measures a learned one: leave it out.")


@dataclass(frozen=True)
class ChainNoiseSettings(DynaSettings):
    """Dyna-TD with the noise of its chains open."""

    chain_noise: float = 1.0  # times the noise of the chain's rule


@dataclass(frozen=True)
class AcceptanceSettings(DynaSettings):
    """Dyna-TD with the distance open at which a state is accepted."""

    acceptance: float = 0.1  # epsilon_accept, from the last accepted state, divided by sqrt(d); paper, appendix


@dataclass(frozen=True)
class PriorityExponentSettings(DQNSettings):
    """PrioritizedER with the exponent of its priorities open."""

    priority_exponent: float = 1.0  # of |delta|, paper


@dataclass(frozen=True)
class DDPGDynaSettings(SearchControlSettings, DDPGSettings):
    """HC-Dyna over DDPG (paper, appendix "Environment-specific settings", MuJoCo)."""

    model: str = "learned"  # paper; there are no true ones
    mixing_rate: float = 0.25  # 16 of 64, paper
    states_per_fill: int = 100  # paper
    chain_steps: int = 500  # paper
    search_every: int = 50  # paper
    model_hidden: tuple[int, ...] = (200, 200)  # paper
    model_start: int = 10_000  # paper
    model_stop: int = 0  # 0 for never; code: by default after 1,000,000, in its one MuJoCo configuration after 100,000
    clip_to_box: bool = False  # whether a learned model's s' is kept to the box that chains keep to; code


@dataclass(frozen=True)
class DDPGChainNoiseSettings(DDPGDynaSettings):
    """The same with the noise of its chains open."""

    chain_noise: float = 1.0  # times the noise of the chain's rule (code's MuJoCo configuration: 0.2)


@dataclass(frozen=True)
class DDPGAcceptanceSettings(DDPGDynaSettings):
    """The same with the distance open at which a state is accepted."""

    acceptance: float = 0.1  # see `AcceptanceSettings`


Settings = RegressionSettings | ControlSettings

_EARLY = 10_000  # environment steps; unstated in the paper, our choice (README, deviations)

# The short words that stand for a setting in a run's name; a setting without one is spelled out.
_SHORT_NAMES = {
    "examples": "t",
    "noise": "sigma",
    "batch_size": "b",
    "planning_updates": "n",
    "learning_rate": "lr",
    "hidden": "net",
    "activation": "",
    "buffer_capacity": "buffer",
    "model": "",
    "search_control": "",
    "mixing_rate": "rho",
    "states_per_fill": "m",
    "chain_steps": "chain",
    "queue_capacity": "queue",
    "evaluation_episodes": "episodes",
}


@dataclass(frozen=True)
class Run:
    """One job of the pipeline.

    Attributes:
      environment: `sin` (the supervised task), `GridWorld`, `MazeGridWorld` or a Gymnasium id.
      agent: a learner or agent by name (`l2`, `er`, `dyna_td`, ...).
      settings: the agent's numbers.
      seeds: trained side by side in one program; a seed's numbers do not depend on its neighbours.
      steps: environment steps, or mini-batch updates of the supervised task.
      evaluate_every: steps between two evaluations; there is one at step 0 and one at the last step.
      sweep: the learning rates to choose from on other seeds, or empty if `settings.learning_rate` is fixed.
    """

    environment: str
    agent: str
    settings: Settings
    seeds: tuple[int, ...]
    steps: int
    evaluate_every: int = 500
    sweep: tuple[float, ...] = field(default=())

    @property
    def name(self) -> str:
        """`environment/agent/settings`, in words, e.g. `GridWorld/er/n10-lr0.001`.

        A setting that differs from its default is always part of the name, so different settings have different names.
        """
        words = []
        for setting in fields(self.settings):
            value = getattr(self.settings, setting.name)
            if setting.name == "learning_rate":
                if self.sweep:
                    words.append("lrselected")
                    continue
            elif value == setting.default and setting.name not in self.settings.always_named:
                continue
            word = _SHORT_NAMES.get(setting.name, setting.name.replace("_", ""))
            words.append(word + "x".join(str(part) for part in _as_tuple(value)))
        return f"{self.environment}/{self.agent}/{'-'.join(words)}"

    @property
    def seed_updates(self) -> int:
        """Parameter updates of all seeds together."""
        if isinstance(self.settings, RegressionSettings):
            return self.steps * len(self.seeds)
        learning_steps = max(0, self.steps - self.settings.warm_up_steps)
        return learning_steps * self.settings.planning_updates * len(self.seeds)

    @property
    def moments(self) -> dict[str, int]:
        """The evaluations, by name, at which sampled states are kept: early in learning (figure 2), late (figure 5)."""
        early = -(-min(_EARLY, self.steps) // self.evaluate_every) * self.evaluate_every
        return {"early": min(early, self.steps), "late": self.steps}

    def with_learning_rate(self, learning_rate: float) -> "Run":
        """The same run with its learning rate fixed."""
        return replace(self, settings=replace(self.settings, learning_rate=learning_rate), sweep=())


def _as_tuple(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)
