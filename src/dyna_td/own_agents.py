"""Agents of the user's own: how they enter the registry."""

import contextlib
import difflib
import reprlib
from dataclasses import fields
from typing import Any

from dyna_td import envs
from dyna_td.errors import UserError, require_choice
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.records import sources
from dyna_td.runs import registry
from dyna_td.settings import ControlSettings, Settings, checked

# Names of options and arguments of `train`, which an agent's own settings cannot have.
_TAKEN = (
    *("env", "agent", "output", "seeds", "steps", "evaluate_every"),
    *("checkpoint_every", "tensorboard", "progress", "help", "command", "name_of_command"),
)


def require_agent(agent: object, environment: str) -> str:
    """Returns `agent` if it can be trained on `environment`.

    Raises:
      UserError: for an unknown agent, or one that belongs to another kind of environment.
    """
    if isinstance(agent, str) and ":" in agent and agent not in registry.AGENTS:
        adopt(agent)
    if ":" in str(environment):  # its module may import TensorFlow, which would print messages
        import_tensorflow()
    here = registry.agents_on(environment)
    if isinstance(agent, str) and agent in registry.AGENTS and agent not in here:
        raise UserError(f"agent {agent!r} does not train on {environment}: choose one of {', '.join(here)}.")
    return require_choice(agent, here, "agent")


def adopt(agent: str | type) -> str:
    """Registers a user's own class in `registry.AGENTS`, and returns its name there, "module:Class".

    The class extends one of `dyna_td.agents` and inherits its settings. Its attribute `Settings`, a dataclass, adds
    others, or other defaults.

    Raises:
      UserError: it cannot be imported, is no agent, or its source is not found.
    """
    name = agent if isinstance(agent, str) else f"{agent.__module__}:{agent.__qualname__}"
    if "." in name.partition(":")[2]:
        raise UserError(f"agent {name} is made in a function or a class: define its class at the top of a module.")
    registry.look_in_working_directory()
    import_tensorflow()
    from dyna_td.agents.er import ER

    try:
        with contextlib.chdir("."):  # a foreign module may change the folder; this returns to it
            own = agent if isinstance(agent, type) else registry.load(agent)
    except (Exception, SystemExit) as error:  # a foreign module may raise anything
        words = envs.in_one_line(error)
        raise UserError(f"agent {name} cannot be imported: {words}; the working directory is searched, too.") from error
    if not (isinstance(own, type) and issubclass(own, ER)):
        raise UserError(f"agent {name} is no agent: expected a class that extends one of dyna_td.agents.")
    by_path = {known.path: known for key, known in reversed(registry.AGENTS.items()) if key != name}
    _require_known_hooks(name, own)
    bases = [by_path[path] for base in own.__mro__ if (path := f"{base.__module__}:{base.__qualname__}") in by_path]
    others = [registry.load(known.path) for known in bases if not known.dyna]
    hooks = ("draw", "mini_batch", "after_update")  # what an agent with priorities or weights overrides
    prioritized = [
        other.__name__ for other in others if any(getattr(other, hook) is not getattr(ER, hook) for hook in hooks)
    ]
    if prioritized and any(known.dyna for known in bases):
        raise UserError(
            f"agent {name} extends a Dyna agent and {prioritized[0]}: simulated transitions replace some that it drew, "
            "so its priorities or weights would be those of other transitions; extend one of them."
        )
    dyna = registry.load("dyna_td.agents.dyna:Dyna")
    if issubclass(own, dyna) and (own.criterion_gradient, own.search) == (dyna.criterion_gradient, dyna.search):
        raise UserError(f"agent {name} has no criterion: write `criterion_gradient`, or `search` for other states.")
    entry = _declared(name, own, bases[0])
    if registry.with_source(name) and not sources.file_of(own.__module__):
        raise UserError(
            f"the source of agent {name} is not found: expected {own.__module__}:{own.__qualname__} in a .py file "
            "here, or in a package that pip installed with --editable."
        )
    registry.AGENTS[name] = entry
    return name


def own_methods(agent: type) -> dict[str, Any]:
    """The methods and attributes of an agent's class that neither the package nor TensorFlow wrote, by name."""
    others = ("dyna_td", "tensorflow", "builtins")
    own = [kind for kind in agent.__mro__ if kind.__module__.partition(".")[0] not in others]
    return {name: method for kind in own for name, method in vars(kind).items()}


def _require_known_hooks(name: str, own: type) -> None:
    """Raises UserError if a method has nearly the name of one of the package, which nothing would call."""
    package = [kind for kind in own.__mro__ if kind.__module__.partition(".")[0] == "dyna_td"]
    hooks = {hook for kind in package for hook in vars(kind) if not hook.startswith("_")}
    for method in sorted(own_methods(own).keys() - hooks):
        if not method.startswith("_") and (nearest := difflib.get_close_matches(method, hooks, 1, 0.85)):
            raise UserError(
                f"agent {name}: nothing calls `{method}`, and its name is nearly `{nearest[0]}`: "
                "correct it, or begin it with _."
            )


def _declared(name: str, agent: type, base: registry.Agent) -> registry.Agent:
    """The entry of an agent that extends the one of `base`: with settings of its own, or with those of `base`.

    Raises:
      UserError: for settings that are no dataclass, or do not fit those of `base`.
    """
    kinds: tuple[type[Settings], ...] = tuple(filter(None, (base.settings, base.box_settings)))
    if issubclass(agent, registry.load("dyna_td.agents.dyna:Dyna")) and not base.dyna:
        kinds = registry.DYNA_KINDS
    own = getattr(agent, "Settings", None)
    if own is not None:
        place = f"agent {name}: Settings"
        if not isinstance(own, type):
            raise UserError(f"{place} is {reprlib.repr(own)}, expected a dataclass of settings.")
        if issubclass(own, ControlSettings):  # it says for itself what it extends, so vectors are left out
            kinds = kinds[:1]
            if not issubclass(own, kinds[0]):
                raise UserError(f"{place} is {reprlib.repr(own)}, expected a class that extends {kinds[0].__name__}.")
        _require_settings(place, own, kinds[0])
    return registry.Agent(name, own, kinds, base.on, climbs_frequency=base.climbs_frequency, anneals=base.anneals)


def _require_settings(place: str, declared: Any, kind: type[Settings]) -> None:
    """Refuses `declared` unless it is a dataclass of settings, or of other defaults for those of `kind`."""
    if "__dataclass_fields__" not in vars(declared) or not declared.__dataclass_params__.frozen:
        raise UserError(f"{place} is no frozen dataclass: write @dataclass(frozen=True) above {declared.__name__}.")
    known = {setting.name: setting for setting in fields(kind)}
    for setting in fields(declared):
        name, shared = setting.name, known.get(setting.name)
        if name in _TAKEN:
            raise UserError(f"{place} names {name!r}, which an option of `train` has: choose another name.")
        if not setting.metadata:
            words = "dyna_td.settings.other_default" if shared else "dyna_td.settings.number"
            raise UserError(f"{place} names {name!r} without a meaning: declare it with {words}.")
        checked(shared or setting, setting.default, f"{place}: {name}")
