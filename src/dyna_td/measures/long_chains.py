"""Chains that are long enough to mix, on the final Q of a training (claims 45 and 46).

They start from two kinds of states; the distance between their visits shows whether they have mixed. Metropolis's
acceptance makes |delta| the stationary law by construction, whatever is proposed: adjusted chains and random walks miss
it only if they are too short. The paper has no such step. Its own is judged by chains without acceptance, with
Langevin steps a, a / 10 and a / 100.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import tensorflow as tf

from dyna_td.learning.networks import as_columns, as_rows
from dyna_td.learning.streams import Purpose
from dyna_td.measures.frozen_q import SMALL_STEP, FrozenQ, Kind, chain_metrics
from dyna_td.search.rules import LANGEVIN_STEP
from dyna_td.theory import densities

WALK = 0.1  # standard deviation of a random walk's proposal, two cells; our choice


@dataclass(frozen=True)
class LongKind(Kind):
    """A kind of long chain: from states of B_er or uniform ones, without acceptance or with Metropolis's.

    Attributes:
      metropolis: what proposes, "langevin" or "walk"; "" for chains without acceptance.
    """

    is_uniform: bool = False
    metropolis: str = ""


def _both(name: str, kind: LongKind) -> dict[str, LongKind]:
    return {name: kind, f"{name}_uniform": replace(kind, is_uniform=True)}


_LANGEVIN = LongKind("langevin", through_y=True)
LONG_KINDS = {
    **_both("adjusted", replace(_LANGEVIN, metropolis="langevin")),
    **_both("longer", _LANGEVIN),
    "longer_constant_y": LongKind("langevin"),
    **_both("tenth", replace(_LANGEVIN, step_size=LANGEVIN_STEP / 10)),
    **_both("hundredth", replace(_LANGEVIN, step_size=SMALL_STEP)),
    **_both("walk", LongKind("random walk", metropolis="walk")),
}
ACCEPTANCE = 100  # added to a kind's number in the draws of acceptance
# The two kinds of chains that a metric compares, by the end of its name.
PAIRS = {
    "adjusted": ("adjusted", "adjusted_uniform"),
    "longer": ("longer", "longer_uniform"),
    "constant_y": ("longer", "longer_constant_y"),
    "tenth": ("tenth", "tenth_uniform"),
    "hundredth": ("hundredth", "hundredth_uniform"),
    "walk": ("walk", "walk_uniform"),
}


class LongChains(FrozenQ):
    """Measures Langevin chains and random walks from states of B_er and from uniform ones; see `FrozenQ`."""

    kinds = LONG_KINDS
    chains = 16

    def measure(self, step: tf.Tensor) -> tuple[dict[str, np.ndarray], dict[str, tf.Tensor]]:
        """See `FrozenQ.measure`; there are no states to show."""
        visits, error, online_error = self._on_open_cells(self._run_chains()[0])
        shares = {kind: counts / counts.sum(axis=1, keepdims=True) for kind, counts in visits.items()}
        between = {
            f"variation_between_{name}": densities.total_variation(shares[one], shares[other])
            for name, (one, other) in PAIRS.items()
        }
        return chain_metrics(visits, error, online_error) | between, {}

    def starts(self, t: tf.Tensor, number: int) -> tf.Tensor:
        """States of B_er, or uniform in the square: [S, C, d]."""
        kinds = [*self.kinds.values()]
        if number < len(kinds) and kinds[number].is_uniform:  # the ideal draws come after all kinds
            return self.streams.uniform(Purpose.FROZEN_CHAIN_STARTS, (self.chains, self.twin.state_dim), t, number)
        return super().starts(t, number)

    def chain(self, kind: LongKind, number: int) -> Callable:
        if kind.metropolis:
            return self._adjusted(number) if kind.metropolis == "langevin" else self._walk(number)
        return super().chain(kind, number)

    def _walk(self, number: int) -> Callable:
        """Random-walk Metropolis in the square, which needs no gradient; see `_adjusted`."""

        def advance(state, t):
            noise = self.streams.normal(Purpose.FROZEN_CHAIN_NOISE, state.shape[1:], step=t, inner=number)
            proposed = state + WALK * noise
            gain = self.height(as_columns(proposed)) - self.height(as_columns(state))
            return self._accept_or_stay(state, proposed, gain, t, number)

        return advance

    def _adjusted(self, number: int) -> Callable:
        """The Metropolis-adjusted Langevin algorithm in the square, whose sides have length 1; see `FrozenQ.chain`."""
        a, d = LANGEVIN_STEP, self.twin.state_dim

        def advance(state, t):
            noise = self.streams.normal(Purpose.FROZEN_CHAIN_NOISE, (self.chains, d), step=t, inner=number)
            h, slope = self._h_and_slope(state)
            proposed = state + a * slope + (2.0 * a) ** 0.5 * noise
            h_there, slope_there = self._h_and_slope(proposed)
            # log q(s' | s) and log q(s | s'): both are normal, with variance 2 a around a step along the gradient.
            there = -_squared_length(noise) / 2.0
            back = -_squared_length(state - proposed - a * slope_there) / (4.0 * a)
            return self._accept_or_stay(state, proposed, h_there - h + back - there, t, number)

        return advance

    def _accept_or_stay(self, state, proposed, log_ratio, t, number: int) -> tuple[tf.Tensor, tf.Tensor]:
        """The next states [S, C, d], old or new, and that all of them count, bool [S, C].

        A proposal outside the square is rejected. Others are accepted with probability min(1, exp(log_ratio)), [S, C].
        """
        chance = self.streams.uniform(Purpose.FROZEN_CHAIN_NOISE, (self.chains,), t, number + ACCEPTANCE)
        is_inside = tf.reduce_all((proposed >= 0.0) & (proposed <= 1.0), axis=-1)
        accepted = is_inside & (tf.math.log(chance) < log_ratio)
        return tf.where(accepted[..., None], proposed, state), tf.ones(state.shape[:2], tf.bool)

    def _h_and_slope(self, state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """h and its gradient through y: [S, C, d] -> [S, C] and [S, C, d]; parts that are not finite become 0."""
        columns = as_columns(state)
        slope = as_rows(self.slope(columns, through_y=True))
        return self.height(columns), tf.where(tf.math.is_finite(slope), slope, 0.0)

    def height(self, columns: tf.Tensor) -> tf.Tensor:
        """h = log |delta|: [S, d, B] -> [S, B]."""
        return self.agent.h(columns, self.targets(columns))


def _squared_length(rows: tf.Tensor) -> tf.Tensor:
    """The squared length of each row: [S, C, d] -> [S, C]."""
    return tf.reduce_sum(tf.square(rows), axis=-1)
