"""Statistics of the claims: means over seeds, their intervals, and tests of claims about them.

The unit is a seed. Agents share seeds, so comparisons are made seed by seed: `estimate(a - b)` of a difference,
`estimate((a - b) - (c - d))` of a difference in differences.

Its intervals are bootstrap-t intervals (Efron and Tibshirani, 1993, chapter 12): deviations of resampled means are
divided by their own standard errors. Their coverage is the most accurate for skewed distributions. The price: an
almost constant sample can have an infinite interval, and five seeds can give one that is too wide to settle anything.
Below `FEW` seeds `estimate_few` takes over: Welch's interval, and the larger of the p-values of Welch's test and an
exact rank test. Resamples are drawn from a fixed seed, so the same data give the same numbers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy  # loads its parts when they are used
from numpy.typing import ArrayLike

from dyna_td.errors import UserError

RESAMPLES = 9_999  # (RESAMPLES + 1) * 2.5% is whole, so interval and p-value agree exactly
LEVEL = 0.05  # tests are two-sided; intervals cover 1 - LEVEL
FEW = 10  # with fewer seeds `estimate_few` is used
POWER = 0.8  # chance that `seeds_to_decide` seeds decide
_SEED = 20_220_801  # any number
_DIGITS = 9  # digits of studentized deviations: rounding keeps ties independent of a machine's order of sums


class Interval(NamedTuple):
    """A mean or another estimate with the ends of its interval or bar; numbers or arrays."""

    mean: Any
    low: Any
    high: Any

    @property
    def excludes_zero(self) -> bool:
        """Whether all of a single number's interval lies on one side of 0."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Estimate:
    """A mean, or the logarithm of a ratio of means, with its bootstrap.

    Attributes:
      effect: of the sample's leading shape [...].
      standard_error: of `effect`, [...]; 0 if the sample is constant.
      deviations: (resampled effect - effect) / (resampled standard error), sorted along the last axis, [..., B].
    """

    effect: np.ndarray
    standard_error: np.ndarray
    deviations: np.ndarray

    def interval(self, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
        """The ends of the interval of coverage 1 - `level`, each [...]; infinite for samples without spread."""
        tail = round((self.deviations.shape[-1] + 1) * level / 2)
        smallest, largest = self.deviations[..., tail - 1], self.deviations[..., -tail]
        known = self.standard_error > 0
        step = np.where(known, self.standard_error, np.inf)
        low, high = np.where(known, largest, 1.0), np.where(known, smallest, -1.0)
        return self.effect - step * low, self.effect - step * high

    def student(self, seeds: int, level: float = LEVEL) -> tuple[np.ndarray, np.ndarray]:
        """The ends of Student's interval, each [...], to compare with `interval`."""
        half = student(self.standard_error, seeds - 1, level)
        return self.effect - half, self.effect + half

    def p_above(self, bound: float) -> np.ndarray:
        """One-sided p-value against "the effect is at most `bound`", [...]; 1 for samples without spread."""
        return self._p(np.greater_equal, bound)

    def p_below(self, bound: float) -> np.ndarray:
        """One-sided p-value against "the effect is at least `bound`", [...]; 1 for samples without spread."""
        return self._p(np.less_equal, bound)

    def _p(self, is_as_far: Callable, bound: float) -> np.ndarray:
        with np.errstate(invalid="ignore", divide="ignore"):
            distance = np.round((self.effect - bound) / self.standard_error, _DIGITS)
        as_far = is_as_far(self.deviations, distance[..., None])
        p = (1.0 + np.sum(as_far, axis=-1)) / (1.0 + as_far.shape[-1])
        return np.where(self.standard_error > 0, p, 1.0)


def estimate(sample: ArrayLike) -> Estimate:
    """The mean of a sample of finite values, shape [..., n].

    Raises:
      UserError: n is 0, for example because two runs have no seed in common.
    """
    sample = np.asarray(sample, np.float64)
    if not sample.size:
        raise UserError("the sample is empty, expected a value of one seed or more: compare runs that share seeds.")
    shares, is_constant = _resamples(sample.shape[-1])
    freedom = max(sample.shape[-1] - 1, 1)  # a single value has no spread
    mean = sample.mean(axis=-1)
    centred = sample - mean[..., None]
    shift = centred @ shares
    variance = np.where(is_constant, 0.0, np.maximum(centred**2 @ shares - shift**2, 0.0))
    return Estimate(mean, np.sqrt(np.mean(centred**2, axis=-1) / freedom), _studentized(shift, variance / freedom))


def estimate_ratio(plus: Sequence[ArrayLike], minus: Sequence[ArrayLike]) -> Estimate:
    """The logarithm of the product of the means of `plus` over that of the means of `minus`.

    The samples, [n] each, are positive and of the same seeds. Standard errors are the delta method's: each value is
    divided by its sample's mean, takes the sign of its side, and is summed over samples.
    """
    samples = np.array([*plus, *minus], np.float64)  # [k, n]
    sign = np.array([1.0] * len(plus) + [-1.0] * len(minus))
    shares, is_constant = _resamples(samples.shape[1])
    freedom = max(samples.shape[1] - 1, 1)
    means, drawn = samples.mean(axis=1), samples @ shares  # [k], [k, B]
    effect = sign @ np.log(means)
    products = np.einsum("kn,ln->kln", samples, samples) @ shares  # [k, l, B]
    scale = sign[:, None] / drawn
    square = np.einsum("kb,lb,klb->b", scale, scale, products) - sign.sum() ** 2
    variance = np.where(is_constant, 0.0, np.maximum(square, 0.0))
    error = np.std((sign / means) @ samples) / np.sqrt(freedom)
    return Estimate(effect, error, _studentized(sign @ np.log(drawn) - effect, variance / freedom))


@lru_cache(maxsize=4)  # drawn anew for each test they take most of the time of all verdicts
def _resamples(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The share of each of n values in each resample, [n, B]; whether a resample has one value only, [B].

    A constant resample must have a variance of exactly 0, which a difference of rounded sums does not give.
    """
    rng = np.random.default_rng([_SEED, 0])
    shares = rng.multinomial(n, np.full(n, 1.0 / n), size=RESAMPLES).T / n
    return shares, np.max(shares, axis=0) == 1.0


def _studentized(shift: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Deviations of resampled effects over their own standard errors, sorted along the last axis, [..., B]."""
    with np.errstate(invalid="ignore", divide="ignore"):
        deviations = shift / np.sqrt(variance)
    # 0 / 0 means a constant resample with the sample's mean, so no deviation.
    return np.sort(np.round(np.nan_to_num(deviations, nan=0.0, posinf=np.inf, neginf=-np.inf), _DIGITS))


@dataclass(frozen=True)
class MiddleHalf:
    """An interquartile mean with its bootstrap: percentile intervals, as Agarwal et al. (2021) recommend.

    Attributes:
      effect: the interquartile mean of the sample.
      resampled: the interquartile means of the resamples, sorted, [B].
    """

    effect: float
    resampled: np.ndarray

    @property
    def standard_error(self) -> float:
        """The spread of the resampled means."""
        return float(self.resampled.std())

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The ends of the interval of coverage 1 - `level`."""
        tail = round((len(self.resampled) + 1) * level / 2)
        return float(self.resampled[tail - 1]), float(self.resampled[-tail])

    def p_above(self, bound: float) -> float:
        """One-sided p-value against "the effect is at most `bound`"."""
        return float(1 + np.sum(self.resampled <= bound)) / (1 + len(self.resampled))

    def p_below(self, bound: float) -> float:
        """One-sided p-value against "the effect is at least `bound`"."""
        return float(1 + np.sum(self.resampled >= bound)) / (1 + len(self.resampled))


def estimate_middle_half(sample: ArrayLike) -> MiddleHalf:
    """The interquartile mean of a sample of finite values, [n]; see `interquartile_mean`."""
    sample = np.asarray(sample, np.float64)
    drawn = np.random.default_rng([_SEED, 1]).integers(len(sample), size=(RESAMPLES, len(sample)))
    return MiddleHalf(interquartile_mean(sample), np.sort(scipy.stats.trim_mean(sample[drawn], 0.25, axis=1)))


@dataclass(frozen=True)
class FewSeeds:
    """A difference of means of few seeds: Welch's interval, and the larger p-value of Welch's and an exact rank test.

    Attributes:
      plus, minus: independent samples, [n] each; the effect is the sum of the means of plus less those of minus.
      effect, standard_error: the difference and its standard error.
      freedom: Welch and Satterthwaite's degrees of freedom.
    """

    plus: tuple[np.ndarray, ...]
    minus: tuple[np.ndarray, ...]
    effect: float
    standard_error: float
    freedom: float

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The ends of the interval of coverage 1 - `level`; infinite without spread."""
        if not self.standard_error > 0:
            return -math.inf, math.inf
        half = student(self.standard_error, self.freedom, level)
        return self.effect - half, self.effect + half

    def p_above(self, bound: float) -> float:
        """One-sided p-value against "the effect is at most `bound`": the larger of Welch's and the rank test's."""
        return self._p(bound, "greater")

    def p_below(self, bound: float) -> float:
        """One-sided p-value against "the effect is at least `bound`"; see `p_above`."""
        return self._p(bound, "less")

    def _p(self, bound: float, side: str) -> float:
        if not self.standard_error > 0:
            return 1.0
        distance = (self.effect - bound) / self.standard_error
        welch = scipy.stats.t.sf(distance if side == "greater" else -distance, self.freedom)
        return float(max(welch, self._p_of_ranks(bound, side)))

    def _p_of_ranks(self, bound: float, side: str) -> float:
        """Mann and Whitney's exact test for one sample a side; else Wilcoxon's, of the sums seed by seed."""
        exact = scipy.stats.PermutationMethod(n_resamples=math.inf)  # all permutations, so ties need no care
        if len(self.plus) == len(self.minus) == 1:
            return scipy.stats.mannwhitneyu(self.plus[0] - bound, self.minus[0], alternative=side, method=exact).pvalue
        if len({len(sample) for sample in (*self.plus, *self.minus)}) > 1:
            return 1.0  # sizes differ, so there is no exact test
        return scipy.stats.wilcoxon(sum(self.plus) - sum(self.minus) - bound, alternative=side, method=exact).pvalue


def estimate_few(plus: Sequence[ArrayLike], minus: Sequence[ArrayLike] = ()) -> FewSeeds:
    """The sum of the means of `plus` less those of `minus`, independent samples of finite values, [n] each.

    Seeds are not paired: with few of them, pairing costs more in degrees of freedom than shared seeds gain.
    """
    added, taken = (tuple(np.asarray(sample, np.float64) for sample in side) for side in (plus, minus))
    parts = [(sample.var(ddof=1) / len(sample), len(sample)) for sample in (*added, *taken) if len(sample) > 1]
    variance = sum(part for part, _ in parts)
    is_known = len(parts) == len(added) + len(taken) and variance > 0
    freedom = variance**2 / sum(part**2 / (n - 1) for part, n in parts) if is_known else math.nan
    effect = sum(sample.mean() for sample in added) - sum(sample.mean() for sample in taken)
    return FewSeeds(added, taken, float(effect), math.sqrt(variance) if is_known else 0.0, freedom)


def p_inside(found: Estimate | MiddleHalf | FewSeeds, low: float, high: float) -> np.ndarray | float:
    """P-value against "the effect is outside (low, high)", [...]; for finite ends, by two one-sided tests."""
    return found.p_above(low) if high == np.inf else np.maximum(found.p_above(low), found.p_below(high))


def p_outside(found: Estimate | MiddleHalf | FewSeeds, low: float, high: float) -> np.ndarray | float:
    """P-value against "the effect is in [low, high]", [...]: a one-sided test at each finite end."""
    return found.p_below(low) if high == np.inf else np.minimum(found.p_below(low), found.p_above(high))


def probability_of_improvement(plus: ArrayLike, minus: ArrayLike) -> float:
    """The chance that a random value of `plus` [n] exceeds one of `minus` [m], a tie counting half (Agarwal, 2021)."""
    wins = np.sign(np.subtract.outer(np.asarray(plus, np.float64), np.asarray(minus, np.float64)))
    return float((wins.mean() + 1.0) / 2.0)


def student(standard_error: ArrayLike, freedom: ArrayLike, level: float = LEVEL) -> Any:
    """Half of Student's interval of coverage 1 - `level`, [...]; NaN without a degree of freedom."""
    return scipy.stats.t.ppf(1 - level / 2, freedom) * standard_error


def half_width(values: pd.Series, level: float = LEVEL) -> float:
    """Half of Student's interval for the mean of `values`, one for each seed; NaNs are left out."""
    return student(values.sem(), values.count() - 1, level)


def interval(values: pd.Series, level: float = LEVEL) -> Interval:
    """The mean of `values`, one for each seed, with Student's interval; NaNs are left out."""
    mean, half = values.mean(), half_width(values, level)
    return Interval(mean, mean - half, mean + half)


def seeds_to_decide(distance: float, spread: float, level: float) -> float:
    """Seeds with which a one-sided test at `level` detects an effect at this distance, with the chance `POWER`.

    n = ((z_(1 - level) + z_POWER) spread / distance)^2, rounded up, for normal means. This is a rough guide, because it
    takes the observed effect for the true one. It is infinite where the effect lies on the bound.

    Args:
      distance: from the effect to its bound.
      spread: standard deviation of the comparison over seeds (its standard error times the root of their number).
      level: the one-sided test's.
    """
    z = scipy.stats.norm.isf(level) + scipy.stats.norm.ppf(POWER)
    return float(np.ceil((z * spread / abs(distance)) ** 2)) if distance and math.isfinite(spread) else math.inf


def interquartile_mean(values: ArrayLike) -> float:
    """Mean of the middle half of `values` [n]: the outer quarters, rounded down, are left out."""
    return float(scipy.stats.trim_mean(np.asarray(values, np.float64), 0.25))


def fisher_exact(hits: int, of: int, other_hits: int, of_others: int) -> tuple[float, float]:
    """Fisher's exact test of two proportions: one-sided p-values that the first is the larger, and the smaller."""
    table = [[hits, of - hits], [other_hits, of_others - other_hits]]
    larger, smaller = (scipy.stats.fisher_exact(table, alternative=side).pvalue for side in ("greater", "less"))
    return float(larger), float(smaller)


def proportion_difference(hits: int, of: int, other_hits: int, of_others: int) -> Interval:
    """hits / of - other_hits / of_others.

    Newcombe's method 10 (1998) joins the Wilson intervals of both proportions. The interval lies in [-1, 1], and has a
    positive width even without hits.
    """
    first, second = proportion(hits, of), proportion(other_hits, of_others)
    difference = first.mean - second.mean
    below = math.hypot(first.mean - first.low, second.high - second.mean)
    above = math.hypot(first.high - first.mean, second.mean - second.low)
    return Interval(difference, difference - below, difference + above)


def proportion(hits: int, of: int) -> Interval:
    """hits / of with Wilson's interval."""
    low, high = scipy.stats.binomtest(hits, of).proportion_ci(1 - LEVEL, method="wilson")
    return Interval(hits / of, float(low), float(high))


def binomial(hits: int, of: int, share: float) -> tuple[float, float]:
    """The exact binomial test of a proportion: one-sided p-values that it lies below `share`, and above."""
    below, above = (scipy.stats.binomtest(hits, of, share, side).pvalue for side in ("less", "greater"))
    return float(below), float(above)


def signs(effects: ArrayLike, p_values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The sign of each effect whose p-value is at most `LEVEL`, else 0: uncorrected, then by Holm's method."""
    uncorrected, corrected = (np.sign(effects) * (p <= LEVEL) for p in (np.asarray(p_values), holm(p_values)))
    return uncorrected, corrected


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's adjusted p-values (1979), in the given order; those at most a level may all be rejected at that level."""
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted
