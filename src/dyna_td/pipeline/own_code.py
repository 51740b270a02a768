"""Agents and environments of the user's own: how they enter the registry, and which files are behind them."""

import keyword
import reprlib
import sys
from dataclasses import Field
from typing import Any

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.pipeline import sources
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.settings import DDPGDynaSettings, DynaSettings, checked

# Options and arguments of `train`, which settings of an agent's own cannot have as names.
_TAKEN = (
    *("env", "agent", "output", "seeds", "steps", "evaluate_every"),
    *("checkpoint_every", "tensorboard", "progress", "help", "command", "name_of_command"),
)


def adopt(agent: str | type) -> str:
    """Enters a class of the user's own in `registry.AGENTS`, and returns its name there, "module:Class".

    The class extends one of `dyna_td.agents` and has its settings. Its dictionary `numbers` adds its own (`Agent`).

    Raises:
      UserError: it cannot be imported, is no agent, or its source is not found.
    """
    name = agent if isinstance(agent, str) else f"{agent.__module__}:{agent.__qualname__}"
    if "<locals>" in name:
        raise UserError(f"agent {name} is made in a function: define its class at the top of a module.")
    registry.look_in_working_directory()
    er = import_quietly("dyna_td.agents.er").ER
    try:
        own = agent if isinstance(agent, type) else registry.load(agent)
    except (Exception, SystemExit) as error:  # whatever a foreign module raises
        words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
        raise UserError(f"agent {name} cannot be imported: {words}; the working directory is searched, too.") from error
    if not (isinstance(own, type) and issubclass(own, er)):
        raise UserError(f"agent {name} is no agent: expected a class that extends one of dyna_td.agents.")
    by_path = {known.path: known for key, known in reversed(registry.AGENTS.items()) if key != name}
    bases = [by_path[path] for base in own.__mro__ if (path := f"{base.__module__}:{base.__qualname__}") in by_path]
    numbers = {**bases[0].numbers, **_require_numbers(name, getattr(own, "numbers", {}))}
    if registry.with_source(name) and not sources.file_of(own.__module__):
        raise UserError(
            f"the source of agent {name} is not found: expected {own.__module__}:{own.__qualname__} in a .py file."
        )
    is_dyna = issubclass(own, registry.load("dyna_td.agents.dyna:Dyna"))
    registry.AGENTS[name] = registry.Agent(name, is_dyna, numbers, bases[0].on)
    registry.made_settings_types.pop(name, None)  # those of other agents stay: runs with them must stay equal
    return name


def _require_numbers(agent: str, numbers: Any) -> dict[str, Any]:
    """Returns `numbers` if they are settings by name, or own defaults of shared settings; raises UserError."""
    if not isinstance(numbers, dict):
        raise UserError(
            f"agent {agent}: numbers is {reprlib.repr(numbers)}, expected a dictionary of settings by name."
        )
    shared = DDPGDynaSettings.__dataclass_fields__ | DynaSettings.__dataclass_fields__
    for name, value in numbers.items():
        if not (isinstance(name, str) and name.isidentifier()) or keyword.iskeyword(name) or name in _TAKEN:
            raise UserError(
                f"agent {agent}: numbers names {name!r}, which Python or an option has: choose another name."
            )
        setting = value if isinstance(value, Field) and value.metadata else shared.get(name)
        if setting is None:
            raise UserError(
                f"agent {agent}: numbers names {name!r}, which is no shared setting: declare it with settings.number."
            )
        checked(setting, value.default if isinstance(value, Field) else value, f"agent {agent}: {name}")
    return numbers


def modules_of(environment: str) -> set[str]:
    """The modules behind an environment that is not the project's own: the one that was named, and its class's."""
    if environment in registry.ENVIRONMENTS:
        return set()
    import gymnasium  # imported late, because it takes a moment

    module, _, name = environment.rpartition(":")
    entry = gymnasium.spec(name).entry_point
    return {module, entry.partition(":")[0] if isinstance(entry, str) else entry.__module__} & sys.modules.keys()
