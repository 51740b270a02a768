"""Dyna-TD: search control on the absolute TD error, the paper's contribution (Algorithms 3 and 4).

Algorithm 4 reads in four places:

    the chain, while c < k and i < k_b    `search.chain.SearchControl.fill`, by a rule of `search.rules`
    y-hat, h and its gradient             `DynaTD`
    B_sc and the mixed mini-batches       `agents.dyna.Dyna`
    for t: a step, then n updates         `programs.twin.TwinProgram`, in Gymnasium `GymProgram`; `agents.er.ER.learn`

Of the rules, `Algorithm4` is the box, and figures take `Released`. `search.visited` has mu, Sigma and epsilon_accept.
docs/deviations.md lists the paper's symbols with their names here.
"""

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose
from dyna_td.search.rules import gradient


class DynaTD(Dyna):
    """This is HC-Dyna with: h(s) = log(|y-hat(s) - max_a Q(s, a)| + 1e-5)."""

    smoothing = 1.0e-5  # inside the logarithm (Alg. 4)

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        """grad h with y-hat constant (below Eq. 3), or through it if the rule says so, to converge to exp h."""
        if self.search_control.rule.through_y:
            return self.whole_gradient(state, step, i)
        y = self.y_hat(state, step, i)
        return gradient(lambda s: self.h(s, y[:, None]), state[..., None])[..., 0]

    def whole_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        """grad h through y-hat, too; arguments and shape as in `criterion_gradient`."""
        return gradient(lambda s: self.h(s, self.y_hat(s[..., 0], step, i)[:, None]), state[..., None])[..., 0]

    def h(self, columns: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        """The criterion (Eq. 3): columns of states [S, d, B] and targets [S, B] -> [S, B]."""
        return tf.math.log(tf.abs(y - self.learner.value(columns)) + tf.constant(self.smoothing, columns.dtype))

    def y_hat(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        """The model's target of the greedy action, states [S, d] -> [S]: r + gamma max_a Q_target(s', a).

        A rule may bootstrap from Q itself. With DDPG, Q(s, pi(s)) takes the place of each maximum (Section 5).
        """
        rows = state[:, None]
        action = self.learner.greedy(rows)
        next_state, reward, terminated = self.model.predict(rows, action, self.noise(Purpose.CHAIN_MODEL, 1, step, i))
        made = Transition(rows, action, reward, next_state, terminated)
        return self.learner.td_target(made, self.search_control.rule.online)[:, 0]
