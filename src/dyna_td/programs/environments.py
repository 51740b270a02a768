"""Gymnasium environments side by side, one or more for each seed, stepped in Python."""

import contextlib
import hashlib
import reprlib
from typing import Any

import gymnasium
import numpy as np

from dyna_td import envs
from dyna_td.envs.spaces import GymSpace
from dyna_td.errors import UserError
from dyna_td.learning.streams import Purpose
from dyna_td.programs.program import CannotResume

MAX_TRIAL_STEPS = 100  # steps of each episode in which `impurity` tries an environment


class EnvironmentStack:
    """C independent copies of one environment for each of S seeds; each reset seeds its copy.

    Any failure inside an environment becomes one sentence with the seed and the step.

    Args:
      environment: its id, see `envs.make`.
      seeds: S whole numbers.
      copies: C.

    Attributes:
      space: the environment's `GymSpace`.
      left_space: by seed, a sentence about the first observation outside the declared space; training continues.
    """

    def __init__(self, environment: str, seeds: tuple[int, ...], copies: int = 1):
        self.name = environment
        self.seeds = seeds
        self.left_space: dict[int, str] = {}
        # Each copy's last reset, and the actions since; together they determine its present state.
        self._resets: dict[tuple[int, int], tuple[int, int]] = {}
        self._actions: dict[tuple[int, int], list[np.ndarray]] = {}
        # Digests of each copy's observations, rewards and ends since its last reset.
        self._answers: dict[tuple[int, int], Any] = {}
        self._environments: list[list[gymnasium.Env]] = [[] for _ in seeds]
        try:
            for made in self._environments:
                made += [envs.make(environment) for _ in range(copies)]
            first = self._environments[0][0]
            self.space = GymSpace(environment, first)
        except envs.UnusableEnvironment as error:
            self.close()
            raise UserError(str(error)) from error
        self._observed, self._acted = first.observation_space, first.action_space
        # The released code treats every end of a roundabout's episode as terminal.
        self._ends_are_terminal = getattr(first.unwrapped, "ends_are_terminal", False)
        with np.errstate(over="ignore"):  # a bound beyond float32 is none
            self._low, self._high = (
                np.asarray(bound, np.float32).ravel()
                for bound in (first.observation_space.low, first.observation_space.high)
            )

    def reset(self, purpose: int, step: int) -> np.ndarray:
        """Starts an episode in every copy: float32 [S, C, d].

        `purpose` and `step` give each of a seed's resets its own random numbers.
        """
        return np.stack(
            [
                np.stack([self.reset_one(s, c, purpose, step) for c in range(len(copies))])
                for s, copies in enumerate(self._environments)
            ]
        )

    def reset_one(self, s: int, c: int, purpose: int, step: int) -> np.ndarray:
        """Starts an episode in copy c of the s-th seed, see `reset`: float32 [d]."""
        self._resets[s, c], self._actions[s, c] = (purpose, step), []
        entropy = np.random.SeedSequence([self.seeds[s], purpose, step + 1, c])
        seed = int(entropy.generate_state(1)[0])
        answer = self._guarded(s, step, "reset", lambda environment: environment.reset(seed=seed), c)
        observation, _ = self._parts(answer, ("observation", "info"), "reset", s, step)
        flat = self._checked(observation, s, step)
        self._answers[s, c] = hashlib.blake2b(flat.tobytes())
        return flat

    def step(self, s: int, c: int, action: np.ndarray, step: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Takes one step in copy c of the s-th seed.

        Args:
          s: number of the seed.
          c: number of the copy.
          action: a number, or a vector [a] in [-1, 1].
          step: environment steps so far, for error messages.

        Returns:
          The observation (float32 [d]), the reward, whether it is terminal, whether the episode is over, and the info.
        """
        self._actions[s, c].append(np.array(action))
        made = envs.as_declared(action, self._acted)
        answer = self._guarded(s, step, "step", lambda environment: environment.step(made), c)
        parts = ("observation", "reward", "terminated", "truncated", "info")
        observation, *numbers, info = self._parts(answer, parts, "step", s, step)
        reward, terminated, truncated = (
            self._number(number, part, s, step) for number, part in zip(numbers, parts[1:4], strict=True)
        )
        is_over = bool(terminated or truncated)
        is_terminal = is_over if self._ends_are_terminal else bool(terminated)
        flat = self._checked(observation, s, step)
        self._answers[s, c].update(flat.tobytes() + np.array([reward, terminated, truncated]).tobytes())
        return flat, reward, is_terminal, is_over, info

    def drive_ahead(self, actions: dict[tuple[int, int], np.ndarray]) -> None:
        """Announces the actions of the next steps, by seed and copy, to environments that can move together.

        The steps then give the same results, but sooner.
        """
        driven = [self._environments[s][c].unwrapped for s, c in actions]
        if driven and hasattr(driven[0], "drive_ahead"):
            driven[0].drive_ahead(driven, [envs.as_declared(action, self._acted) for action in actions.values()])

    def answers(self, s: int, c: int) -> str:
        """A digest of all that copy c of the s-th seed answered since its last reset."""
        return self._answers[s, c].hexdigest()

    def snapshot(self) -> dict[str, np.ndarray]:
        """Every copy's last reset, the actions since, and a digest of the answers."""
        arrays = {}
        for s, c in self._resets:
            arrays[f"reset.{s}.{c}"] = np.array(self._resets[s, c])
            arrays[f"actions.{s}.{c}"] = np.array(self._actions[s, c])
            arrays[f"answers.{s}.{c}"] = np.array(self.answers(s, c))
        return arrays

    def resume(self, snapshot: dict[str, np.ndarray]) -> np.ndarray:
        """Repeats the resets and actions of a snapshot; returns the observations, float32 [S, C, d].

        Raises:
          CannotResume: an environment gives other answers than before.
        """
        observed = []
        for s, copies in enumerate(self._environments):
            for c in range(len(copies)):
                copy = f"{s}.{c}"
                purpose, step = map(int, snapshot[f"reset.{copy}"])
                try:
                    observation = self.reset_one(s, c, purpose, step)
                    for action in snapshot[f"actions.{copy}"]:
                        observation = self.step(s, c, action, step)[0]
                    is_same = self.answers(s, c) == str(snapshot[f"answers.{copy}"])
                except UserError:
                    is_same = False
                if not is_same:
                    raise CannotResume(
                        f"environment {self.name}, seed {self.seeds[s]}: its last episode, repeated, gave other numbers"
                    )
                observed.append(observation)
        return np.stack(observed).reshape(len(self.seeds), -1, self.space.state_dim)

    def close(self) -> None:
        """Closes all copies, and ignores their errors, which no longer matter."""
        for made in self._environments:
            while made:
                with contextlib.suppress(Exception, SystemExit):
                    made.pop().close()

    def _guarded(self, s, step, what, call, c):
        try:
            return call(self._environments[s][c])
        except (Exception, SystemExit) as error:  # a foreign environment may raise anything
            message, place = " ".join(str(error).split()), envs.place_of(error)
            raise UserError(
                f"{self._where(s, step)}: {what} raised {type(error).__name__}: {message}{place}; training stops."
            ) from error

    def _parts(self, answer, parts: tuple[str, ...], what: str, s: int, step: int) -> tuple:
        """The parts of a method's result; another number of them, as of older environments, stops the training."""
        if not isinstance(answer, tuple) or len(answer) != len(parts):
            given = f"{len(answer)} values" if isinstance(answer, tuple) else type(answer).__name__
            raise UserError(
                f"{self._where(s, step)}: {what} returned {given}, expected a tuple of {', '.join(parts)}, as "
                "Gymnasium has it; training stops."
            )
        return answer

    def _number(self, value, what: str, s: int, step: int) -> float:
        """A finite reward, or an end that is 0 or 1, as a float; any other value stops the training."""
        is_reward = what == "reward"
        expected = "a finite number" if is_reward else "True or False"
        with contextlib.suppress(Exception):  # a foreign value, such as a list of lists, may raise anything
            number = np.asarray(value)
            if number.size == 1 and number.dtype.kind in "biuf":
                value = float(number.item())
                if abs(value) <= float(np.finfo(np.float32).max) if is_reward else value in (0.0, 1.0):
                    return value
                if is_reward and np.isfinite(value):  # finite, but too large for the buffer's float32
                    expected += ", which float32 holds"
        raise UserError(f"{self._where(s, step)}: {what} is {_shown(value)}, expected {expected}; training stops.")

    def _checked(self, observation, s: int, step: int) -> np.ndarray:
        """The flattened observation; a wrong size or a number that is not finite stops the training."""
        try:
            with np.errstate(over="ignore"):  # a number beyond float32 is refused below
                flat = np.array(observation, np.float32).ravel()  # a copy: some environments refill one array
        except Exception as error:  # a foreign value may raise anything
            raise UserError(
                f"{self._where(s, step)}: the observation is {_shown(observation)}, expected numbers of shape "
                f"{self._observed.shape}; training stops."
            ) from error
        if flat.size != self.space.state_dim:
            shape = np.shape(observation)
            raise UserError(
                f"{self._where(s, step)}: the observation has shape {shape}, its declared space "
                f"{self._observed.shape}; training stops."
            )
        if not np.isfinite(flat).all():
            part = int(np.flatnonzero(~np.isfinite(flat))[0])
            raise UserError(f"{self._where(s, step)}: part {part} of the observation is {flat[part]}; training stops.")
        if self.seeds[s] not in self.left_space and (outside := (flat < self._low) | (flat > self._high)).any():
            part = int(np.flatnonzero(outside)[0])
            declared = f"[{self._low[part]:g}, {self._high[part]:g}]"
            self.left_space[self.seeds[s]] = (
                f"{self._where(s, step)}: part {part} of the observation was {flat[part]:g}, outside its declared "
                f"{declared}"
            )
        return flat

    def _where(self, s: int, step: int) -> str:
        when = f"step {step}" if step >= 0 else "before the first step"
        return f"environment {self.name}, seed {self.seeds[s]}, {when}"


def impurity(environment: str, seed: int) -> str:
    """A sentence, if the seed of `reset` does not determine the numbers of an environment; else empty.

    It plays an episode, another one, and then the first beside a second copy, with which it may share random numbers.
    Each episode has at most `MAX_TRIAL_STEPS` steps.
    """
    with contextlib.closing(EnvironmentStack(environment, (seed,), copies=2)) as stack:
        try:
            first, _, repeated = (_try(stack, *trial) for trial in ((-1, 1), (0, 1), (-1, 2)))
        except UserError:  # training will meet the same error, and report it
            return ""
    if first == repeated:
        return ""
    return f"environment {environment}: after two resets with one seed, the same actions gave other numbers"


def _try(stack: EnvironmentStack, step: int, copies: int) -> str:
    """Takes random actions from a reset of the first copies on; returns the digest of the first one's answers."""
    random = np.random.default_rng(0)
    for c in range(copies):
        stack.reset_one(0, c, Purpose.RESET, step)
    space, running = stack.space, [*range(copies)]
    for _ in range(MAX_TRIAL_STEPS):
        action = random.integers(space.actions) if space.actions else random.uniform(-1, 1, space.action_dim)
        running = [c for c in running if not stack.step(0, c, action, step)[3]]
        if 0 not in running:
            break
    return stack.answers(0, 0)


def _shown(value) -> str:
    """A value in a few words, on one line."""
    return " ".join(reprlib.repr(value).split())
