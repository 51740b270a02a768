"""The exponent that fits visits, total variation and Theorem 3, against numbers worked out by hand or drawn."""

import numpy as np
import pytest

from dyna_td.theory.densities import MAX_EXPONENT, fitted_exponent, power_density, theorem_3


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
