"""Theorem 2 in closed form: how long gradient flow takes to reach an error, under the square and the cubic loss.

The setting (Section 3.1 and its proof in the appendix): example i starts at the absolute error delta_0(i) > 0 and
follows the flow of (1/2) sum delta(i)^2 with rate eta, or of (1/3) sum delta(i)^3 with rate eta':

    square:  d delta / dt = -eta  delta     so  delta_t = delta_0 exp(-eta t)
    cubic:   d delta / dt = -eta' delta^2   so  1 / delta_t = 1 / delta_0 + eta' t

A hitting time is the first t at which the error is at most epsilon. Times are in units of 1 / rate; errors have the
unit of the training targets. `CLOSED_FORMS` holds the curves of figures 7 and 8, which need no training.
"""

from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy  # loads its parts when they are used
from numpy.typing import ArrayLike

from dyna_td.errors import UserError

# The paper draws figure 8c and 8d for "different" targets and starts without naming them; these are our choice.
TARGETS = (0.1, 0.25, 0.5, 1.0, 2.0)  # x_t, a curve each in figure 8c
STARTS = (1.0, 2.0, 5.0, 10.0, 20.0)  # x_0, a curve each in figure 8d
FARTHEST_START = 20.0  # right end of figure 8c
NEAREST_TARGET = 0.1  # left end of figure 8d
POINTS = 240  # points on each curve


def square_hitting_time(initial_error: ArrayLike, threshold: ArrayLike, rate: float = 1.0) -> np.ndarray:
    """Time for an error to shrink to `threshold` under the square loss: t_epsilon = ln(delta_0 / epsilon) / eta.

    It holds for one example and for the sum of errors, because all errors decay at one rate (Theorem 2).

    Args:
      initial_error: delta_0 > 0, any shape.
      threshold: epsilon in (0, delta_0], of a shape that broadcasts with `initial_error`.
      rate: eta > 0.

    Raises:
      UserError: if a threshold is not in (0, delta_0].
    """
    initial_error, threshold = _checked(initial_error, threshold)
    return np.log(initial_error / threshold) / rate


def cubic_hitting_time(initial_error: ArrayLike, threshold: ArrayLike, rate: float = 1.0) -> np.ndarray:
    """Time for one example's error to shrink to `threshold` under the cubic loss: (1/epsilon - 1/delta_0) / eta'.

    Arguments and errors as `square_hitting_time`; for a sum of errors see `total_cubic_hitting_time`.
    """
    initial_error, threshold = _checked(initial_error, threshold)
    return (1.0 / threshold - 1.0 / initial_error) / rate


def hitting_time_ratio(initial_error: ArrayLike, threshold: ArrayLike) -> np.ndarray:
    """The square loss's hitting time over the cubic one's, at equal rates: above 1 the cubic loss arrives first.

    Figures 8c and 8d show it. Arguments as `square_hitting_time`, but epsilon < delta_0: at equality both times are 0.
    """
    return square_hitting_time(initial_error, threshold) / cubic_hitting_time(initial_error, threshold)


def total_square_hitting_time(initial_errors: ArrayLike, threshold: float, rate: float = 1.0) -> float:
    """Time until the sum of the errors is at most `threshold` under the square loss (Theorem 2, part ii).

    Args:
      initial_errors: delta_0(i) > 0, shape [n].
      threshold: epsilon in (0, sum of delta_0(i)].
      rate: eta > 0.
    """
    return float(square_hitting_time(np.sum(initial_errors), threshold, rate))


def total_cubic_hitting_time(initial_errors: ArrayLike, threshold: float, rate: float = 1.0) -> float:
    """Time until the sum of the errors is at most `threshold` under the cubic loss (Theorem 2, part ii).

    The sum of delta_0(i) / (1 + eta' delta_0(i) t) has no closed inverse, so its root is found numerically.
    Arguments as `total_square_hitting_time`, with eta' as the rate.
    """
    errors, _ = _checked(initial_errors, np.min(initial_errors))
    _checked(errors.sum(), threshold)

    def excess(scaled_time: float) -> float:
        return np.sum(errors / (1.0 + errors * scaled_time)) - threshold

    # Every error is below 1 / (eta' t), so the sum is below epsilon at n / epsilon; the factor 2 allows for rounding.
    latest = 2.0 * errors.size / threshold
    return scipy.optimize.brentq(excess, 0.0, latest, xtol=1e-15 * latest) / rate


def theorem_2_condition(
    initial_errors: ArrayLike, threshold: float, square_rate: float = 1.0, cubic_rate: float = 1.0
) -> bool:
    """Whether the inequality of Theorem 2 promises that the cubic loss reaches the total `threshold` no later.

    mean(1 / delta_0(i)) <= (eta' / eta) ln(delta_0 / epsilon) / (delta_0 / epsilon - 1), with delta_0 the sum of the
    errors; at epsilon = delta_0 the last fraction is its limit, 1.

    The paper prints the ratio of the rates upside down: its own proof needs eta' / eta. As printed the theorem fails.
    Take one example with delta_0 = 2, epsilon = 1, eta = 3, eta' = 0.2. The printed inequality holds, but the square
    loss takes 0.23 and the cubic one 2.5. At equal rates, as in the paper's example, both readings agree.

    Args:
      initial_errors: delta_0(i) > 0, shape [n].
      threshold: epsilon in (0, sum of delta_0(i)].
      square_rate: eta > 0.
      cubic_rate: eta' > 0.
    """
    errors, _ = _checked(initial_errors, np.min(initial_errors))
    log_decrease = total_square_hitting_time(errors, threshold)
    fraction = log_decrease / np.expm1(log_decrease) if log_decrease > 0 else 1.0
    return bool(np.mean(1.0 / errors) <= cubic_rate / square_rate * fraction)


def gap_function(x: ArrayLike) -> np.ndarray:
    """f(x) = ln(1/x) - 1/x of Theorem 2's proof at equal rates (figure 7); x are errors > 0, any shape.

    The square loss needs (f(epsilon) - f(delta_0)) / eta more time than the cubic one. f rises until x = 1 and falls
    after it.
    """
    x = np.asarray(x, dtype=np.float64)
    return -np.log(x) - 1 / x


def figure_7a() -> pd.DataFrame:
    """f(x) over x in [0.2, 5] at equal rates; metric `gap_function`, curve `f`."""
    x = np.linspace(0.2, 5.0, POINTS + 1)
    return _panel("gap_function", {"f": (x, gap_function(x))})


def figure_8a() -> pd.DataFrame:
    """The objectives x^2 and x^3 over x in [0, 2]; metric `loss`."""
    x = np.linspace(0.0, 2.0, POINTS + 1)
    return _panel("loss", {"square": (x, x**2), "cubic": (x, x**3)})


def figure_8b() -> pd.DataFrame:
    """The objectives' absolute derivatives 2x and 3x^2 over x in [0, 2]; metric `absolute_derivative`."""
    x = np.linspace(0.0, 2.0, POINTS + 1)
    return _panel("absolute_derivative", {"square": (x, 2.0 * x), "cubic": (x, 3.0 * x**2)})


def figure_8c(scale: float = 1.0) -> pd.DataFrame:
    """Ratio of the hitting times against the start x_0, a curve for each target x_t; metric `hitting_time_ratio`.

    `scale` multiplies the targets.
    """
    curves = {}
    for target in (scale * target for target in TARGETS):
        starts = np.linspace(target, FARTHEST_START, POINTS + 1)[1:]
        curves[target_curve(target)] = (starts, hitting_time_ratio(starts, target))
    return _panel("hitting_time_ratio", curves)


def figure_8d(scale: float = 1.0) -> pd.DataFrame:
    """Ratio of the hitting times against the target x_t, a curve for each start x_0; metric `hitting_time_ratio`.

    `scale` multiplies the nearest target.
    """
    curves = {}
    for start in STARTS:
        targets = np.geomspace(scale * NEAREST_TARGET, start, POINTS + 1)[:-1]
        curves[start_curve(start)] = (targets, hitting_time_ratio(start, targets))
    return _panel("hitting_time_ratio", curves)


def target_curve(target: float) -> str:
    """Curve key of a target in figure 8c, e.g. `target_0.5`."""
    return f"target_{target:g}"


def start_curve(start: float) -> str:
    """Curve key of a start in figure 8d, e.g. `start_2`."""
    return f"start_{start:g}"


# Each returns a tidy frame: curve, step (the x-axis), metric and mean (the y-axis).
CLOSED_FORMS: dict[str, Callable[..., pd.DataFrame]] = {
    "figure_7a": figure_7a,
    "figure_8a": figure_8a,
    "figure_8b": figure_8b,
    "figure_8c": figure_8c,
    "figure_8d": figure_8d,
}


def _panel(metric: str, curves: dict[str, tuple[np.ndarray, np.ndarray]]) -> pd.DataFrame:
    frames = [
        pd.DataFrame({"curve": curve, "step": x, "metric": metric, "mean": y}) for curve, (x, y) in curves.items()
    ]
    return pd.concat(frames, ignore_index=True)


def _checked(initial_error: ArrayLike, threshold: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Both as float64 arrays, if 0 < threshold <= initial_error < infinity everywhere."""
    initial_error = np.asarray(initial_error, dtype=np.float64)
    threshold = np.asarray(threshold, dtype=np.float64)
    if not np.all((threshold > 0) & (threshold <= initial_error) & np.isfinite(initial_error)):
        raise UserError(
            f"no hitting time for the initial error {initial_error} and the threshold {threshold}: an error only "
            "shrinks and stays above 0, so choose a finite initial error and a threshold in (0, initial error]."
        )
    return initial_error, threshold
