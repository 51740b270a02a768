"""The choice of a learning rate from a sweep."""

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.records.metrics import diverged_seeds, main_metric
from dyna_td.runs.registry import is_supervised
from dyna_td.runs.run import Run

SELECTION_RULE = (
    "mean of {metric} over the selection seeds and over all evaluations, the {best} wins; "
    "a rate with a diverged seed comes last, one with a value that is not finite never wins; "
    "of equal rates the larger wins"
)


def select_learning_rate(run: Run, sweep: pd.DataFrame) -> dict:
    """The learning rate of `run`, chosen by `SELECTION_RULE` from `sweep`.

    Args:
      run: the swept run.
      sweep: `learning_rate,seed,step,metric,value` on the selection seeds.

    Returns:
      `learning_rate`, the `scores` of all rates (None where not finite), `metric` and the `rule` in words.

    Raises:
      UserError: if no rate has a finite score.
    """
    metric, higher = main_metric(run.environment), not is_supervised(run.environment)
    values = sweep[sweep["metric"] == metric].groupby("learning_rate")["value"]
    scores = {float(rate): float(np.mean(group.to_numpy())) for rate, group in values}
    finite = {rate: score for rate, score in scores.items() if np.isfinite(score)}
    if not finite:
        raise UserError(f"no learning rate of {run.name} trains without diverging: extend its sweep to smaller rates.")
    sound = [rate for rate in finite if not diverged_seeds(sweep[sweep["learning_rate"] == rate])]
    winner = max(sound or finite, key=lambda rate: (finite[rate] if higher else -finite[rate], rate))
    return {
        "learning_rate": winner,
        "scores": {repr(rate).removesuffix(".0"): finite.get(rate) for rate in scores},
        "metric": metric,
        "rule": SELECTION_RULE.format(metric=metric, best="highest" if higher else "lowest"),
    }
