"""`reference/summary.csv`: each published curve as one row of numbers."""

import numpy as np
import pandas as pd

from dyna_td.evidence import statistics
from dyna_td.evidence.scores import score
from dyna_td.pages.facts import Facts
from dyna_td.plan.costs import published_cost
from dyna_td.plan.planned import Figure, Panel
from dyna_td.records import published, results
from dyna_td.runs.run import Run

COLUMNS = ["figure", "panel", "curve", "environment", "agent", "updates", "metric", "mean", "low95", "high95", "iqm"]
COLUMNS += ["last20", "seeds", "steps", "core_minutes", "run"]
_OF_EPISODES = {"crashes": "crashed"}  # a metric counted over driving steps, and the record of each evaluation


def summary(facts: Facts, figures: list[Figure]) -> pd.DataFrame:
    """A row for each panel and curve of `figures` whose run is published, with `COLUMNS`.

    `mean` is over learning, as in the claims: the panel's metric in evaluations after any warm-up, seed by seed.
    """
    rows = [
        {"figure": figure.name, "panel": letter, "curve": curve, **_row(facts, panel, run)}
        for figure in figures
        for letter, panel in figure.panels.items()
        for curve, run in panel.curves.items()
        if published.read_details(run.name)
    ]
    return pd.DataFrame(rows, columns=COLUMNS)


def _row(facts: Facts, panel: Panel, run: Run) -> dict[str, object]:
    measured, metric = facts.read(run), _OF_EPISODES.get(panel.metric, panel.metric)
    scores, last = (score(measured, metric, window).dropna() for window in ("auc", "final"))
    low, high = _interval(scores.to_numpy()) if len(scores) > 1 else (np.nan, np.nan)
    return {
        **{"environment": run.environment, "agent": run.agent, "run": run.name, "metric": metric},
        "updates": getattr(run.settings, "planning_updates", ""),
        **{"mean": scores.mean(), "low95": low, "high95": high},
        "iqm": statistics.interquartile_mean(scores) if len(scores) else np.nan,
        **{"last20": last.mean(), "seeds": len(scores), "steps": run.steps},
        "core_minutes": sum(cost.core_seconds for job in results.jobs_of(run) if (cost := published_cost(job))) / 60,
    }


def _interval(scores: np.ndarray) -> tuple[float, float]:
    """The ends of the mean's 95% interval, by the method of the claims."""
    is_few = len(scores) < statistics.FEW
    low, high = (statistics.estimate_few([scores]) if is_few else statistics.estimate(scores)).interval()
    return float(low), float(high)
