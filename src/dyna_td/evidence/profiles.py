"""The twelve panels of figures 4 and 12 together, as rliable has it: profiles and probabilities of improvement.

Scores are those of scores.csv, a mean return over learning for each seed, as shares of the range that returns can have.
Resamples draw seeds with replacement within each panel (Agarwal et al., 2021), from a fixed seed of their own.
"""

import numpy as np
import pandas as pd

from dyna_td.envs import KNOWN
from dyna_td.evidence.statistics import LEVEL, Interval
from dyna_td.plan.planned import Plan
from dyna_td.records import published

FIGURES = ("figure_4", "figure_12")
RESAMPLES = 1_999
_SEED = 20_220_802


def scores(plan: Plan) -> dict[str, np.ndarray]:
    """The published scores of each curve that all panels have: [panels, seeds], from 0, the lowest return, to 1.

    Raises:
      UserError: a table is missing or damaged.
    """
    panels: list[pd.DataFrame] = []
    for name in FIGURES:
        table = published.table(published.curves_csv(name).with_name("scores.csv"))
        table = table.pivot(index=["panel", "seed"], columns="curve", values="score")
        for key, panel in plan.figure(name).panels.items():
            known = KNOWN[panel.run.environment]
            panels.append((table.loc[key].dropna(axis="columns") - known.returns[0]) / known.span)
    shared = [curve for curve in panels[0] if all(curve in panel for panel in panels)]
    return {curve: np.stack([panel[curve].to_numpy() for panel in panels]) for curve in shared}


def profile(of_curve: np.ndarray, thresholds: np.ndarray) -> Interval:
    """The share of trainings, [panels, seeds], whose score exceeds each threshold, with its interval: [thresholds]."""
    above = of_curve[:, :, None] > thresholds  # [panels, seeds, thresholds]
    shares = np.stack([above[_rows(draw), draw].mean(axis=(0, 1)) for draw in _draws(of_curve.shape)])
    return _interval(above.mean(axis=(0, 1)), shares)


def improvement(plus: np.ndarray, minus: np.ndarray) -> Interval:
    """The chance that a training of `plus` has a larger score than one of `minus`, the mean over panels."""
    wins = (np.sign(plus[:, :, None] - minus[:, None, :]) + 1) / 2  # [panels, seeds of plus, seeds of minus]
    draws = zip(_draws(plus.shape), _draws(minus.shape, 1), strict=True)
    means = np.stack([wins[_rows(mine)[..., None], mine[:, :, None], theirs[:, None]].mean() for mine, theirs in draws])
    return _interval(wins.mean(), means)


def _draws(shape: tuple[int, ...], stream: int = 0) -> np.ndarray:
    """The indices of the resampled seeds, [resamples, panels, seeds]."""
    return np.random.default_rng([_SEED, stream]).integers(shape[1], size=(RESAMPLES, *shape))


def _rows(draw: np.ndarray) -> np.ndarray:
    return np.arange(len(draw))[:, None]


def _interval(value: np.ndarray, resampled: np.ndarray) -> Interval:
    low, high = np.quantile(resampled, (LEVEL / 2, 1 - LEVEL / 2), axis=0)
    return Interval(value, low, high)
