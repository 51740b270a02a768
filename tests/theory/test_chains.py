"""Chains in one dimension for a known |delta| (Section 4.1, claim 45): the rules on a wave, at zeros and at jumps."""

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


class Wave(Space):
    """|delta|(s) = 1 + 0.8 sin 0.6 s on [0, 10], so that a chain's steps are small beside the wave."""

    state_dim, shares_one_unit = 1, True
    low, high = np.zeros(1, np.float32), np.full(1, 10.0, np.float32)
    bins = 50  # in wider ones, the twentieth power of the mean |delta| is another density

    def is_terminal(self, state):
        return tf.zeros(state.shape[:-1], tf.bool)

    @staticmethod
    def log_slope(s):
        return 0.48 * tf.cos(0.6 * s) / (1.0 + 0.8 * tf.sin(0.6 * s))

    def shares(self, beta=1.0, fineness=40):
        """The share of |delta|^beta in each bin, by the midpoint rule within it."""
        s = 10.0 * (np.arange(self.bins * fineness) + 0.5) / (self.bins * fineness)
        weight = ((1.0 + 0.8 * np.sin(0.6 * s)) / 1.8) ** beta
        return weight.reshape(self.bins, fineness).sum(axis=1) / weight.sum()


WAVE = Wave()


def chain_states(rule, m, chain_steps, fills):
    """The states of long chains of a rule, with the identity as Sigma_s: [fills, CHAINS, m, 1]."""
    streams = Streams(tuple(range(CHAINS)))
    settings = DynaSettings(search_control=rule, states_per_fill=m, chain_steps=chain_steps)
    control = SearchControl(settings, streams, WAVE)
    control.visited = SimpleNamespace(
        covariance=tf.ones([CHAINS, 1, 1]),
        mean_move=tf.zeros([CHAINS]),  # so every state is accepted
        recent_move=tf.zeros([CHAINS]),
    )

    def start(step, i):
        return 10.0 * streams.uniform(Purpose.CHAIN_START, (1,), step=step, inner=i)

    @tf.function(jit_compile=True)
    def fill(step):
        return control.fill(step, tf.constant(chain_steps), lambda s, i: WAVE.log_slope(s), lambda i: start(step, i))

    brought = [fill(tf.constant(step)) for step in range(fills)]
    assert all((count.numpy() == m).all() for _, count in brought)
    return np.stack([states.numpy() for states, _ in brought])


def assert_distributed(states, beta, tolerance):
    """The states of chains are distributed like |delta|^beta."""
    counts, _ = np.histogram(states, bins=WAVE.bins, range=(0.0, 10.0))
    assert counts.sum() == states.size  # all states are in the box
    found = counts / states.size
    assert fitted_exponent(found[None], WAVE.shares()[None])[0] == pytest.approx(beta, abs=tolerance)
    assert total_variation(found, WAVE.shares(beta)) < 0.03


def test_langevin_chains_are_distributed_like_the_absolute_td_error():
    states = chain_states("langevin", m=100, chain_steps=2000, fills=6)  # a chain continues from fill to fill
    assert_distributed(states[1:], beta=1.0, tolerance=0.05)


def test_the_constants_of_algorithm_4_give_the_twentieth_power_of_the_td_error():  # claim 45
    # The exponent is 2 alpha / sigma^2 (Section 4.1, footnote) with alpha = 0.1 and sigma^2 = 0.01.
    states = chain_states("algorithm_4", m=2000, chain_steps=4000, fills=2)  # each fill starts a new chain
    assert_distributed(states[:, :, 500:], beta=20.0, tolerance=1.0)


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
