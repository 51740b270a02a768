"""Scores, the numbers that claims compare: one for each seed, from a run's records.

Windows, in environment steps or mini-batch updates; a score is the mean of unsmoothed values over the evaluations in
its window:

    auc            from the end of the random warm-up (of the supervised task: the first evaluation after step 0) to
                   the end: 5,000 to 50,000 environment steps at paper scale
    early          the first third of that learning: 5,000 to 20,000 at paper scale
    final          the last 20 evaluations of `auc`
    end            the last evaluation, for counters
    moment_early   the evaluation of figure 2's states: 10,000 environment steps
    equal_seconds  from the end of the warm-up to the training seconds per seed that every compared run has used: like
                   `auc`, over the clock of figure 3c; the metric is interpolated between evaluations

`auc` and `early` scale with the length of a run. `final` is 20 evaluations of a run of any length.
"""

import io
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.records import published, results, sources
from dyna_td.records.metrics import STATES_METRICS
from dyna_td.runs.run import Run

SOURCES = ("other", "published", "current")  # the weakest first; see `Measured`
STUCK = 0.1  # the share of the best agent's gain that a seed must miss to be stuck, see `stuck_below`
_LAST = 20  # evaluations in the window `final`
_INSTANTS = 200  # points of time in equal_seconds


@dataclass(frozen=True)
class Measured:
    """A run with its records `seed,step,metric,value` and its JSON file's contents; `rebuild` is its command.

    `sources` is `published` for published numbers of the plan's settings, `current` for others that this code made, and
    `other` for all else. `read_states` gives any sampled states, `seed,step,source,x,y`.
    """

    run: Run
    records: pd.DataFrame
    details: dict
    rebuild: str
    sources: str = "current"
    read_states: Callable[[], pd.DataFrame] | None = None
    tables: dict[str, pd.DataFrame] = field(default_factory=dict, repr=False)  # cached, by metric

    def states(self) -> pd.DataFrame:
        """The sampled states; a UserError if the run has none."""
        if not self.read_states:
            raise UserError(f"{self.run.name} was trained without sampled states; rebuild it with `{self.rebuild}`.")
        return self.read_states()

    def seconds_per_seed(self) -> pd.Series:
        """The job's training seconds so far, divided by its seeds, by step."""
        steps, seconds = zip(*self.detail("train_seconds_at"), strict=True)
        return pd.Series(seconds, index=steps) / self.detail("trained_seeds")

    def detail(self, name: str):
        """The entry `name` of the JSON file; a UserError if it is not there."""
        if name not in self.details:
            raise UserError(f"{self.run.name} was trained without noting {name}; rebuild it with `{self.rebuild}`.")
        return self.details[name]

    def has(self, metric: str) -> bool:
        """Whether the run has `metric`; one that was declared after the training is missing."""
        return bool((metric in STATES_METRICS and self.read_states) or (self.records["metric"] == metric).any())

    def values(self, metric: str) -> pd.DataFrame:
        """`metric` by seed (rows) and step (columns); a UserError if the run does not have it."""
        if metric not in self.tables:
            self.tables[metric] = self._table(metric)
        return self.tables[metric]

    def _table(self, metric: str) -> pd.DataFrame:
        if metric in STATES_METRICS and self.read_states:
            table = reached_cells(self.read_states(), metric)
        else:
            table = self.records[self.records["metric"] == metric].pivot(index="seed", columns="step", values="value")
        if table.empty:
            raise UserError(f"{self.run.name} was trained without {metric}; rebuild it with `{self.rebuild}`.")
        return table


def reader(scale: str, directory: Path = results.DIRECTORY) -> Callable[[Run], Measured | None]:
    """A function that reads the results of a run below `directory` once, None where there are none.

    Damaged or incomplete results raise a UserError that names the file and the command that rebuilds it.
    """

    @cache
    def read(run: Run) -> Measured | None:
        is_there = results.run_csv(scale, run.name, directory).exists()
        return read_finished(scale, run, directory) if is_there else None

    return read


def read_finished(scale: str, run: Run, directory: Path = results.DIRECTORY) -> Measured:
    """The results of a run below `directory`; raises UserError as `results.read_run`."""
    csv, rebuild = results.run_csv(scale, run.name, directory), results.pipeline_command(run.name, scale)
    records, details = results.read_run(csv, run, rebuild)
    states = partial(results.read_states, csv, rebuild) if "states_sha256" in details else None
    return Measured(run, records, details, rebuild, _sources(run, details), states)


def published_reader(directory: Path = published.HERE) -> Callable[[Run], Measured | None]:
    """A function that reads the published results of a run once, None where there are none; see `reader`."""
    published.require_published(directory)

    @cache
    def read_run(run: Run) -> Measured | None:
        details = published.read_details(run.name, directory)
        if details is None:
            return None
        records, details = results.beginning(run, published.read_records(run.name, directory), details)
        results.require_complete(published.stored(run.name, "csv", directory), records, run, "make reference")
        origin = "published" if results.same(run, details) else "other"

        def read_states() -> pd.DataFrame:
            return pd.read_csv(io.BytesIO(published.read(run.name, "states.csv", directory)))

        states = read_states if "states_sha256" in details else None
        return Measured(run, records, details, "make reference", origin, states)

    return read_run


def _sources(run: Run, details: dict) -> str:
    """Where the numbers of a finished run come from, see `Measured`."""
    if not results.same(run, details):
        return "other"
    there = published.read_details(run.name)
    if there and there["csv_sha256"] == details["csv_sha256"]:
        return "published"
    return "current" if details.get("source_digest") == sources.run_digest(run) else "other"


def reached_cells(states: pd.DataFrame, metric: str) -> pd.DataFrame:
    """How many of 50x50 cells hold a state in the part of the square that `metric` names: by seed and step.

    Empty if no state is of the metric's source.
    """
    own = states[states["source"] == ("buffer" if metric.endswith("_buffer") else "own")]
    if own.empty:
        return pd.DataFrame()
    shown = own[(own["x"] < 0.5) & (own["y"] > 0.5) if "top_left" in metric else own["x"] > 0.6]
    cells = (50 * shown[["x", "y"]]).clip(upper=49).astype(int).assign(seed=shown["seed"], step=shown["step"])
    counts = cells.drop_duplicates().groupby(["seed", "step"]).size().unstack()
    return counts.reindex(index=states["seed"].unique(), columns=states["step"].unique(), fill_value=0).fillna(0.0)


def score(measured: Measured, metric: str, window: str, over: str | None = None, seconds: float = 0.0) -> pd.Series:
    """One number a seed: the mean of `metric` in `window`, NaN where a value of it is not finite.

    Args:
      measured: a run that has the metric.
      metric: a name, or several joined by "+", which are added.
      window: one of the module's.
      over: a metric whose mean divides that of the others: crashes over episode lengths are crashes a driving step.
      seconds: the training seconds per seed at which `equal_seconds` ends.
    """
    values = sum(measured.values(name) for name in metric.split("+"))
    means = _mean(values, measured, window, seconds)
    if not over:
        return means
    ratios = means / _mean(measured.values(over), measured, window, seconds)
    return ratios.where(np.isfinite(ratios))


def stuck_below(panel: Iterable[Measured], metric: str, share: float) -> float:
    """The final score under which a seed counts as stuck, far below the best agent of its panel.

    The best agent has the highest median over seeds of the final score. Its gain is this median less the mean of the
    panel's first evaluations, which are of untrained networks. A seed is stuck if it misses the median by more than
    `share` of the gain. So no bound is set by hand, and an agent's own stuck seeds cannot lower it.
    """
    panel = list(panel)
    best = max(score(measured, metric, "final").median() for measured in panel)
    first = pd.concat([measured.values(metric).iloc[:, 0] for measured in panel]).mean()
    return best - share * (best - first)


def _mean(values: pd.DataFrame, measured: Measured, window: str, seconds: float) -> pd.Series:
    values = values.where(np.isfinite(values))
    if window == "equal_seconds":
        return _over_seconds(values, measured, seconds)
    return values[steps_in(measured.run, window, values.columns)].mean(axis="columns", skipna=False)


def steps_in(run: Run, window: str, steps: Iterable[int]) -> list[int]:
    """The evaluations of `run` that lie in `window`."""
    warm_up = getattr(run.settings, "warm_up_steps", 0)
    steps = list(steps)
    learning = [step for step in steps if step > 0 and step >= warm_up] or steps[-1:]
    if window == "early":
        return [step for step in learning if 3 * (step - warm_up) <= run.steps - warm_up]
    if window == "moment_early":
        return [run.moments["early"]]
    return learning[{"final": -_LAST, "end": -1}.get(window, 0) :]


def common_seconds(compared: Iterable[Measured]) -> float:
    """The training seconds per seed that every compared run has used."""
    return min(measured.seconds_per_seed().max() for measured in compared)


def _over_seconds(values: pd.DataFrame, measured: Measured, seconds: float) -> pd.Series:
    """The mean over equally spaced instants of the clock, from the end of the warm-up to `seconds`."""
    learning = steps_in(measured.run, "auc", values.columns)
    clock = measured.seconds_per_seed()[learning].to_numpy()
    instants = np.linspace(clock[0], seconds, _INSTANTS)
    means = [np.interp(instants, clock, row).mean() for row in values[learning].to_numpy()]
    return pd.Series(means, index=values.index)
