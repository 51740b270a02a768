"""Dyna-TD: search control on the absolute TD error, the paper's contribution (Algorithms 3 and 4)."""

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.search.criteria import gradient, log_td_error


class DynaTD(Dyna):
    """This is HC-Dyna with: h(s) = log(|y(s) - max_a Q(s, a)| + 1e-5), y(s) the greedy action's target by the model.

    y is held constant (below Eq. 3), except under the rule `langevin`, whose limit needs the whole gradient.
    """

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        if self.settings.search_control == "langevin":
            return gradient(lambda s: self.h(s, self.target_by_model(s[..., 0], step, i)), state[..., None])[..., 0]
        y = self.target_by_model(state, step, i)
        return gradient(lambda s: self.h(s, y), state[..., None])[..., 0]

    def h(self, columns: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """The criterion of one state a seed: columns [S, d, 1] and y [S] -> [S, 1]."""
        return log_td_error(self.learner.value, columns, y[:, None])


class DynaTDLong(DynaTD):
    """This is Dyna-TD with: chains of 1000 steps, long enough to become stationary (`runs.DynaTDLongSettings`)."""
