"""Densities proportional to a power of the absolute TD error, and how far apart two of them are.

In plain NumPy, in float64, a seed a row; what is measured on a trained agent is in `frozen`. A seed whose TD errors are
not finite has NaN everywhere.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

LARGEST_EXPONENT = 100.0  # of a fit, either way: shares by so high a power lie in a single cell


def power_density(error: ArrayLike, exponent: ArrayLike = 1.0) -> np.ndarray:
    """|delta|^beta as shares of the cells: |delta| > 0 [S, cells] and beta [S], or one for all -> [S, cells]."""
    logs = np.log(np.asarray(error, np.float64)) * np.reshape(exponent, (-1, 1))
    weight = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True)


def fitted_exponent(shares: ArrayLike, error: ArrayLike) -> np.ndarray:
    """The beta of the density |delta|^beta under which the visited states are the most likely: [S].

    Maximum likelihood, not a line through the cells' log density: it weighs a cell by its visits and has no trouble
    with cells that were never visited, whose density has no logarithm. The likelihood is concave in beta.

    Args:
      shares: of the visited states that lie in each cell, [S, cells].
      error: |delta| > 0 of each cell, alike.
    """

    def fit(p: np.ndarray, log_error: np.ndarray) -> float:
        if not np.isfinite(log_error).all() or not np.isfinite(p).all():
            return np.nan
        centred = log_error - log_error.max()

        def surprise(beta: float) -> float:
            logs = beta * centred
            return np.log(np.exp(logs - logs.max()).sum()) + logs.max() - p @ logs

        return minimize_scalar(surprise, bounds=(-LARGEST_EXPONENT, LARGEST_EXPONENT), method="bounded").x

    rows = zip(np.asarray(shares, np.float64), np.log(np.asarray(error, np.float64)), strict=True)
    return np.array([fit(*row) for row in rows])


def total_variation(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    """Half the summed difference of two distributions [S, cells]: 0 if they are equal, 1 if they share no cell; [S]."""
    return 0.5 * np.abs(np.asarray(p, np.float64) - q).sum(axis=-1)


def theorem_3(
    error: ArrayLike, learned_error: ArrayLike, model_error: ArrayLike, largest_value: float
) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of Theorem 3 in each state of a finite space, where its integrals are sums.

        |p(s) - p^(s)| <= min(Vmax (p(s) eps + eps_s) / Z^, Vmax (p^(s) eps + eps_s) / Z),  eps = sum of eps_s

    eps_s is each state's own model error, as in the proof, not the largest of all, as in the statement; and half the L1
    distance, not the whole. Both make the right side smaller, so that where this bound holds, the paper's does too.
    (With half the distance, the proof's first step needs values r + gamma v that lie between -Vmax and 0, or between 0
    and Vmax; with both signs a factor of 2 is missing there.)

    Args:
      error: u(s) = |delta(s, y(s))| under the true model, [S, states].
      learned_error: u^(s), the same under the learned model.
      model_error: eps_s, total variation between the two models' outcomes in s, alike.
      largest_value: Vmax = Rmax / (1 - gamma).

    Returns:
      The left and the right side, each [S, states].
    """
    u, learned_u, eps_s = (np.asarray(part, np.float64) for part in (error, learned_error, model_error))
    z, learned_z, eps = (part.sum(axis=-1, keepdims=True) for part in (u, learned_u, eps_s))
    p, learned_p = u / z, learned_u / learned_z
    right = np.minimum((p * eps + eps_s) / learned_z, (learned_p * eps + eps_s) / z)
    return np.abs(p - learned_p), largest_value * right
