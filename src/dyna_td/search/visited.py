"""Running statistics of the states that the agent visits: mu, Sigma and epsilon_accept (Algorithm 4)."""

import tensorflow as tf

from dyna_td.learning.replay import Transition
from dyna_td.learning.sums import length

THRESHOLD_RATE = 0.001  # beta of epsilon_accept (Alg. 4)


class VisitedStates(tf.Module):
    """Running statistics of the states that the agent visits (Alg. 4, first lines).

    Args:
      seeds: S.
      state_dim: d.
    """

    def __init__(self, seeds: int, state_dim: int):
        super().__init__()
        self._count = tf.Variable(0.0, trainable=False)
        self._mean = tf.Variable(tf.zeros([seeds, state_dim]), trainable=False)  # mu_s
        self._mean_product = tf.Variable(tf.zeros([seeds, state_dim, state_dim]), trainable=False)  # mu_ss
        # Means of ||s' - s||, for the distance of acceptance: `released` takes the plain mean over sqrt(d), Algorithm 4
        # the exponential mean.
        self.mean_move = tf.Variable(tf.zeros([seeds]), trainable=False)
        self.recent_move = tf.Variable(tf.zeros([seeds]), trainable=False)

    def observe(self, transition: Transition) -> None:
        """Adds the newest transition (B = 1) to the statistics."""
        s, next_s = transition.state[:, 0], transition.next_state[:, 0]  # [S, d]
        move = length(next_s - s)
        self._count.assign_add(1.0)
        share = 1.0 / self._count
        self._mean.assign_add(share * (s - self._mean))
        self._mean_product.assign_add(share * (s[:, :, None] * s[:, None, :] - self._mean_product))
        self.mean_move.assign_add(share * (move - self.mean_move))
        self.recent_move.assign_add(THRESHOLD_RATE * (move - self.recent_move))

    @property
    def covariance(self) -> tf.Tensor:
        """Sigma_s: [S, d, d]."""
        return self._mean_product - self._mean[:, :, None] * self._mean[:, None, :]
