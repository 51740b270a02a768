"""A trial of an agent of the user's own, before its training: shapes, signs, and whether seeds stay apart.

The agent stores random transitions and learns for some steps, twice: with the same first seed and other neighbours.
Nothing is compiled, so that each call of its methods can be watched. A trial takes a second or two.
"""

import contextlib
import difflib
import functools
import inspect
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from dyna_td import envs
from dyna_td.envs.spaces import GymSpace, Space
from dyna_td.errors import UserError
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Streams
from dyna_td.own_agents import own_methods
from dyna_td.programs.program import CannotResume, make_agent
from dyna_td.programs.twin import make_twin
from dyna_td.records.metrics import EVALUATED, SAMPLING_METRICS
from dyna_td.runs.registry import AGENTS, has_twin, load
from dyna_td.runs.run import Run
from dyna_td.settings import ControlSettings

_COMPANIES = (0, 1, 2), (0, 3, 4)
_STORED, _LEARNED, _UPDATES = 16, 2, 2  # transitions before learning, steps of learning, updates in each
_MAX = {"queue_capacity": 1_000, "chain_steps": 4, "states_per_fill": 2}
# Hooks that return a row for each seed.
_HOOKS = {"draw", "mini_batch", "loss", "priority", "criterion_gradient", "start", "sample_states", "counters"}
_ERRORS = np.linspace(-100, 100, 9, dtype=np.float32)  # TD errors with which priorities are tried


def require_sound(run: Run) -> None:
    """Tries the agent of `run`, if it is the user's own.

    Raises:
      UserError: a method fails, returns another shape or a negative priority, or a seed depends on its neighbours.
    """
    if not own_methods(load(AGENTS[run.agent].path)):
        return
    with in_one_sentence(run.agent):
        first, second = (_Trial(run, seeds) for seeds in _COMPANIES)
    differing = [
        hook for (step, hook, k), found in first.calls.items() if second.calls.get((step, hook, k), found) != found
    ]
    if first.end == second.end and not _HOOKS & {*differing}:
        return
    mixing = f" in `{differing[0]}`" if differing else ""
    raise UserError(
        f"agent {run.agent} mixes seeds{mixing}: seed 0 depends on its neighbours, or on chance outside of "
        "self.streams; keep the first axis, S, and reduce over later ones, as tf.reduce_mean(x, axis=1) does."
    )


def require_priorities(run: Run, agent: Any, step: int, has_diverged: np.ndarray) -> None:
    """Raises UserError if an agent of the user's own has stored a priority that is negative or not finite.

    In training it meets transitions that no trial has. `has_diverged`, bool [S]: seeds that may have any priority.
    """
    if "priority" in own_methods(load(AGENTS[run.agent].path)) and hasattr(agent, "priorities"):
        stored = agent.priorities.priorities.numpy()[~has_diverged]
        bad = stored[~np.isfinite(stored) | (stored < 0)]
        if bad.size:
            words = f"`priority` returned {bad[0]:g} by step {step:,}, expected finite numbers, at least 0"
            raise UserError(f"agent {run.agent}: {words}.")


@contextlib.contextmanager
def in_one_sentence(agent: str) -> Iterator[None]:
    """Turns an error that an agent of the user's own raises, while it is built, into a UserError with its place."""
    try:
        yield
    except (UserError, CannotResume):
        raise
    except Exception as error:
        if not own_methods(load(AGENTS[agent].path)):
            raise
        origin = envs.origin_of(error)
        place = " in `{}`, line {} of {}".format(*origin) if origin else ""
        raise UserError(f"agent {agent}{place}: {_fault(error)}.") from error


def _fault(error: Exception) -> str:
    """An error's message, without a full stop."""
    words = re.sub(r"\{\{.*?\}\} *|\[Op:.*", "", " ".join(str(error).split())).rstrip(". ")  # without names of kernels
    if isinstance(error, tf.errors.OperatorNotAllowedInGraphError) or "truth value" in words:
        return (
            "Python's if, while, and, or, not cannot ask a tensor; write tf.where(condition, a, b) for values, and "
            "call_where of dyna_td.learning.xla for what changes variables"
        )
    if "numpy array" in words or getattr(error, "name", "") == "numpy":
        return "the method is compiled, and NumPy cannot read its tensors; write TensorFlow's functions, such as tf.abs"
    if isinstance(error, AttributeError) and isinstance(error.obj, ControlSettings | tf.Module | tuple):
        kind = "setting" if isinstance(error.obj, ControlSettings) else "attribute"
        nearest = difflib.get_close_matches(error.name, dir(error.obj), n=1)
        return f"there is no {kind} {error.name!r}{f'; the nearest is {nearest[0]!r}' if nearest else ''}"
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


class _Trial:
    """An agent that learns a little in the company of some seeds.

    Attributes:
      calls: a checksum for each call, by step, method and the call's number within the step. It covers the first
        seed's part of the result and of all variables after the call.
      end: such a checksum at the end.
    """

    def __init__(self, run: Run, seeds: tuple[int, ...]):
        self.calls: dict[tuple[int, str, int], int] = {}
        self._counts: Counter[tuple[int, str]] = Counter()
        self._run, self._seeds, self._space = run, seeds, _space(run.environment)
        settings = run.settings
        begins = max(settings.warm_up_steps, getattr(settings, "model_start", 0))
        every = getattr(settings, "search_every", 1)
        self._step = -(-begins // every) * every
        # Small buffers, because a checksum reads them after each call; short chains, because they are slow here.
        largest = {"buffer_capacity": max(64, settings.warm_up_steps), **_MAX}
        fewer = {name: min(size, getattr(settings, name)) for name, size in largest.items() if hasattr(settings, name)}
        steps = max(run.length, self._step + _LEARNED)
        small = replace(run, settings=replace(settings, **fewer), steps=steps, of_steps=0)
        self._agent: Any = make_agent(small, Streams(seeds), self._space)
        own = own_methods(type(self._agent))
        for name in (name for name, method in own.items() if inspect.isfunction(method) and name != "__init__"):
            if name in vars(self._agent):
                hint = "".join(f"; the nearest hook is `{hook}`" for hook in difflib.get_close_matches(name, _HOOKS, 1))
                words = f"`self.{name}` is a part of the agent, which hides the method `{name}`: rename it{hint}"
                raise UserError(f"agent {run.agent}: {words}.")
            setattr(self._agent, name, self._watched(name, getattr(self._agent, name)))
        self.end = self._learn("priority" in own)

    def _learn(self, has_priority: bool) -> int:
        """Stores, learns and measures; returns the checksum at the end."""
        met = [_transitions(self._space, seed) for seed in self._seeds]
        stored = [tf.constant(np.stack(parts)) for parts in zip(*met, strict=True)]  # [S, count, ...]
        if has_priority:
            batch = Transition(*(part[:, : len(_ERRORS)] for part in stored))
            self._agent.priority(tf.tile(_ERRORS[None], [len(self._seeds), 1]), batch)
        for t in range(_STORED + _LEARNED):
            self._agent.observe(Transition(*(part[:, t : t + 1] for part in stored)))
            if t >= _STORED:
                self._agent.learn(tf.constant(self._step, tf.int64), tf.constant(_UPDATES))
                self._step += 1
        states = self._agent.sample_states(tf.constant(self._step, tf.int64), 5)
        return self._of_first((states, self._agent.counters()))

    def _watched(self, hook: str, method: Callable) -> Callable:
        """The method, but each call also checks the result and notes its checksum in `calls`."""

        @functools.wraps(method)
        def call(*given, **named):
            result = method(*given, **named)
            if not tf.executing_eagerly():  # inside a function of TensorFlow's, tensors have no numbers yet
                return result
            self._require_good(hook, [*given, *named.values()], result)
            self._counts[self._step, hook] += 1
            self.calls[self._step, hook, self._counts[self._step, hook]] = self._of_first(result)
            return result

        return call

    def _of_first(self, result: Any) -> int:
        """A checksum of the first seed's part of `result` and of all variables of the agent."""
        found = map(np.asarray, tf.nest.flatten((result, list(self._agent.variables))))
        numbers = (part for part in found if part.dtype != object)  # not None
        firsts = (part[0] if part.ndim and len(part) == len(self._seeds) else part for part in numbers)
        return zlib.crc32(b"".join(np.ascontiguousarray(part).tobytes() for part in firsts))

    def _require_good(self, hook: str, given: list, result: Any) -> None:
        """Raises UserError if a hook's result has a wrong shape, or if a priority or an index is invalid."""
        seeds, d = len(self._seeds), self._space.state_dim
        match hook:
            case "priority" | "loss":
                numbers = self._require_shape(hook, result, "[S, B]", (seeds, given[0].shape[1]))
                bad = ~np.isfinite(numbers) | (numbers < 0)
                if hook == "priority" and bad.any():
                    words = f"{numbers[bad][0]:g} for the TD error {np.asarray(given[0])[bad][0]:g}"
                    self._refuse(hook, f"{words}, expected a finite number, at least 0")
                self._require_float32(hook, numbers)
            case "draw":
                if not isinstance(result, tuple) or len(result) != 2:
                    self._refuse(hook, f"{type(result).__name__}, expected indices and weights")
                indices = self._require_shape(hook, result[0], "[S, b] of indices", (seeds, None))
                size = int(self._agent.replay.size)
                if indices.dtype != np.int32:
                    self._refuse(hook, f"indices of type {indices.dtype}, expected int32: use tf.cast")
                if not ((indices >= 0) & (indices < size)).all():
                    self._refuse(hook, f"indices {indices.min()} to {indices.max()}, expected 0 to {size - 1}")
                if tf.convert_to_tensor(result[1]).shape.rank:
                    self._require_shape(hook, result[1], "[S, b] of weights, or one number", indices.shape)
            case "counters":
                for name, number in result.items():
                    if name in EVALUATED or name in SAMPLING_METRICS:
                        self._refuse(hook, f"{name!r}, which evaluations measure: give it another name")
                    self._require_shape(hook, number, "[S]", (seeds,))
            case "sample_states":
                self._require_float32(hook, self._require_shape(hook, result, "[S, count, d]", (seeds, None, d)))
            case "criterion_gradient" | "start":
                numbers = self._require_shape(hook, result, "[S, d]", (seeds, d))
                self._require_float32(hook, numbers)
                if not np.isfinite(numbers).all():
                    self._refuse(hook, f"{numbers[~np.isfinite(numbers)][0]}, expected finite numbers")
            case "observe":
                self._require_shape(hook, result, "[], the index of the transition", ())

    def _require_float32(self, hook: str, numbers: np.ndarray) -> None:
        if numbers.dtype != np.float32:
            self._refuse(hook, f"numbers of type {numbers.dtype}, expected float32: use tf.cast")

    def _require_shape(self, hook: str, result: Any, expected: str, shape: tuple) -> np.ndarray:
        """The numbers that a hook returns, of this shape; None stands for any length."""
        if result is None:
            self._refuse(hook, f"nothing, expected {expected}")
        numbers = np.asarray(result)
        if not tf.TensorShape(shape).is_compatible_with(numbers.shape):
            here = ["any" if length is None else length for length in shape]
            self._refuse(hook, f"shape {list(numbers.shape)}, expected {expected}; here {here}".replace("'", ""))
        return numbers

    def _refuse(self, hook: str, words: str) -> NoReturn:
        raise UserError(f"agent {self._run.agent}: `{hook}` returns {words}.")


def _space(environment: str) -> Space:
    """The space of an environment; its twin, if it has one."""
    if has_twin(environment):
        return make_twin(environment)
    try:
        with envs.closed_after(envs.make(environment)) as made:
            return GymSpace(environment, made)
    except envs.UnusableEnvironment as error:
        raise UserError(str(error)) from error


def _transitions(space: Space, seed: int) -> Transition:
    """Random transitions of one seed, arrays [count, ...]."""
    random, count = np.random.default_rng(seed), _STORED + _LEARNED
    low, high = (np.clip(bound, -10, 10) for bound in (space.low, space.high))
    state, next_state = random.uniform(low, high, (2, count, space.state_dim)).astype(np.float32)
    vectors = random.uniform(-1, 1, (count, space.action_dim)).astype(np.float32)
    action = vectors if space.action_dim else random.integers(space.actions or 1, size=count, dtype=np.int32)
    reward, is_last = random.normal(size=count), random.random(count) < 0.2
    return Transition(state, action, reward.astype(np.float32), next_state, is_last.astype(np.float32))
