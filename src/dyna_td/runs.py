"""What a run is: an environment, an agent and its settings, trained with all of its seeds in one job.

Nothing here imports TensorFlow, so the pipeline can plan in milliseconds. Every default below is the paper's main
setting; `paper` marks what the paper states and `code` what only the released code says (README, deviations table).
"""

from dataclasses import dataclass, field, fields, replace


@dataclass(frozen=True)
class RegressionSettings:
    """The supervised task of Section 3.3 (figures 1, 9, 10, 11)."""

    examples: int = 4000  # |T|, paper
    noise: float = 0.5  # sigma of the training targets, paper
    batch_size: int = 128  # code
    learning_rate: float = 1.0e-3  # Adam's step size; the paper sweeps it
    hidden: tuple[int, ...] = (32, 32)  # tanh units, paper


@dataclass(frozen=True)
class ControlSettings:
    """Deep Q-learning on discrete actions (paper, appendix "Common settings")."""

    planning_updates: int = 10  # n, mini-batch updates after each environment step, paper
    learning_rate: float = 1.0e-3  # Adam's step size; the paper sweeps {1e-3, 1e-4}
    batch_size: int = 32  # b, paper
    hidden: tuple[int, ...] = (32, 32)  # ReLU units, paper
    buffer_capacity: int = 50_000  # transitions in the ER buffer, paper
    warm_up_steps: int = 5_000  # random environment steps before learning starts, paper
    exploration: float = 0.1  # epsilon of the behaviour policy, paper
    evaluation_exploration: float = 0.05  # epsilon of the evaluated policy, code
    discount: float = 0.99  # gamma, code
    target_period: int = 1_000  # tau, parameter updates between two copies of the target network, paper


Settings = RegressionSettings | ControlSettings

# The short words that stand for a setting in a run's name; a setting without one is spelled out.
_SHORT_NAMES = {
    "examples": "t",
    "noise": "sigma",
    "batch_size": "b",
    "planning_updates": "n",
    "learning_rate": "lr",
    "hidden": "net",
    "buffer_capacity": "buffer",
}
# Settings that every name shows, whatever their value.
_ALWAYS_NAMED = {
    RegressionSettings: ("examples", "noise", "batch_size"),
    ControlSettings: ("planning_updates",),
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
            elif value == setting.default and setting.name not in _ALWAYS_NAMED[type(self.settings)]:
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

    def with_learning_rate(self, learning_rate: float) -> "Run":
        """The same run with its learning rate fixed."""
        return replace(self, settings=replace(self.settings, learning_rate=learning_rate), sweep=())


def _as_tuple(value: object) -> tuple:
    return value if isinstance(value, tuple) else (value,)
