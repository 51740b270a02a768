"""The names that pages and pictures give to agents, verdicts and windows."""

from dyna_td.evidence.outcomes import VERDICTS
from dyna_td.records.sources import docstring
from dyna_td.runs import registry

BENCHMARK = ("er", "prioritized_er", "dyna_td", "dyna_td_learned", "dyna_value", "dyna_frequency")  # figures 4 and 12
SINE = ("l2", "prioritized_l2", "full_prioritized_l2", "cubic", "power4")
CURVES = {
    **{name: agent.label for name, agent in registry.AGENTS.items() if agent.label},
    # Agents with other settings.
    "laber_unweighted": "LaBER without weights",
    "dyna_td_algorithm_4": "Dyna-TD, Algorithm 4",
    "dyna_td_langevin": "Dyna-TD, Langevin rule",
}

MODELS = {"learned": registry.LEARNED, "blind": ", blind"}  # by endings of the keys of curves without the true model
CURVES |= {f"{agent}_{model}": CURVES[agent] + words for agent in [*CURVES] for model, words in MODELS.items()}
LETTERS = dict(zip(VERDICTS, "SCU-", strict=True))
WINDOWS = {"early": "first third of learning", "final": "last 20 evaluations"}  # windows shorter than all of learning
DIFFERENCES = "differences"  # name of the picture of the benchmarks' comparisons


def option(setting: str) -> str:
    """The option of a setting on the command line: --planning-updates."""
    return f"--{setting.replace('_', '-')}"


def name_of(curve: str) -> str:
    """The name of a curve's agent, with its model if that is not the true one; an unknown key is its own name."""
    return CURVES.get(curve, curve)


def summary(agent: str) -> str:
    """A line on an agent or learner: the summary of its class, or of its settings if an earlier agent has the class."""
    entry = registry.AGENTS[agent]
    is_first = next(name for name, other in registry.AGENTS.items() if other.path == entry.path) == agent
    text = docstring(entry.path) if is_first else entry.settings.__doc__ or ""
    words = " ".join(text.partition("\n\n")[0].split())
    return words.removeprefix("This is ").removeprefix("Settings of ")
