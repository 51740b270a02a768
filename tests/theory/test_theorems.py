"""Theorems 1 to 3: gradients, hitting times and densities, against numbers worked out by hand, drawn or integrated."""

import numpy as np
import pytest
import tensorflow as tf
from scipy.integrate import solve_ivp

from dyna_td.errors import UserError
from dyna_td.learning.regression import cubic_loss, squared_loss
from dyna_td.theory import hitting_times
from dyna_td.theory.densities import MAX_EXPONENT, fitted_exponent, power_density, theorem_3


def gradient_by_error(loss, error):
    """The gradient of a summed loss by each error [N]; the chain rule extends it to a network's parameters."""
    with tf.GradientTape() as tape:
        tape.watch(error)
        value = loss(error)
    return tape.gradient(value, error).numpy()


def test_the_cubic_learner_descends_the_expected_gradient_of_full_prioritized_l2():
    error = tf.constant(np.random.default_rng(1).normal(size=300))
    absolute = np.abs(error.numpy())
    q = absolute / absolute.sum()  # E_q is over mini-batches of one
    prioritized = gradient_by_error(lambda e: tf.reduce_sum(q * squared_loss(e[:, None])), error)
    cubic = gradient_by_error(lambda e: cubic_loss(e, tf.constant(absolute.mean())), error)
    np.testing.assert_allclose(cubic, prioritized, rtol=1e-10)


def test_the_cubic_loss_has_the_noisier_gradient_by_3_pi_over_4_where_errors_are_normal():
    error = tf.constant(np.random.default_rng(0).normal(size=400_000))
    absolute = np.abs(error.numpy())
    square = gradient_by_error(lambda e: squared_loss(e[:, None]), error)  # each example alone
    cubic = gradient_by_error(lambda e: cubic_loss(e[:, None], tf.constant(absolute.mean())), error)
    prioritized = (absolute / absolute.sum() * square**2).sum()
    assert (cubic**2).mean() / prioritized == pytest.approx(3 * np.pi / 4, rel=0.01)


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


def test_there_is_a_second_target_at_which_both_losses_need_the_same_time():
    """The paper's remark says that there is none; the caption of figure 7 names this one."""
    f, crossover = hitting_times.gap_function, 0.5693
    assert f(crossover) == pytest.approx(f(2.0), abs=1e-4)
    assert f(1.01 * crossover) > f(2.0) > f(0.99 * crossover)


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


def test_a_density_is_the_power_of_the_error_over_its_sum():
    shares = power_density([[1.0, 2.0, 4.0], [3.0, 3.0, 6.0]], [2.0, -1.0])
    np.testing.assert_allclose(shares, [[1 / 21, 4 / 21, 16 / 21], [0.4, 0.4, 0.2]])
    np.testing.assert_allclose(power_density([[1.0, 3.0]]), [[0.25, 0.75]])
    np.testing.assert_allclose(power_density([[1e-5, 1.0]], 100.0), [[0.0, 1.0]])  # 1e-500 would underflow


@pytest.mark.parametrize("beta", [-1.5, 0.0, 1.0, 3.0, 20.0])
def test_the_exponent_of_drawn_states_is_found(beta):
    rng = np.random.default_rng(1)
    error = rng.uniform(0.5, 1.5, size=(2, 400))
    weight = error**beta
    visits = np.stack([rng.multinomial(200_000, row / row.sum()) for row in weight])
    assert beta < 20.0 or (visits == 0).any()  # some cells are never visited
    np.testing.assert_allclose(fitted_exponent(visits / 200_000, error), beta, atol=0.05)


def test_one_cell_has_the_largest_exponent_and_a_seed_whose_errors_are_not_finite_none():
    assert fitted_exponent([[0.0, 0.0, 1.0]], [[1.0, 2.0, 2.1]]) == pytest.approx(MAX_EXPONENT, rel=1e-3)
    beta = fitted_exponent(np.array([[0.25, 0.75]] * 2), [[1.0, np.nan], [1.0, 3.0]])
    assert np.isnan(beta[0]) and beta[1] == pytest.approx(1.0, abs=1e-4)


def test_theorem_3_on_two_states_by_hand():
    left, right = theorem_3([[1.0, 3.0]], [[2.0, 2.0]], [[0.1, 0.2]], largest_value=10.0)
    # p = (1/4, 3/4), p^ = (1/2, 1/2), Z = Z^ = 4, eps = 0.3; the first term is smaller in state 1, the second in 2.
    np.testing.assert_allclose(left, [[0.25, 0.25]])
    np.testing.assert_allclose(right, [[10 * (0.25 * 0.3 + 0.1) / 4, 10 * (0.5 * 0.3 + 0.2) / 4]])


def test_the_bound_holds_in_finite_worlds_whose_values_have_one_sign():
    rng = np.random.default_rng(0)
    for _ in range(200):
        true, learned = rng.dirichlet(np.full(5, 0.3), size=(2, 6))  # six states, five outcomes each
        targets = -100.0 * rng.uniform(size=5) ** rng.integers(1, 9)  # r + gamma v of each outcome
        value = -100.0 * rng.uniform(size=6)
        errors = [np.abs(model @ targets - value)[None] for model in (true, learned)]
        model_error = 0.5 * np.abs(true - learned).sum(axis=1)[None]
        left, right = theorem_3(*errors, model_error, largest_value=100.0)
        assert (left <= right).all()


def test_with_values_of_both_signs_half_the_distance_of_the_models_is_not_enough():
    # State 1: all of the true model's mass is on the value 1, all of the learned one's on -1, and V = -1.
    # State 2: no model error, and the TD error is 1.
    left, right = theorem_3([[2.0, 1.0]], [[0.0, 1.0]], [[1.0, 0.0]], largest_value=1.0)
    assert left[0, 0] == pytest.approx(2 / 3) and right[0, 0] == pytest.approx(1 / 3)
    left, right = theorem_3([[2.0, 1.0]], [[0.0, 1.0]], [[2.0, 0.0]], largest_value=1.0)
    np.testing.assert_allclose(left, right)  # twice the bound, as with the whole distance, is just enough
