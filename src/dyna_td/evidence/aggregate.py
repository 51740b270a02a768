"""From runs to curves: statistics over seeds at every evaluation."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.evidence.scores import Measured, read_finished, score
from dyna_td.evidence.statistics import interquartile_mean, student
from dyna_td.plan.planned import Figure, Panel
from dyna_td.records import beginnings, results
from dyna_td.runs.registry import is_supervised
from dyna_td.runs.run import Run
from dyna_td.theory.hitting_times import CLOSED_FORMS

COLUMNS = ["panel", "curve", "step", "metric", "mean", "standard_error", "low95", "high95", "iqm", "n"]

SMOOTHING = 30  # evaluations in the moving average of figures on control (paper, figure 4's caption)
SMOOTHED = "_smoothed"  # suffix of such averages' metric names

# Suffixes of metrics in a panel with baselines: a seed's mean over learning, and this mean minus that of a baseline,
# whose name follows the suffix.
OVER_LEARNING = "_over_learning"
LESS = "_less_"


def finished_tables(figure: Figure, scale: str) -> dict[Path, str]:
    """The text of each of a figure's tables, by its path, from the finished runs of a scale.

    To `tables` comes repeats.csv, which says how far its runs repeat the published ones.

    Raises:
      UserError: a run is missing, damaged or not as planned.
    """
    csv = results.curves_csv(scale, figure.name)
    found = {run: read_finished(scale, run) for run in figure.runs}
    for run, measured in found.items():
        results.require_planned(results.run_csv(scale, run.name), measured.details, run, measured.rebuild)
    texts = tables(figure, found.__getitem__)
    repeats = beginnings.as_table(beginnings.repeat(run, each.records, each.details) for run, each in found.items())
    texts[results.repeats_csv(csv).name] = _csv_text(repeats)
    return {csv.with_name(name): text for name, text in texts.items()}


def tables(figure: Figure, read: Callable[[Run], Measured]) -> dict[str, str]:
    """The text of curves.csv (`learning_curves`), scores.csv (`seed_scores`) and any states.csv (`sampled_states`)."""
    scores = seed_scores(figure, read)
    texts = {"curves.csv": _csv_text(learning_curves(figure, read, scores)), "scores.csv": _csv_text(scores)}
    if figure.runs_with_states:
        texts["states.csv"] = sampled_states(figure, read).to_csv(index=False, lineterminator="\n")
    return texts


def learning_curves(figure: Figure, read: Callable[[Run], Measured], scores: pd.DataFrame) -> pd.DataFrame:
    """All curves of `figure`, with the columns `COLUMNS`: a panel's own metric comes first, in control also smoothed.

    `read` gives the results of a run, `scores` are those of `seed_scores`.

    Rows of `diverged_seed` and `train_seconds` are no evaluations. The mean of `diverged_seed` is the number of a
    diverged seed, at the step where it was noticed. In a panel against training seconds, `train_seconds` is the job's
    training time up to `step`, divided by its seeds. A panel against driving steps begins with the rows of
    `crashes_by_driving_step`. A panel with baselines omits all other metrics, and ends with the rows of `_comparisons`.
    """
    parts = []
    for panel_key, panel in figure.panels.items():
        if panel.closed_form:
            parts.append(_exact(CLOSED_FORMS[panel.closed_form]()).assign(panel=panel_key, n=1))
        for curve_key, run in panel.curves.items():
            seeds, found = run.seeds[: panel.seeds], read(run)
            records, details = found.records[found.records["seed"].isin(seeds)], found.details
            own = records["metric"] == panel.metric
            facts = [summarise(records[own])]
            if not panel.baselines:
                facts.append(summarise(records[~own]))
            for seed, step in details.get("diverged_seeds", {}).items():
                if int(seed) in seeds:
                    noticed = pd.DataFrame({"step": [step], "mean": int(seed)})
                    facts.append(_exact(noticed).assign(metric="diverged_seed", n=1))
            if not is_supervised(run.environment):
                facts.append(summarise(smoothed(records[own])))
            if panel.against == "driving_steps":
                facts.insert(0, summarise(crashes_by_driving_step(records)))
            if panel.against == "train_seconds":
                points = found.seconds_per_seed().rename_axis("step").rename("mean").reset_index()
                facts.append(_exact(points).assign(metric="train_seconds", n=len(seeds)))
            parts += [fact.assign(panel=panel_key, curve=curve_key) for fact in facts]
        parts += [part.assign(panel=panel_key) for part in _comparisons(panel, scores[scores["panel"] == panel_key])]
    return pd.concat(parts)[COLUMNS]


def seed_scores(figure: Figure, read: Callable[[Run], Measured]) -> pd.DataFrame:
    """The mean over learning of a panel's metric, for each seed that it shows: panel, curve, seed, score.

    A score is NaN where an evaluation is not finite. A panel against driving steps has none, because its metric counts
    up. `read` is that of `learning_curves`.
    """
    parts = [pd.DataFrame(columns=["panel", "curve", "seed", "score"])]
    for panel_key, panel in figure.panels.items():
        for curve_key, run in panel.curves.items() if panel.against != "driving_steps" else ():
            values = score(read(run), panel.metric, "auc").loc[list(run.seeds[: panel.seeds])]
            parts.append(values.rename("score").reset_index().assign(panel=panel_key, curve=curve_key))
    return pd.concat(parts[1:] or parts)[list(parts[0])]


def sampled_states(figure: Figure, read: Callable[[Run], Measured]) -> pd.DataFrame:
    """The states that panels show: panel, curve, seed, x, y; `read` is that of `learning_curves`."""
    parts = []
    for panel_key, panel in figure.panels.items():
        for curve_key, run in panel.curves.items() if panel.states else ():
            states = read(run).states()
            moment = run.moments[panel.states["moment"]]
            shown = states[(states["step"] == moment) & (states["source"] == panel.states["source"])]
            shown = shown[shown["seed"].isin(run.seeds[: panel.seeds])]
            parts.append(shown.assign(panel=panel_key, curve=curve_key))
    return pd.concat(parts)[["panel", "curve", "seed", "x", "y"]]


def _csv_text(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, float_format="%.9g", na_rep="nan", lineterminator="\n")


def crashes_by_driving_step(records: pd.DataFrame) -> pd.DataFrame:
    """Crashes in evaluation episodes so far, against the environment steps that evaluations drove (figure 13b).

    A crash ends its episode, so seeds have driven different distances after equally many evaluations. They are compared
    at up to 200 equally spaced distances that every seed has driven.

    Args:
      records: a run's, with the metrics crashed and episode_length.

    Returns:
      seed, step, metric (`crashes`), value.
    """
    by_evaluation = records.pivot(index="step", columns=["metric", "seed"], values="value").sort_index()
    driven, crashes = by_evaluation["episode_length"].cumsum(), by_evaluation["crashed"].cumsum()  # [evaluations, S]
    shortest = int(driven.iloc[-1].min())
    steps = np.unique(np.linspace(0, shortest, min(shortest, 200) + 1).astype(int))
    parts = []
    for seed in driven.columns:
        so_far = np.concatenate([[0.0], crashes[seed]])  # no crash before the first episode ends
        value = so_far[np.searchsorted(driven[seed], steps, side="right")]
        parts.append(pd.DataFrame({"seed": seed, "step": steps, "metric": "crashes", "value": value}))
    return pd.concat(parts, ignore_index=True)


def smoothed(records: pd.DataFrame, window: int = SMOOTHING) -> pd.DataFrame:
    """Each seed's mean over an evaluation and up to `window` - 1 before it; a gap stays a gap.

    The paper averages over seeds after smoothing, so standard errors here are not those of single evaluations.

    Args:
      records: seed, step, metric, value; a value that is not finite is a gap.
      window: evaluations.

    Returns:
      The same columns; metric names end in `SMOOTHED`.
    """
    finite = records.assign(value=records["value"].where(np.isfinite(records["value"])))
    table = finite.pivot(index="step", columns=["metric", "seed"], values="value").sort_index()
    averages = table.rolling(window, min_periods=1).mean().where(table.notna())
    long = averages.stack(["metric", "seed"], future_stack=True).rename("value").reset_index()
    return long.assign(metric=long["metric"] + SMOOTHED)


def summarise(records: pd.DataFrame) -> pd.DataFrame:
    """Statistics over seeds for each step and metric.

    `low95` and `high95` bound Student's 95% interval of the mean; `iqm` is the mean of the middle half of the seeds.
    Values that are not finite, of diverged seeds, are left out; `n` counts the others. With one seed the standard error
    and the interval are undefined (NaN).
    """
    finite = records.assign(value=records["value"].where(np.isfinite(records["value"])))
    table = finite.pivot(index="seed", columns=["metric", "step"], values="value").sort_index(axis="columns")
    count, mean, error = table.count(), table.mean(), table.sem()
    half = student(error, (count - 1).where(count > 1))
    columns = {
        "mean": mean,
        "standard_error": error,
        "low95": mean - half,
        "high95": mean + half,
        "iqm": table.apply(lambda values: interquartile_mean(values.dropna()) if values.notna().any() else np.nan),
        "n": count,
    }
    return pd.DataFrame(columns).reset_index()


def _comparisons(panel: Panel, scores: pd.DataFrame) -> Iterator[pd.DataFrame]:
    """For each curve, at its last step: its score over learning, and its differences from baselines, paired by seed."""
    by_curve = {curve: rows.set_index("seed")["score"] for curve, rows in scores.groupby("curve", sort=False)}
    for curve, mine in by_curve.items() if panel.baselines else ():
        others = {f"{panel.metric}{LESS}{name}": mine - by_curve[name] for name in panel.baselines if name != curve}
        values = pd.concat({f"{panel.metric}{OVER_LEARNING}": mine, **others}, names=["metric"]).rename("value")
        yield summarise(values.reset_index().assign(step=panel.curves[curve].steps)).assign(curve=curve)


def _exact(points: pd.DataFrame) -> pd.DataFrame:
    """Gives numbers without spread, one `mean` per row, the columns of measured curves."""
    mean = points["mean"]
    return points.assign(standard_error=0.0, low95=mean, high95=mean, iqm=mean)
