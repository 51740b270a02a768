"""Dyna-Value: search control on the learned value (Pan et al., 2019)."""

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.search.rules import gradient


class DynaValue(Dyna):
    """This is HC-Dyna with: h(s) = max_a Q(s, a)."""

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return gradient(self.learner.value, state[..., None])[..., 0]
