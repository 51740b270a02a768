"""The published returns of a figure as arrays, for other programs; `dyna_td` offers `load_returns`."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.plan import plans
from dyna_td.records import published
from dyna_td.runs.run import Run
from dyna_td.settings import is_whole


@dataclass(frozen=True)
class Returns:
    """The returns of a figure's panels.

    Attributes:
      curves: by agent, or by the figure's other key of a curve: float64 [seeds, steps, panels].
      steps: the environment steps of the evaluations: int64 [steps].
      panels: each panel's title, as in the figure.
    """

    curves: dict[str, np.ndarray]
    steps: np.ndarray
    panels: list[str]


def load_returns(figure: str = "figure_4", seeds: int | None = None) -> Returns:
    """The published returns of the curves that all panels of `figure` have, at the evaluations that all have.

    Args:
      figure: `figure_1` to `figure_14`, or a study such as `what_to_use`. Panels of other metrics are left out.
      seeds: how many of the first seeds; by default those that the figure shows.

    Raises:
      UserError: for an unknown figure, one without returns, more seeds than a run has, or a missing or damaged file.
    """
    drawn = plans.load_plan(published.SCALE).figure(figure)
    panels = [panel for panel in drawn.panels.values() if panel.metric == "return" and panel.against == "step"]
    curves = [curve for curve in panels[0].curves if all(curve in each.curves for each in panels)] if panels else []
    if not curves:
        raise UserError(f"the panels of {figure} have no curve of returns in common: name another figure.")
    runs = {curve: [panel.curves[curve] for panel in panels] for curve in curves}
    fewest = min(_published_seeds(run) for found in runs.values() for run in found)
    if seeds is None:
        seeds = min(fewest, *(panel.seeds or fewest for panel in panels))
    if not (is_whole(seeds) and 1 <= seeds <= fewest):
        raise UserError(f"seeds is {seeds}, expected 1 to {fewest}, as many as each curve of {figure} has.")
    tables = {curve: [_returns(run, seeds) for run in runs[curve]] for curve in curves}
    steps = set.intersection(*(set(table.columns) for found in tables.values() for table in found))
    return Returns(
        {curve: np.stack([table[sorted(steps)].to_numpy() for table in found], -1) for curve, found in tables.items()},
        np.array(sorted(steps)),
        [panel.title for panel in panels],
    )


def _published_seeds(run: Run) -> int:
    details = published.read_details(run.name)
    if details is None:
        raise UserError(f"{run.name} is not published: name another figure.")
    return len(details["seeds"])


def _returns(run: Run, seeds: int) -> pd.DataFrame:
    """The published returns of the first seeds of a run: a row for each seed, a column for each step."""
    records = published.read_records(run.name, last_seed=seeds - 1)
    returns = records[(records["metric"] == "return") & (records["seed"] < seeds)]
    return returns.pivot(index="seed", columns="step", values="value")
