"""What the training loop needs of a program, and what all programs need."""

from collections.abc import Iterator

import numpy as np
import tensorflow as tf

from dyna_td.learning.streams import Streams
from dyna_td.registry import AGENTS, learner_of, load, program_of
from dyna_td.settings import Run


class Program(tf.Module):
    """S seeds of one run in the graph.

    Subclasses set `optimizers` and define two compiled functions: `train(steps)` takes that many steps (int32 scalar),
    and `evaluate()` returns each metric as float32 [S] without changing anything.

    Attributes:
      step: steps taken so far.
      optimizers: all optimizers; a sweep changes the learning rate of the first.
    """

    def __init__(self):
        super().__init__()
        self.step = tf.Variable(0, dtype=tf.int64)
        self.optimizers = []

    def compile(self, measures: bool) -> None:
        """Compiles what training calls, with its measurements or without, and changes nothing."""
        self.train(tf.constant(0))
        self.evaluate()
        if measures:
            self.measure()

    def values(self) -> list[np.ndarray]:
        """What `restore` goes back to: a copy of `variables`, in which zeros alone (an empty buffer) take no room."""
        return [
            view.copy() if _bits(view).any() else np.broadcast_to(view.dtype.type(0), view.shape)
            for view in self._views()
        ]

    def restore(self, values: list[np.ndarray]) -> None:
        """Goes back to where `variables`, all that training changes, had these values."""
        for variable, view, value in zip(self.variables, self._views(), values, strict=True):
            # A buffer that is as it was is left alone: its replacement would need its memory twice.
            if not np.array_equal(_bits(view), _bits(value)):
                variable.assign(value)

    def _views(self) -> Iterator[np.ndarray]:
        """The memory of each of `variables`, not a copy; as long as it is held, training puts its results elsewhere."""
        return (np.asarray(memoryview(variable.read_value())) for variable in self.variables)

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """More metrics, each [S], and sets of states by source, each [S, N, 2]; by default nothing.

        Unlike `evaluate`, it is not called at step 0, nor while learning rates are selected.
        """
        return {}, {}

    def remarks(self) -> dict[int, str]:
        """By seed, what a person should know of the training so far, in a sentence; by default nothing."""
        return {}

    def snapshot(self) -> dict[str, np.ndarray]:
        """Everything that training has changed, by name, for `resume`; not a copy: let go of it before training on."""
        return {f"variable.{number}": view for number, view in enumerate(self._views())}

    def resume(self, snapshot: dict[str, np.ndarray]) -> None:
        """Goes on from a `snapshot` of a program of the same run."""
        self.restore([snapshot[f"variable.{number}"] for number in range(len(self.variables))])


def _bits(array: np.ndarray) -> np.ndarray:
    """The array's elements as whole numbers, of which 0 is nothing but zeros: unlike -0.0."""
    return array.view(f"u{array.itemsize}")


def make_program(run: Run) -> Program:
    """The program that trains `run`."""
    return load(program_of(run))(run)


def make_agent(run: Run, streams: Streams, space) -> tf.Module:
    """The agent of a control run with its learner, in the environment with this `envs.spaces.Space`."""
    learner = load(learner_of(run.settings))(run.settings, streams, space)
    return load(AGENTS[run.agent].path)(run.settings, learner, streams, space, run.steps)
