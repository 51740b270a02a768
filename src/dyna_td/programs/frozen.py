"""A training of `dyna_td` with measurements on its final Q (claims 45 to 47)."""

import numpy as np
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
        self.seeds = run.seeds
        self.always_restarting: dict[int, list[str]] = {}  # kinds of chains that restart at every step, by seed

    def measure(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """See `Program.measure`."""
        metrics, states = super().measure()
        if self.step.numpy() < self.last_step:
            return metrics, states
        measures = LongChains if self.agent.settings.probe == "long_chains" else FrozenQ
        probe = measures(self.agent, self.streams, self.sampling)
        numbers, visited = probe.measure(self.step.read_value())
        is_trained = np.isfinite(numbers["variation_uniform"])
        for kind in probe.kinds:
            for index in (is_trained & np.isnan(numbers[f"beta_{kind}"])).nonzero()[0]:
                self.always_restarting.setdefault(self.seeds[index], []).append(kind)
        return metrics | {name: tf.constant(value, tf.float32) for name, value in numbers.items()}, states | visited

    def remarks(self) -> dict[int, str]:
        """See `Program.remarks`: chains that restart at every step."""
        return {
            seed: f"seed {seed}: its long chains by {', '.join(kinds)} restarted at every step"
            for seed, kinds in self.always_restarting.items()
        }
