"""A training of `dyna_td` with measurements on its final Q (claims 45 to 47)."""

import tensorflow as tf

from dyna_td.measures.frozen_q import FrozenQ
from dyna_td.measures.long_chains import LongChains
from dyna_td.programs.twin import TwinProgram
from dyna_td.runs.run import Run


class FrozenProgram(TwinProgram):
    """The program of `dyna_td`, with measurements on Q at the last step of `run`."""

    def __init__(self, run: Run):
        super().__init__(run)
        self.last_step = run.steps

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """See `Program.measure`."""
        metrics, states = super().measure()
        if self.step.numpy() < self.last_step:
            return metrics, states
        measures = LongChains if self.agent.settings.probe == "long_chains" else FrozenQ
        probe = measures(self.agent, self.streams, self.sampling)
        numbers, visited = probe.measure(self.step.read_value())
        return metrics | {name: tf.constant(value, tf.float32) for name, value in numbers.items()}, states | visited
