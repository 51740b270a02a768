"""Reading the command line: a parser that raises UserError, the kinds of values, and an option for each setting."""

import argparse
import contextlib
import difflib
import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import Field, fields

from dyna_td import own_agents
from dyna_td.errors import UserError
from dyna_td.evidence import labels
from dyna_td.plan import plans
from dyna_td.runs import registry
from dyna_td.settings import (
    MAX_SEED,
    MAX_SEEDS,
    MAX_STEPS,
    DDPGDynaSettings,
    DynaSettings,
    RegressionSettings,
    as_words,
    checked,
)

# What others call our options; the paper's symbols among them.
_OTHER_NAMES = {
    "--lr": "--learning-rate",
    "--n": "--planning-updates",
    "--gamma": "--discount",
    "--epsilon": "--exploration",
    "--rho": "--mixing-rate",
    "--timesteps": "--steps",
}


class Parser(argparse.ArgumentParser):
    """An argument parser that raises a UserError of one sentence for each mistake."""

    def parse_known_args(self, args=None, namespace=None):
        parsed, unknown = super().parse_known_args(args, namespace)
        options = [option for action in self._actions for option in action.option_strings]
        for option in (word.partition("=")[0] for word in unknown):
            known = [name for name in (_OTHER_NAMES.get(option),) if name in options]
            if nearest := known or difflib.get_close_matches(option, options, n=1):
                raise UserError(f"there is no option {option}: did you mean {nearest[0]}? See `{self.prog} --help`.")
        return parsed, unknown

    def error(self, message: str):
        raise UserError(f"{message}; see `{self.prog} --help`.")


def positive_integer(text: str) -> int:
    """Reads a number of steps, cores or episodes."""
    if not re.fullmatch(r"\d{1,10}", text) or not 0 < int(text) <= MAX_STEPS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MAX_STEPS}, not {text!r}")
    return int(text)


def between(least: float, most: float) -> Callable[[str], float]:
    """Returns a function that reads a number within these bounds."""

    def read(text: str) -> float:
        with contextlib.suppress(ValueError):
            if least <= float(text) <= most:
                return float(text)
        raise argparse.ArgumentTypeError(f"expected a number from {least:g} to {most:g}, not {text!r}")

    return read


def seeds(text: str) -> tuple[int, ...]:
    """Reads seeds, each named once: `0-19`, `0,3,7` or a mixture."""
    chosen: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        chosen += range(first, last + 1) if first <= last else [-1]
    if -1 in chosen or len(set(chosen)) < len(chosen):
        raise argparse.ArgumentTypeError(
            f"expected seeds such as 0-19 or 0,3,7, each once, up to {MAX_SEED}, not {text!r}"
        )
    if len(chosen) > MAX_SEEDS:
        raise argparse.ArgumentTypeError(
            f"expected at most {MAX_SEEDS:,} seeds in a job, not {len(chosen):,}: train 0-{MAX_SEEDS - 1} first, and "
            "the others in jobs of their own"
        )
    return tuple(sorted(chosen))


def adopt_own_agent(words: Sequence[str]) -> None:
    """Registers the class of `--agent module:Class` as an agent, so that its own settings become options."""
    for option, value in itertools.pairwise([part for word in words for part in word.split("=", 1)]):
        if option == "--agent" and ":" in value:
            own_agents.adopt(value)


def agents() -> str:
    """A line on each agent for control, and then on each learner of the supervised task."""
    tasks = ("GridWorld", registry.SUPERVISED_TASK)
    control, supervised = (
        "\n".join(f"  {name:23} {labels.summary(name)}" for name in registry.agents_on(task)) for task in tasks
    )
    return f"{control}\nagents on {registry.SUPERVISED_TASK}:\n{supervised}"


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds an option for each setting, in three groups: of all agents, of Dyna agents, of single agents."""
    types = (registry.settings_type("GridWorld", agent) for agent in ("er", "dyna_td"))
    model_free, dyna = ({setting.name for setting in fields(each)} for each in types)
    sources = "in brackets: the source of the default. code: the released code of the paper's authors. ours: our choice"
    common = parser.add_argument_group("settings of agents on discrete actions; most apply elsewhere, too", sources)
    of_dyna = parser.add_argument_group("settings of Dyna agents")
    single = parser.add_argument_group("settings of single agents or environments")
    for name, meaning in registry.all_settings().items():
        group = common if name in model_free else of_dyna if name in dyna else single
        several = "; 0.001,0.0001 chooses one of them on other seeds" if name == "learning_rate" else ""
        text = f"{meaning}{several} ({_defaults_text(name)})".replace("%", "%%")  # argparse expands a single %
        group.add_argument(labels.option(name), metavar="X", help=text)


def _defaults_text(setting: str) -> str:
    """The default of `setting` for each kind of environment, and for each agent with another default."""
    kinds = {
        f" on {registry.SUPERVISED_TASK}": RegressionSettings,
        " on discrete actions": DynaSettings,
        " on action vectors": DDPGDynaSettings,
    }
    having = {kind: each for kind, has in kinds.items() for each in fields(has) if each.name == setting}
    texts = {kind: (as_words(each.default), _source(each)) for kind, each in having.items()}
    discrete = having.get(" on discrete actions")
    if len(set(texts.values())) == 1:
        texts = {"": texts.popitem()[1]}
    for agent in registry.agents_on("GridWorld"):
        for each in fields(registry.settings_type("GridWorld", agent)):
            if each.name == setting and not (discrete and each.default == discrete.default):
                texts[f" of {agent}"] = (as_words(each.default), "" if discrete else _source(each))
    return f"default: {', '.join(f'{text}{kind}{source}' for kind, (text, source) in texts.items())}"


def _source(setting: Field) -> str:
    return f" [{setting.metadata['source']}]"


def sweep(environment: str, agent: str, options: argparse.Namespace) -> tuple[float, ...]:
    """The rates of `--learning-rate 0.001,0.0001`, and removes them from `options`; empty for a single rate."""
    texts = (options.learning_rate or "").split(",")
    if len(texts) < 2:
        return ()
    options.learning_rate = None
    return plans.make_sweep(registry.settings_type(environment, agent), [value_of(text, 0.0) for text in texts])


def settings(environment: str, agent: str, options: argparse.Namespace):
    """The settings that the options ask for; all others keep their defaults."""
    given = {name: text for name in registry.all_settings() if (text := getattr(options, name)) is not None}
    known = {setting.name: setting for setting in fields(registry.settings_type(environment, agent))}
    numbers = {}
    for name, text in given.items():
        if name not in known:
            raise UserError(f"{labels.option(name)} does not apply to {agent} on {environment}: leave it out.")
        numbers[name] = checked(known[name], value_of(text, known[name].default), labels.option(name))
    return plans.make_settings(environment, agent, numbers)


def value_of(text: str, default: object) -> object:
    """The value that an option's text stands for. Other text is returned as it is; `settings.checked` refuses it."""
    if isinstance(default, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(default, str):
        return text
    try:
        numbers = [float(part) for part in text.split("x")] if isinstance(default, tuple) else [float(text)]
        numbers = [int(number) if number.is_integer() else number for number in numbers]
        return numbers if isinstance(default, tuple) else numbers[0]
    except ValueError:
        return text
