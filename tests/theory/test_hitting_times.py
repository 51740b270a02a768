"""Theorem 2's closed forms against numerical optimisation, root finding and an ODE solver."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from scipy.special import lambertw

from dyna_td.errors import UserError
from dyna_td.theory import hitting_times


def time_to_reach(errors, threshold, slope):
    """First time at which the sum of errors, with d error / dt = slope(error), is at most the threshold."""

    def reached(_, errors):
        return np.sum(errors) - threshold

    reached.terminal = True
    flow = solve_ivp(lambda _, e: slope(e), (0.0, 1e6), np.atleast_1d(errors), events=reached, rtol=1e-11, atol=1e-13)
    return flow.t_events[0][0]


@pytest.mark.parametrize(
    ("errors", "threshold", "rate"),
    [([2.0], 0.57, 1.0), ([5.0], 1.5, 0.3), ([0.4], 0.05, 2.0)]
    + [([0.05, 0.7, 1.0, 3.0, 12.0], fraction * 16.75, 0.5) for fraction in (0.9, 0.3, 0.01)],
)
def test_hitting_times_agree_with_an_ode_solver(errors, threshold, rate):
    square = time_to_reach(errors, threshold, lambda error: -rate * error)
    cubic = time_to_reach(errors, threshold, lambda error: -rate * error**2)
    assert hitting_times.total_square_hitting_time(errors, threshold, rate) == pytest.approx(square, rel=1e-8)
    assert hitting_times.total_cubic_hitting_time(errors, threshold, rate) == pytest.approx(cubic, rel=1e-8)
    if len(errors) == 1:
        assert hitting_times.square_hitting_time(*errors, threshold, rate) == pytest.approx(square, rel=1e-8)
        assert hitting_times.cubic_hitting_time(*errors, threshold, rate) == pytest.approx(cubic, rel=1e-8)


def test_the_example_after_theorem_2_meets_the_condition_and_fails_it_just_below_the_crossover():
    errors = np.full(1000, 2.0)
    for threshold, holds in ((570.0, True), (569.0, False)):
        square = hitting_times.total_square_hitting_time(errors, threshold)
        cubic = hitting_times.total_cubic_hitting_time(errors, threshold)
        assert hitting_times.theorem_2_condition(errors, threshold) == (square > cubic) == holds


def test_the_inequality_of_theorem_2_as_printed_is_refuted_at_unequal_rates():
    error, threshold, square_rate, cubic_rate = 2.0, 1.0, 3.0, 0.2
    printed_bound = square_rate / cubic_rate * np.log(error / threshold) / (error / threshold - 1)
    assert 1 / error <= printed_bound
    square = time_to_reach(error, threshold, lambda e: -square_rate * e)
    cubic = time_to_reach(error, threshold, lambda e: -cubic_rate * e**2)
    assert square < cubic
    assert not hitting_times.theorem_2_condition([error], threshold, square_rate, cubic_rate)


@pytest.mark.parametrize("initial, rate_ratio", [(1.01, 1.0), (2.0, 1.0), (100.0, 1.0), (2.0, 0.5), (7.0, 3.0)])
def test_the_crossover_is_real_and_separates_the_faster_losses(initial, rate_ratio):
    """The other root of f(epsilon_0) = f(delta_0), by Lambert's W; the paper's remark says that there is none."""

    def head_start(error):
        return np.log(initial / error) - rate_ratio * (1 / error - 1 / initial)

    other_side = -rate_ratio * np.exp(hitting_times.gap_function(initial, rate_ratio))
    crossover = -rate_ratio / lambertw(other_side, k=-1).real
    assert crossover == pytest.approx(brentq(head_start, 1e-4 * rate_ratio, rate_ratio), rel=1e-6)
    assert (initial, rate_ratio) != (2.0, 1.0) or round(crossover, 4) == 0.5693  # the caption of figure 7
    assert head_start(1.001 * crossover) > 0 > head_start(0.999 * crossover)


@pytest.mark.parametrize(("error", "threshold"), [(2, 0), (2, -1), (2, 2.5), (2, np.nan), (0, 0.5), (np.inf, 0.5)])
def test_a_threshold_out_of_reach_and_an_error_that_is_not_positive_and_finite_are_refused(error, threshold):
    single = (hitting_times.square_hitting_time, hitting_times.cubic_hitting_time)
    total = (hitting_times.total_square_hitting_time, hitting_times.total_cubic_hitting_time)
    for hitting_time in single + total:
        with pytest.raises(UserError, match="no hitting time"):
            hitting_time(error if hitting_time in single else [error / 2, error / 2], threshold)
    with pytest.raises(UserError, match="no hitting time"):
        hitting_times.theorem_2_condition([error], threshold)


def test_figure_8b_is_the_slope_of_figure_8a():
    losses, slopes = hitting_times.CLOSED_FORMS["figure_8a"](), hitting_times.CLOSED_FORMS["figure_8b"]()
    for curve, loss in losses.groupby("curve"):
        numerical = np.gradient(loss["mean"], loss["step"], edge_order=2)
        drawn = slopes.loc[slopes["curve"] == curve, "mean"]
        np.testing.assert_allclose(drawn, numerical, atol=1e-3)


def test_figures_8c_and_8d_are_ratios_of_times_that_an_ode_solver_finds():
    by_start = hitting_times.CLOSED_FORMS["figure_8c"]().query("curve == 'target_0.5'").iloc[[20, 200]]
    by_target = hitting_times.CLOSED_FORMS["figure_8d"]().query("curve == 'start_5'").iloc[[20, 200]]
    points = [(row.step, 0.5, row.mean) for row in by_start.itertuples(index=False)]
    points += [(5.0, row.step, row.mean) for row in by_target.itertuples(index=False)]
    for start, target, ratio in points:
        square = time_to_reach(start, target, lambda error: -error)
        cubic = time_to_reach(start, target, lambda error: -(error**2))
        assert ratio == pytest.approx(square / cubic, rel=1e-7)
