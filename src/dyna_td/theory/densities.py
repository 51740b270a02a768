"""Densities proportional to a power of the absolute TD error, and the distances between them (Theorem 3).

Plain NumPy in float64, one row a seed; `frozen_q` measures them on trained agents. A seed with TD errors that are not
finite has NaN everywhere.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

MAX_EXPONENT = 100.0  # bound of a fit: so high a power puts all shares in one cell


def power_density(error: ArrayLike, exponent: ArrayLike = 1.0) -> np.ndarray:
    """|delta|^beta, normalised over the cells: |delta| > 0 [S, cells], beta [S] or one for all -> [S, cells]."""
    logs = np.log(np.asarray(error, np.float64)) * np.reshape(exponent, (-1, 1))
    weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def fitted_exponent(shares: ArrayLike, error: ArrayLike) -> np.ndarray:
    """The maximum-likelihood beta of the density |delta|^beta, given the visited states: [S].

    Unlike a line through the cells' log density, this weighs a cell by its visits and allows cells without visits. The
    log likelihood is concave in beta.

    Args:
      shares: the share of visited states in each cell, [S, cells].
      error: |delta| > 0 of each cell, [S, cells].
    """

    def fit(p: np.ndarray, log_error: np.ndarray) -> float:
        if not np.isfinite(log_error).all() or not np.isfinite(p).all():
            return np.nan
        centred = log_error - log_error.max()

        def surprise(beta: float) -> float:
            logs = beta * centred
            return np.log(np.exp(logs - logs.max()).sum()) + logs.max() - p @ logs

        return minimize_scalar(surprise, bounds=(-MAX_EXPONENT, MAX_EXPONENT), method="bounded").x

    rows = zip(np.asarray(shares, np.float64), np.log(np.asarray(error, np.float64)), strict=True)
    return np.array([fit(*row) for row in rows])


def total_variation(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Half the L1 distance of two distributions [S, cells]: 0 if they are equal, 1 if they share no cell; [S]."""
    return 0.5 * np.abs(np.asarray(p, np.float64) - np.asarray(q)).sum(axis=-1)


def theorem_3(
    error: ArrayLike, learned_error: ArrayLike, model_error: ArrayLike, largest_value: float
) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of Theorem 3 in each state of a finite space, where its integrals are sums.

        |p(s) - p^(s)| <= min(Vmax (p(s) eps + eps_s) / Z^, Vmax (p^(s) eps + eps_s) / Z),  eps = sum of eps_s

    eps_s is each state's own model error, as in the proof; the theorem's statement takes the largest of all. Here it is
    half the L1 distance, not the whole. Both choices make the right side smaller, so the paper's bound holds wherever
    this one does. With half the distance, the proof's first step needs values r + gamma v that are all in [-Vmax, 0] or
    all in [0, Vmax]. With values of both signs it lacks a factor of 2.

    Args:
      error: u(s) = |delta(s, y(s))| under the true model, [S, states].
      learned_error: u^(s), the same under the learned model.
      model_error: eps_s, total variation between the two models' outcomes in s, [S, states].
      largest_value: Vmax = Rmax / (1 - gamma).

    Returns:
      The left and the right side, each [S, states].
    """
    u, learned_u, eps_s = (np.asarray(part, np.float64) for part in (error, learned_error, model_error))
    z, learned_z, eps = (part.sum(axis=-1, keepdims=True) for part in (u, learned_u, eps_s))
    p, learned_p = u / z, learned_u / learned_z
    right = np.minimum((p * eps + eps_s) / learned_z, (learned_p * eps + eps_s) / z)
    return np.abs(p - learned_p), largest_value * right
