"""The interface between the training loop and a program, and the part that all programs share."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from dyna_td.learning.streams import Streams
from dyna_td.runs.registry import AGENTS, learner_of, load, program_of
from dyna_td.runs.run import Run


class CannotResume(Exception):
    """A training cannot continue from its checkpoint with the same numbers; its text says why, without a full stop."""


class Program(tf.Module):
    """The compiled training of S seeds of one run.

    Subclasses set `optimizer` and define two functions. `train(steps)` takes that many steps (int32 scalar).
    `evaluate()` returns each metric [S], in float64 where float32 does not hold it, and changes nothing.

    Attributes:
      step: steps taken so far.
      optimizer: its learning rate is the run's, which a sweep changes.
    """

    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0, dtype=tf.int64)
        self.optimizer: Any = None

    def compile(self, measures: bool) -> None:
        """Compiles all that training calls, with or without measurements, and changes nothing."""
        self.train(tf.constant(0))
        self.evaluate()
        if measures:
            self.measure()

    def values(self) -> list[np.ndarray]:
        """A copy of `variables`, for `restore`; arrays of zeros, such as empty buffers, take no memory."""
        return [
            view.copy() if _bits(view).any() else np.broadcast_to(view.dtype.type(0), view.shape)
            for view in self._views()
        ]

    def restore(self, values: list[np.ndarray]) -> None:
        """Sets `variables`, all that training changes, to these values."""
        for variable, view, value in zip(self.variables, self._views(), values, strict=True):
            # An unchanged buffer is left alone: its replacement would need its memory twice.
            if not np.array_equal(_bits(view), _bits(value)):
                variable.assign(value)

    def _views(self) -> Iterator[np.ndarray]:
        """The memory of each of `variables`, not copies; while they are held, training writes elsewhere."""
        return (np.asarray(memoryview(variable.read_value())) for variable in self.variables)

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """More metrics, each [S], and sets of states by source, each [S, N, 2]; by default nothing.

        Unlike `evaluate`, it is called neither at step 0 nor while learning rates are selected.
        """
        return {}, {}

    def remarks(self) -> dict[int, str]:
        """By seed, a sentence on anything unusual in the training so far; by default none."""
        return {}

    def snapshot(self) -> dict[str, np.ndarray]:
        """All that training has changed, by name, for `resume`; no copy, so release it before training continues."""
        return {f"variable.{number}": view for number, view in enumerate(self._views())}

    def resume(self, snapshot: dict[str, np.ndarray]) -> None:
        """Continues from a `snapshot` of a program of the same run.

        Raises:
          CannotResume: it would continue with other numbers.
        """
        self.restore([snapshot[f"variable.{number}"] for number in range(len(self.variables))])

    def close(self) -> None:
        """Closes what the program opened, by default nothing."""


def _bits(array: np.ndarray) -> np.ndarray:
    """The array's bits as whole numbers, which distinguish 0.0 from -0.0."""
    return array.view(f"u{array.itemsize}")


def make_program(run: Run) -> Program:
    """The program that trains `run`."""
    return load(program_of(run))(run)


def make_agent(run: Run, streams: Streams, space) -> tf.Module:
    """The agent of a control run with its learner; `space` is the environment's `envs.spaces.Space`."""
    learner = load(learner_of(run.settings))(run.settings, streams, space)
    return load(AGENTS[run.agent].path)(run.settings, learner, streams, space, run.length)
