"""Reinforcement-learning environments: Gymnasium environments and, in `envs.twins`, their TensorFlow twins.

Importing this package registers `GridWorld`, `MazeGridWorld` and `roundabout-paper-v0` with Gymnasium. It imports
neither TensorFlow nor highway-env nor MuJoCo.
"""

import contextlib
import difflib
import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

import gymnasium
import numpy as np
from dyna_td.envs.grid_world import GRID_WALLS, MAZE_WALLS, Dials, Wall

MAX_EPISODE_STEPS = 4_000  # of an evaluation: some environments have no time limit


@dataclass(frozen=True)
class Known:
    """What is known of an environment before it is made.

    Attributes:
      time_limit: the longest episode in steps; None: Gymnasium's own.
      twin: the class of its twin in `envs.twins`, if it has one.
      returns: the lowest and the highest return of an episode, if they are known; one of them is 0.
      margin: what pictures show beyond the other one.
      plane: the names of the axes, if states are points in a plane; `walls` are those in it.
      has_box_actions: whether its actions are vectors.
      entry_point: its class, as "module:Class" of this package; "": Gymnasium has it.
    """

    time_limit: int | None = None
    twin: str = ""
    returns: tuple[float, ...] = ()
    margin: float = 0.0
    plane: tuple[str, ...] = ()
    walls: tuple[Wall, ...] = ()
    has_box_actions: bool = False
    entry_point: str = ""

    @property
    def span(self) -> float:
        """The highest return of an episode minus the lowest."""
        return self.returns[1] - self.returns[0]


KNOWN = {
    "GridWorld": Known(
        2000, "GridWorldTwin", (-2000, 0), 50, ("x", "y"), GRID_WALLS, entry_point="grid_world:GridWorld"
    ),
    "MazeGridWorld": Known(
        2000, "MazeGridWorldTwin", (-2000, 0), 50, ("x", "y"), MAZE_WALLS, entry_point="grid_world:MazeGridWorld"
    ),
    # The paper's time limit; Gymnasium's own is 200.
    "MountainCar-v0": Known(2000, "MountainCarTwin", (-2000, 0), 50, ("position", "velocity")),
    "CartPole-v1": Known(500, "CartPoleTwin", (0, 500), 15),
    "Acrobot-v1": Known(500, "AcrobotTwin", (-500, 0), 15),
    **{name: Known(has_box_actions=True) for name in ("Hopper-v4", "Hopper-v5", "Walker2d-v4", "Walker2d-v5")},
    # 11 rewards of at most 1.
    "roundabout-paper-v0": Known(11, returns=(0, 11), margin=0.5, entry_point="roundabout:Roundabout"),
}


_NAMESPACE = "dyna_td/"  # of our environments in Gymnasium, so that a user's GridWorld-v0 is another


def _register(name: str, known: Known, **kwargs) -> None:
    entry_point = f"dyna_td.envs.{known.entry_point}"
    gymnasium.register(
        f"{_NAMESPACE}{name}", entry_point=entry_point, max_episode_steps=known.time_limit, kwargs=kwargs
    )


def _gymnasium_id(environment: str) -> str:
    """The name under which Gymnasium has an environment."""
    ours = f"{_NAMESPACE}{environment}"
    return ours if ours in gymnasium.registry else environment


for _name, _known in KNOWN.items():
    if _known.entry_point:
        _register(_name, _known)


class UnusableEnvironment(ValueError):
    """An environment that is unknown, cannot be made, or has spaces or rules that agents cannot use; one sentence."""


def make(environment: str, **kwargs) -> gymnasium.Env:
    """Makes the Gymnasium environment as this project uses it, i.e. with the time limits of `KNOWN`.

    Args:
      environment: a Gymnasium id, or `module:id` for one that the module registers when it is imported.
      **kwargs: passed to `gymnasium.make`, e.g. `render_mode="rgb_array"`.

    Raises:
      UnusableEnvironment: the environment is unknown, cannot be made, or has spaces that agents cannot handle.
    """
    _require_known(environment)
    if environment in KNOWN:
        kwargs = {"max_episode_steps": KNOWN[environment].time_limit, **kwargs}
    try:
        with warnings.catch_warnings():
            # v4 is the version nearest to the paper's MuJoCo environments.
            warnings.filterwarnings("ignore", message=r".*-v4 is out of date", category=DeprecationWarning)
            # Training checks every observation itself, with errors of one sentence.
            made = gymnasium.make(_gymnasium_id(environment), disable_env_checker=True, **kwargs)
    except (Exception, SystemExit) as error:  # a foreign environment may raise anything
        raise UnusableEnvironment(f"environment {environment} cannot be made: {in_one_line(error)}.") from error
    try:
        _require_supported(environment, made)
    except UnusableEnvironment:
        with closed_after(made):
            raise
    return made


@contextlib.contextmanager
def closed_after(environment: gymnasium.Env) -> Iterator[gymnasium.Env]:
    """Closes an environment at the block's end, and ignores an error of its `close`, which no longer matters."""
    try:
        yield environment
    finally:
        with contextlib.suppress(Exception, SystemExit):
            environment.close()


def has_box_actions(environment: str) -> bool:
    """Whether the actions of an environment are vectors; the others are discrete.

    Raises:
      UnusableEnvironment: see `make`.
    """
    with closed_after(make(environment)) as made:
        return isinstance(made.action_space, gymnasium.spaces.Box)


def as_declared(action: np.ndarray, space: gymnasium.Space):
    """An action, a number or a vector in [-1, 1], as the environment takes it: in its space's bounds, shape and type.

    Discrete actions count from 0, the environment's from its `start`. A diverged network's action is not finite; a
    finite one replaces it, so that other seeds can continue.
    """
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(action) + int(space.start)
    assert isinstance(space, gymnasium.spaces.Box)  # `make` allows no other
    low, high = (bound.astype(np.float64) for bound in (space.low, space.high))
    share = (np.nan_to_num(np.asarray(action, np.float64)).reshape(space.shape) + 1.0) / 2.0
    return np.clip(low + share * (high - low), low, high).astype(space.dtype)  # the sum may round beyond a bound


def _require_known(environment: object) -> None:
    """Raises UnusableEnvironment unless Gymnasium knows `environment`; imports its module first, if it names one."""
    match = (
        re.fullmatch(r"(?:(\w[\w.]*):)?((?:\w[\w-]*/)?\w[\w.-]*)", environment)
        if isinstance(environment, str)
        else None
    )
    if not match:
        raise UnusableEnvironment(f"environment is {environment!r}, expected a Gymnasium id or module:id.")
    module, name = match.groups()
    if module:
        try:
            importlib.import_module(module)
        except (Exception, SystemExit) as error:  # a foreign module may raise anything
            raise UnusableEnvironment(
                f"environment {environment}: cannot import {module}: {in_one_line(error)}."
            ) from error
    if name.startswith("GridWorld-") and _gymnasium_id(name) not in gymnasium.registry:
        _register_dials(name)
    if _gymnasium_id(name) not in gymnasium.registry:
        names = {known.lower(): known for known in (id.removeprefix(_NAMESPACE) for id in gymnasium.registry)}
        start = f"{module}:" if module else ""
        nearest = [repr(start + names[match]) for match in difflib.get_close_matches(name.lower(), names, n=3)]
        hint = f"did you mean {' or '.join(nearest)}? " if nearest else ""
        raise UnusableEnvironment(
            f"unknown environment {environment!r}: {hint}choose one that Gymnasium has, or module:id."
        )


def _register_dials(environment: str) -> None:
    """Registers a GridWorld whose name has dials, such as `GridWorld-goal0.2`."""
    try:
        dials = Dials.of(environment)
    except ValueError as error:
        raise UnusableEnvironment(str(error).rstrip(".") + ".") from error
    _register(environment, KNOWN["GridWorld"], dials=dials)


def _require_supported(environment: str, made: gymnasium.Env) -> None:
    """Raises UnusableEnvironment unless observations are a Box of numbers and actions Discrete or a bounded Box."""
    supported = "supported are Box observations with Discrete actions or bounded Box actions of floating-point numbers"
    spaces = dict.fromkeys(("observation_space", "action_space"))
    for name in spaces:
        with contextlib.suppress(Exception):  # a foreign property may raise anything
            spaces[name] = getattr(made, name)
    for name, space in spaces.items():
        if space is None:
            raise UnusableEnvironment(f"environment {environment} declares no {name}: {supported}.")
        if isinstance(space, gymnasium.spaces.Box) and not np.prod(space.shape):
            raise UnusableEnvironment(
                f"environment {environment} has an {name} of shape {space.shape}, without any number."
            )
    observations, actions = spaces.values()
    if not isinstance(observations, gymnasium.spaces.Box):
        raise UnusableEnvironment(
            f"environment {environment} has {type(observations).__name__} observations: {supported}; "
            "register it with Gymnasium's wrapper FlattenObservation."
        )
    if observations.dtype == np.uint8 and len(observations.shape) == 3:
        raise UnusableEnvironment(
            f"environment {environment} has pictures as observations, and no agent here has convolutions: {supported}."
        )
    if not isinstance(actions, gymnasium.spaces.Discrete | gymnasium.spaces.Box):
        raise UnusableEnvironment(f"environment {environment} has {type(actions).__name__} actions: {supported}.")
    if isinstance(actions, gymnasium.spaces.Box) and not (actions.is_bounded() and actions.dtype.kind == "f"):
        raise UnusableEnvironment(f"environment {environment} has actions in {actions}: {supported}.")


def origin_of(error: BaseException) -> tuple[str, int, Path] | None:
    """The function, line and file of the user's own in which an error was raised; None if there is none."""
    found = None
    for frame, line in walk_tb(error.__traceback__):
        top, path = frame.f_globals.get("__name__", "").partition(".")[0], Path(frame.f_code.co_filename)
        if path.is_file() and top not in {"dyna_td", *sys.stdlib_module_names} and "site-packages" not in path.parts:
            found = frame.f_code.co_name, line, path
    return found


def place_of(error: BaseException) -> str:
    """`origin_of`, as " (line 12 of mine.py)"; empty without one."""
    origin = origin_of(error)
    return f" (line {origin[1]} of {origin[2].name})" if origin else ""


def in_one_line(error: BaseException) -> str:
    """The words of an error in a foreign module, with the place."""
    words = " ".join(str(error).split()).rstrip(".")
    if isinstance(error, SystemExit | LookupError):  # its text is only a number, or only a key
        words = f"{type(error).__name__} {words}".rstrip()
    return (words or type(error).__name__) + place_of(error)
