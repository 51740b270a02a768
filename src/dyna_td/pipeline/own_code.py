"""Agents and environments of the user's own: how they enter the registry, and which files are behind them."""

import ast
import keyword
import reprlib
import sys
from dataclasses import fields
from pathlib import Path
from typing import Any

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.pipeline import code_digest
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.settings import ControlSettings, DDPGDynaSettings, DynaSettings, checked

_Kinds = tuple[type[ControlSettings], type[ControlSettings] | None]  # on discrete actions, and on vectors

# Options and arguments of `train`, which settings of an agent's own cannot have as names.
_TAKEN = (
    *("env", "agent", "output", "seeds", "steps", "evaluate_every"),
    *("checkpoint_every", "tensorboard", "progress", "help", "command", "name_of_command"),
)


def adopt(agent: str | type) -> str:
    """Enters a class of the user's own in `registry.AGENTS`, and returns its name there, "module:Class".

    The class extends one of `dyna_td.agents` and has its settings, or those of its attribute `Settings`, a dataclass
    that extends them; where actions are vectors, of `BoxSettings`.

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
    kinds = _require_settings(name, own, bases[0])
    _enter(own.__module__)
    if registry.with_source(name) and not code_digest.has_source(name):
        raise UserError(
            f"the source of agent {name} is not found: expected {own.__module__}:{own.__qualname__}, at the top of a "
            ".py file, and an __init__.py in each folder of its package."
        )
    registry.AGENTS[name] = registry.Agent(name, *kinds, on=bases[0].on)
    return name


def _require_settings(name: str, agent: type, base: registry.Agent) -> _Kinds:
    """The types of an agent's settings, on discrete actions and on vectors, None if it has none there.

    Raises:
      UserError: for a type that is no dataclass of settings, or does not extend that of `base`.
    """
    kinds: _Kinds = (base.settings, base.box_settings)
    if issubclass(agent, registry.load("dyna_td.agents.dyna:Dyna")) and not base.dyna:
        kinds = (DynaSettings, DDPGDynaSettings)
    own = getattr(agent, "Settings", None), getattr(agent, "BoxSettings", None)
    for attribute, declared, kind in zip(("Settings", "BoxSettings"), own, kinds, strict=True):
        if declared is not None:
            _require_extension(f"agent {name}: {attribute}", declared, kind)
    return (own[0] or kinds[0], own[1] or (None if own[0] else kinds[1]))


def _require_extension(place: str, declared: Any, kind: type[ControlSettings] | None) -> None:
    """Refuses `declared` unless it is a dataclass that extends `kind` by settings, or by other defaults."""
    if kind is None:
        raise UserError(f"{place} is declared, but the agent that it extends trains on discrete actions alone.")
    if not (isinstance(declared, type) and issubclass(declared, kind)):
        raise UserError(f"{place} is {reprlib.repr(declared)}, expected a class that extends {kind.__name__}.")
    if "__dataclass_fields__" not in vars(declared):
        raise UserError(f"{place} is no dataclass: write @dataclass(frozen=True) above {declared.__name__}.")
    for setting in fields(declared):
        name, shared = setting.name, kind.__dataclass_fields__.get(setting.name)
        if keyword.iskeyword(name) or name in _TAKEN:
            raise UserError(f"{place} names {name!r}, which Python or an option has: choose another name.")
        if not setting.metadata:
            words = "settings.other_default" if shared else "settings.number"
            raise UserError(f"{place} names {name!r} without a meaning: declare it with {words}.")
        checked(shared or setting, setting.default, f"{place}: {name}")


def files_of(environment: str) -> list[Path]:
    """The user's own files behind an environment: those of its module, of its class, and of what they import."""
    if environment in registry.ENVIRONMENTS:
        return []
    import gymnasium  # imported late, because it takes a moment

    module, _, name = environment.rpartition(":")
    entry = gymnasium.spec(name).entry_point
    made_in = entry.partition(":")[0] if isinstance(entry, str) else entry.__module__
    modules = sorted({module, made_in} & sys.modules.keys())
    return sorted({path for each in modules for path in _files(each)})


def _enter(module: str) -> None:
    """Counts an imported module of the user's own, and those in its folder that it imports, as code to be digested."""
    top, place = _package_of(module)
    if place is None or top in code_digest.PACKAGES:
        return
    code_digest.PACKAGES[top] = place
    if not _is_installed(place):
        code_digest.OWN_FOLDERS.add(place.parent)
    code_digest.find_module.cache_clear()


def _package_of(module: str) -> tuple[str, Path | None]:
    """The name and the place of an imported module's package; a notebook has no place."""
    top = module.partition(".")[0]
    source = getattr(sys.modules[top], "__file__", None)
    if source is None:
        return top, None
    path = Path(source)
    return top, path.parent if path.stem == "__init__" else path.with_suffix("")


def _is_installed(place: Path) -> bool:
    return bool({"site-packages", "dist-packages"} & set(place.parts))


def _files(module: str) -> list[Path]:
    """The file of an imported module and of those that it imports; empty unless the module is the user's own."""
    _, place = _package_of(module)
    if place is None or _is_installed(place):
        return []
    _enter(module)
    found: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        home = code_digest.find_module(name)
        if home and name not in found:
            found[name] = home.path
            waiting += (target.partition(":")[0] for target in home.bound_by(ast.walk(home.tree)).values())
    return [found[name] for name in sorted(found)]
