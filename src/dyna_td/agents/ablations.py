"""Ablations of Dyna-TD, Dyna-Value and ER: each replaces one part, to show which part helps. The paper has none.

`DescendTD`, `DescendValue`, `MovingTarget`, `RandomSign`, `RandomSignEachStep`, `RandomDirection` and `NoiseOnly`
change what chains climb. `UniformStates`, `ReplayedStates` and `IdealStates` draw states without chains. `CubicDQN`,
`MixedDQN` and `HuberDQN` have the losses of prioritized agents, without any prioritized draw.
"""

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.agents.dyna_value import DynaValue
from dyna_td.agents.er import ER
from dyna_td.agents.lap import huber
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose
from dyna_td.learning.sum_tree import build_levels, draw_leaves
from dyna_td.learning.sums import total
from dyna_td.learning.xla import call_where
from dyna_td.measures.sampling import CELLS, SamplingDistributions


class DescendValue(DynaValue):
    """This is Dyna-Value with: h(s) = -max_a Q(s, a), so its chains descend the value."""

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return -super().criterion_gradient(state, step, i)


class DescendTD(DynaTD):
    """This is Dyna-TD with: h(s) = -log |delta(s)|, so its chains go where the TD error is small."""

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return -super().criterion_gradient(state, step, i)


class MovingTarget(DynaTD):
    """This is Dyna-TD with: grad h through y-hat, too, where the paper holds y-hat constant (below Eq. 3)."""

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return self.whole_gradient(state, step, i)


class RandomSign(DynaTD):
    """This is Dyna-TD with: all gradients of a fill multiplied by +1 or -1, at the toss of a fair coin.

    Normalised, the gradient of log |delta| is that of V times a sign that depends on the TD error. The coin makes this
    sign random: half of the fills follow Dyna-TD, the others `DescendTD`. It is tossed once per fill, because Dyna-TD's
    sign rarely changes along a chain.
    """

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return self.sign(step)[:, None] * super().criterion_gradient(state, step, i)

    def sign(self, step: tf.Tensor) -> tf.Tensor:
        """The coin of this environment step's fill, -1 or 1: [S]."""
        coin = self.streams.uniform(Purpose.CHAIN_CRITERION, (1,), step=step)[:, 0]
        return tf.where(coin < 0.5, -1.0, 1.0)


class RandomSignEachStep(DynaTD):
    """This is `RandomSign` with: a toss for every step of a chain, so that chains move back and forth."""

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        coin = self.streams.uniform(Purpose.CHAIN_CRITERION, (1,), step=step, inner=i)  # [S, 1]
        return tf.where(coin < 0.5, -1.0, 1.0) * super().criterion_gradient(state, step, i)


class RandomDirection(Dyna):
    """This is HC-Dyna with: a linear h of random direction, drawn for each fill; chains travel far, but at random.

    The gradient of h is isotropic if each coordinate is measured in standard deviations of the visited states.
    Coordinates that share one unit are not scaled. The rule of the chain's step is applied afterwards.
    """

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        direction = self.streams.normal(Purpose.CHAIN_CRITERION, (state.shape[1],), step=step)  # [S, d]
        if self.search_control.space.shares_one_unit:
            return direction
        variance = tf.linalg.diag_part(self.search_control.visited.covariance)
        return tf.math.divide_no_nan(direction, tf.sqrt(tf.maximum(variance, 0.0)))


class NoiseOnly(Dyna):
    """This is HC-Dyna with: a constant h, so only noise moves its chains away from states of B_er.

    Without gradient steps the chains also travel far less; `RandomDirection` keeps their travel.
    """

    def criterion_gradient(self, state: tf.Tensor, step: tf.Tensor, i: tf.Tensor) -> tf.Tensor:
        return tf.zeros_like(state)


class _WithoutChains(Dyna):
    """This is HC-Dyna with: m states drawn at once in place of a chain; without terminal ones, unless `queue_goals`."""

    def draw_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        """`count` states for this environment step's fill, terminal ones included: [S, count, d]."""
        raise NotImplementedError

    def search(self, step: tf.Tensor, chain_steps: tf.Tensor) -> None:
        def fill():
            states, count = self.first_alive(self.draw_states(step, 2 * self.settings.states_per_fill))
            self.queue.add(states, count)
            self.search_control.counters["chain_states"].assign_add(tf.cast(count, tf.int64))

        call_where(chain_steps > 0, fill)

    def first_alive(self, states: tf.Tensor) -> tf.Tensor:
        """The first m of `states` [S, N, d] that the queue takes, and their number: [S, m, d], int32 [S]."""
        m = self.settings.states_per_fill
        if self.settings.queue_goals:
            return states[:, :m], tf.fill([states.shape[0]], m)
        is_terminal = tf.cast(self.search_control.space.is_terminal(states), tf.int32)  # [S, N]
        order = tf.argsort(is_terminal, axis=1, stable=True)[:, :m]
        alive = tf.reduce_sum(1 - is_terminal, axis=1)
        return tf.gather(states, order, batch_dims=1), tf.minimum(alive, m)


class UniformStates(_WithoutChains):
    """This is HC-Dyna with: states drawn uniformly from the box of states, the widest possible coverage."""

    def draw_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        space = self.search_control.space
        uniforms = self.streams.uniform(Purpose.CHAIN_START, (count, space.state_dim), step=step)
        return space.nearest_state(space.low + (space.high - space.low) * uniforms)


class ReplayedStates(_WithoutChains):
    """This is HC-Dyna with: unchanged states of B_er; only the actions and the model's predictions are new."""

    def draw_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        return self.replay.gather(
            self.streams.integers(Purpose.CHAIN_START, (count,), self.replay.size, step=step)
        ).state


class IdealStates(_WithoutChains):
    """This is HC-Dyna with: states drawn from p* itself (Section 4.2) at a resolution of 50x50 cells, on GridWorld.

    `measures.sampling` computes p*. Terminal states are excluded, and a state is uniform within its cell. By default
    B_sc holds only states of the newest 50 environment steps, because p* changes during training.
    """

    def draw_states(self, step: tf.Tensor, count: int) -> tf.Tensor:
        sampling = SamplingDistributions(self, self.streams, self.search_control.space)
        uniforms = self.streams.uniform(Purpose.CHAIN_START, (count, 3), step=step)
        cells, _ = draw_leaves(build_levels(sampling.absolute_td_errors(step)), uniforms[..., 0])
        return self.search_control.space.nearest_state(tf.gather(sampling.corners, cells) + uniforms[..., 1:] / CELLS)


class CubicDQN(ER):
    """This is ER with: the cubic loss, which has the expected gradient of prioritized sampling (Theorem 1).

    The squared loss has the constant weight |delta| / c, where c is the mini-batch's mean |delta|. Its gradient, that
    of 2/3 |delta|^3 / c, is the expected one under draws from the mini-batch in proportion to |delta|. The TD errors
    are never outdated, but they cover only a uniform mini-batch.
    """

    def mini_batch(self, step: tf.Tensor, k: tf.Tensor) -> tuple[Transition, tf.Tensor, tf.Tensor]:
        batch, indices, _ = super().mini_batch(step, k)
        error = tf.abs(self.learner.td_error(batch))  # [S, b]
        c = total(error)[:, None] / self.settings.batch_size
        return batch, indices, tf.math.divide_no_nan(error, c)


class MixedDQN(CubicDQN):
    """This is ER with: half of the squared and half of the cubic loss, as PrioritizedER draws half of its mini-batch.

    The loss of a transition is 0.5 delta^2 + 0.5 |delta|^3 / c. With c = 3/2 of the mini-batch's mean |delta|, held
    constant, its gradient is the expected one of a mini-batch whose one half is uniform, the other drawn in proportion
    to |delta| (Theorem 1). It is implemented as the squared loss with a constant weight.
    """

    def mini_batch(self, step: tf.Tensor, k: tf.Tensor) -> tuple[Transition, tf.Tensor, tf.Tensor]:
        batch, indices, cubic = super().mini_batch(step, k)
        return batch, indices, 0.5 + 0.5 * cubic


class HuberDQN(ER):
    """This is ER with: Huber's loss, which is LAP's without its prioritized draws."""

    def loss(self, td_error: tf.Tensor) -> tf.Tensor:
        return huber(td_error)
