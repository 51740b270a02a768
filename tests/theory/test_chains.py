"""Chains for a known |delta| (Section 4.1, claim 45): the rules on a box, and in one dimension at zeros and jumps."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import Space

from dyna_td.agents.dyna_td import DynaTD
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.search import rules
from dyna_td.search.chain import SearchControl
from dyna_td.settings import DynaSettings
from dyna_td.theory import zero_crossing
from dyna_td.theory.densities import fitted_exponent, total_variation
from dyna_td.theory.zero_crossing import CROSSING, JUMPING, RIPPLED

CHAINS = 200


class Wave:
    """|delta|(s) = 1 + 0.8 sin 0.6 s on [0, 10], so that a chain's steps are small beside the wave."""

    low, high = np.zeros(1, np.float32), np.full(1, 10.0, np.float32)
    bins = 50  # in wider ones, the twentieth power of the mean |delta| is another density

    @staticmethod
    def delta(s):
        return 1.0 + 0.8 * np.sin(0.6 * s[..., 0])

    @staticmethod
    def log_slope(s):
        return 0.48 * tf.cos(0.6 * s) / (1.0 + 0.8 * tf.sin(0.6 * s))


class Bump:
    """A bump that is not round, on a floor, in a box with unequal sides."""

    low, high = np.float32([0.0, -1.0]), np.float32([1.0, 2.0])
    bins = 10
    centre, width = np.float32([0.35, 0.8]), np.float32([0.3, 0.7])

    @classmethod
    def delta(cls, s):
        return 0.4 + np.exp(-(((s - cls.centre) / cls.width) ** 2).sum(axis=-1))

    @classmethod
    def log_slope(cls, s):
        bump = tf.exp(-tf.reduce_sum(((s - cls.centre) / cls.width) ** 2, axis=-1, keepdims=True))
        return -2.0 * (s - cls.centre) / cls.width**2 * bump / (0.4 + bump)


class Box(Space):
    """The space of a target's states; none of them is terminal."""

    shares_one_unit = True

    def __init__(self, target):
        self.low, self.high, self.state_dim = target.low, target.high, len(target.low)

    def is_terminal(self, state):
        return tf.zeros(state.shape[:-1], tf.bool)


def shares(target, beta=1.0, fineness=40):
    """The share of |delta|^beta in each of bins^d cells, flat, by the midpoint rule within them."""
    d, side = len(target.low), target.bins * fineness
    unit = (np.arange(side) + 0.5) / side
    points = np.stack(np.meshgrid(*[unit] * d, indexing="ij"), axis=-1) * (target.high - target.low) + target.low
    delta = target.delta(points)
    weight = (delta / delta.max()) ** beta
    cells = weight.reshape([target.bins, fineness] * d).sum(axis=tuple(range(1, 2 * d, 2)))
    return (cells / cells.sum()).ravel()


def histogram(target, states):
    """The share of states [N, d] in each of these cells, flat."""
    ranges = np.stack([target.low, target.high], axis=1)
    counts, _ = np.histogramdd(states, bins=target.bins, range=ranges.tolist())
    assert counts.sum() == len(states)  # all states are in the box
    return counts.ravel() / len(states)


def chain_states(rule, target, m, chain_steps, fills):
    """The states of long chains of a rule, with the identity as Sigma_s: [fills, CHAINS, m, d]."""
    box = Box(target)
    streams = Streams(tuple(range(CHAINS)))
    settings = DynaSettings(search_control=rule, states_per_fill=m, chain_steps=chain_steps)
    control = SearchControl(settings, streams, box)
    control.visited = SimpleNamespace(
        covariance=tf.tile(tf.eye(box.state_dim)[None], [CHAINS, 1, 1]),
        mean_move=tf.zeros([CHAINS]),  # so every state is accepted
        recent_move=tf.zeros([CHAINS]),
    )

    def start(step, i):
        uniform = streams.uniform(Purpose.CHAIN_START, (box.state_dim,), step=step, inner=i)
        return target.low + (target.high - target.low) * uniform

    @tf.function(jit_compile=True)
    def fill(step):
        return control.fill(step, tf.constant(chain_steps), lambda s, i: target.log_slope(s), lambda i: start(step, i))

    brought = [fill(tf.constant(step)) for step in range(fills)]
    assert all((count.numpy() == m).all() for _, count in brought)
    return np.stack([states.numpy() for states, _ in brought])


def assert_distributed(target, states, beta, tolerance):
    """The states of chains [..., d] are distributed like |delta|^beta."""
    found = histogram(target, states.reshape(-1, states.shape[-1]))
    assert fitted_exponent(found[None], shares(target)[None])[0] == pytest.approx(beta, abs=tolerance)
    assert total_variation(found, shares(target, beta)) < 0.03


def test_langevin_chains_are_distributed_like_the_absolute_td_error():
    states = chain_states("langevin", Bump, m=100, chain_steps=2000, fills=6)  # a chain continues from fill to fill
    assert_distributed(Bump, states[1:], beta=1.0, tolerance=0.05)


def test_the_constants_of_algorithm_4_give_the_twentieth_power_of_the_td_error():  # claim 45
    # The exponent is 2 alpha / sigma^2 (Section 4.1, footnote) with alpha = 0.1 and sigma^2 = 0.01.
    states = chain_states("algorithm_4", Wave, m=2000, chain_steps=4000, fills=2)  # each fill starts a new chain
    assert_distributed(Wave, states[:, :, 500:], beta=20.0, tolerance=1.0)


def test_its_constants_are_those_of_the_agents():
    assert (DynaTD.smoothing, rules.LANGEVIN_STEP) == (zero_crossing.SMOOTHING, zero_crossing.LANGEVIN_STEP)


@pytest.mark.parametrize("error", [CROSSING, JUMPING, RIPPLED])
def test_the_slope_is_that_of_h(error):
    x = np.array([0.05, 0.2, 0.4, 0.6, 0.9])
    assert error.slope(x) == pytest.approx((error.h(x + 1e-6) - error.h(x - 1e-6)) / 2e-6, rel=1e-4)
    assert error.target().sum() == pytest.approx(1.0)


def test_the_smaller_the_steps_the_fewer_chains_cross_in_the_same_time():
    chains = {a: zero_crossing.langevin(CROSSING, a) for a in (1e-3, 1e-5)}
    large, small = (zero_crossing.share_across(chain, round(0.04 / a), 2000) for a, chain in chains.items())
    assert 0.0 < small < 0.75 * large


def test_langevin_chains_do_not_see_jumps_at_any_step_size_and_adjusted_ones_do():
    def exponent(rule, error, a=1e-3):
        return fitted_exponent(zero_crossing.visits(rule(error, a), 4000, 256)[None], error.target()[None])[0]

    assert exponent(zero_crossing.langevin, JUMPING, 1e-4) == pytest.approx(0.0, abs=0.2)
    assert exponent(zero_crossing.langevin, RIPPLED) < 0.5 < 0.8 < exponent(zero_crossing.langevin, RIPPLED, 1e-4)
    assert exponent(zero_crossing.langevin, JUMPING) == pytest.approx(0.0, abs=0.2)
    assert exponent(zero_crossing.metropolis_adjusted, JUMPING) == pytest.approx(1.0, abs=0.1)
    assert exponent(zero_crossing.langevin, CROSSING) == pytest.approx(1.0, abs=0.3)  # they see a single zero
