"""Chains in one dimension: small steps rarely cross a zero of delta, and only an adjusted chain sees a jump."""

import numpy as np
import pytest

from dyna_td.agents.dyna_td import DynaTD
from dyna_td.search import rules
from dyna_td.theory import zero_crossing
from dyna_td.theory.densities import fitted_exponent
from dyna_td.theory.zero_crossing import CROSSING, JUMPING, RIPPLED


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
