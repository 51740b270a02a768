"""PAL: the prioritized approximation loss (Fujimoto, Meger, Precup, 2020, Section 5)."""

import tensorflow as tf

from dyna_td.agents.er import ER
from dyna_td.agents.lap import lap_priority
from dyna_td.learning.sums import total


class PAL(ER):
    """This is ER with: a loss whose expected gradient under uniform draws is LAP's under its prioritized draws.

    LAP's priorities may be outdated. PAL's never are, because its loss computes them for the mini-batch.
    """

    def loss(self, td_error: tf.Tensor) -> tf.Tensor:
        """delta^2 / 2 where |delta| <= 1, else |delta|^(1 + alpha) / (1 + alpha).

        This is divided by the mini-batch's mean of LAP's priorities, which is held constant.
        """
        alpha = self.settings.priority_exponent
        beyond = lap_priority(td_error, 1.0 + alpha) / (1.0 + alpha)
        mean = total(lap_priority(td_error, alpha))[:, None] / td_error.shape[1]  # [S, 1]
        return tf.where(tf.abs(td_error) <= 1.0, 0.5 * td_error**2, beyond) / tf.stop_gradient(mean)
