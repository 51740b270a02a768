"""A run: one training job of the pipeline, and its name."""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from dyna_td.settings import MAX_SEED, MAX_STEPS, RegressionSettings, as_words, is_finite, is_whole

EARLY = 10_000  # environment steps; ours, because the paper does not say

# Short words for settings in a run's name; a setting without one is spelled out.
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
    """One job of the pipeline: an environment, an agent and its settings, trained with all of its seeds.

    Attributes:
      environment: `sin` (the supervised task), one of `envs.KNOWN`, a variant of GridWorld, or a Gymnasium id.
      agent: a learner or agent by name (`l2`, `er`, `dyna_td`, ...).
      settings: the agent's numbers.
      seeds: trained side by side in one program; a seed's numbers do not depend on its neighbours.
      steps: environment steps, or mini-batch updates of the supervised task.
      evaluate_every: steps between two evaluations; there is one at step 0 and one at the last step.
      sweep: the learning rates to choose from on other seeds; empty if `settings.learning_rate` is fixed.
      of_steps: the length of the longer run whose beginning this is; 0 if this run is whole.
      apart: what parts this run from another of the same settings, in words of its name; see `plans`.
    """

    environment: str
    agent: str
    settings: Any  # `Settings` of a type that agent and environment have: `registry.settings_type`
    seeds: tuple[int, ...]
    steps: int
    evaluate_every: int = 500
    sweep: tuple[float, ...] = field(default=())
    of_steps: int = 0
    apart: str = ""

    @cached_property  # plans ask for it often
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
            words.append(word + as_words(value))
        words += [self.apart] if self.apart else []
        return f"{self.environment}/{self.agent}/{'-'.join(words)}"

    @property
    def length(self) -> int:
        """The steps of the whole run, by which buffers are sized and exponents annealed."""
        return self.of_steps or self.steps

    @property
    def seed_updates(self) -> int:
        """Parameter updates of all seeds together."""
        if isinstance(self.settings, RegressionSettings):
            return self.steps * len(self.seeds)
        learning_steps = max(0, self.steps - self.settings.warm_up_steps)
        return learning_steps * self.settings.planning_updates * len(self.seeds)

    @property
    def moments(self) -> dict[str, int]:
        """The evaluations that keep sampled states, by name: early in learning for figure 2, late for figure 5."""
        early = -(-min(EARLY, self.steps) // self.evaluate_every) * self.evaluate_every
        return {"early": min(early, self.steps), "late": self.steps}

    def beginning(self, steps: int) -> "Run":
        """The first `steps` steps of the same run, or the whole run if it has no more."""
        steps = min(steps, self.length)
        return replace(self, steps=steps, of_steps=self.length if steps < self.length else 0)

    def with_learning_rate(self, learning_rate: float) -> "Run":
        """The same run with its learning rate fixed."""
        return replace(self, settings=replace(self.settings, learning_rate=learning_rate), sweep=())


def describes_run(details: Any) -> bool:
    """Whether plain data, as of a JSON file, has the facts of a run in their types; some may be missing."""
    if not isinstance(details, dict) or not isinstance(details.get("settings"), dict):
        return False
    settings, seeds = details["settings"], details.get("seeds", [0])
    steps = [details.get(name, 1) for name in ("steps", "evaluate_every")]
    return (
        all(isinstance(details.get(name), str) for name in ("environment", "agent"))
        and all(is_whole(count) and 0 < count <= MAX_STEPS for count in steps)
        and all(is_whole(settings.get(name, 0)) for name in ("warm_up_steps", "planning_updates"))
        and is_finite(settings.get("evaluation_exploration", 0))
        and isinstance(seeds, list)
        and all(type(seed) is int and 0 <= seed <= MAX_SEED for seed in seeds)
        and 0 < len(set(seeds)) == len(seeds)
    )
