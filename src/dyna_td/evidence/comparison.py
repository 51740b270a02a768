"""Two trainings compared: `python -m dyna_td compare td.csv er.csv`."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence import statistics
from dyna_td.evidence.scorecard import number_words
from dyna_td.records import results
from dyna_td.records.metrics import diverged_seeds, main_metric

ENDINGS = (".csv", ".csv.xz")  # endings of files with records, finished here or published


def compare(csvs: Sequence[Path]) -> list[str]:
    """Lines of text: the mean over learning of each of two trainings, then their difference.

    A seed's mean is that of its returns, or of its testing RMSEs on the supervised task. It covers the evaluations that
    both trainings have from the end of the longer warm-up on. With ten or more common seeds, differences are paired and
    have the claims' bootstrap-t interval. Otherwise all seeds of both are compared by Welch's interval.

    Raises:
      UserError: a file is no training's, the environments differ, no such evaluation is common, or a training has
        fewer than two finite seeds.
    """
    trainings = [results.read_training(csv) for csv in csvs]
    if csvs[0].resolve() == csvs[1].resolve():
        raise UserError(f"{csvs[0]} is named twice: name two trainings.")
    environment, other = (details["environment"] for _, details in trainings)
    names, runs = (tuple(details[key] for _, details in trainings) for key in ("agent", "run"))
    if environment != other:
        raise UserError(f"{csvs[0]} is of {environment}, {csvs[1]} of {other}: compare runs of one environment.")
    metric = main_metric(environment)
    of_metric = (records[records["metric"] == metric] for records, _ in trainings)
    tables = [records.pivot(index="seed", columns="step", values="value") for records in of_metric]
    begin = max(1, *(details["settings"].get("warm_up_steps", 0) for _, details in trainings))
    steps = [step for step in tables[0].columns.intersection(tables[1].columns) if step >= begin]
    if not steps:
        both = " and ".join(map(str, csvs))
        raise UserError(
            f"{both} have no evaluation in common from step {begin:,} on, where learning begins: train longer."
        )
    if names[0] == names[1]:
        names = tuple(map(results.stem, csvs))
    if names[0] == names[1]:
        names = tuple(map(str, csvs))
    scores = [table[steps].where(np.isfinite(table[steps])).mean(axis="columns", skipna=False) for table in tables]
    extent = f"evaluations from step {steps[0]:,} to {steps[-1]:,}"
    lines = [f"mean {metric} on {environment}, {extent}:"]
    diverged = [len(diverged_seeds(records)) for records, _ in trainings]
    for name, each, run, count in zip(names, scores, runs, diverged, strict=True):
        warning = f"; {count} of {len(each)} seeds diverged" if count else ""
        lines.append(f"  {name}: {_one(each)}{warning} ({run})")
    return [*lines, _difference(names, [each.dropna() for each in scores], is_error=metric == "test_rmse")]


def _one(scores: pd.Series) -> str:
    """A training's mean over its seeds, with half of Student's interval."""
    known = scores.dropna()
    left_out = f", {len(scores) - len(known)} more not finite" if len(known) < len(scores) else ""
    seeds = f"{len(known)} seed{'s' if len(known) != 1 else ''}{left_out}"
    if len(known) < 2:
        return f"{number_words(known.mean())}, {seeds}"
    return f"{number_words(known.mean())} ± {number_words(statistics.half_width(known))} (95%), {seeds}"


def _difference(names: Sequence[str], scores: list[pd.Series], is_error: bool) -> str:
    """The difference of two trainings with its interval, what it shows, and the probability of improvement."""
    common = scores[0].index.intersection(scores[1].index)
    counts = [len(each) for each in scores]
    if min(counts) < 2:
        raise UserError(
            f"{names[0]} and {names[1]} have {counts[0]} and {counts[1]} seeds whose numbers are finite: train two or "
            "more of each; at a smaller learning rate, if seeds diverged."
        )
    is_paired = len(common) >= statistics.FEW
    plus, minus = ([each[common] for each in scores]) if is_paired else scores
    spread = plus - minus if is_paired else pd.concat([plus - plus.iloc[0], minus - minus.iloc[0]])
    if spread.nunique() == 1:
        effect = number_words(float(plus.mean() - minus.mean()))
        return f"{names[0]} - {names[1]}: {effect} for every seed, so there is no interval"
    found = statistics.estimate(plus - minus) if is_paired else statistics.estimate_few([plus], [minus])
    low, high = (float(end) for end in found.interval())
    how = f"{len(common)} seeds, paired" if is_paired else f"{counts[0]} and {counts[1]} seeds, not paired"
    better, worse = names[::-1] if is_error else names
    leader = better if low > 0 else worse if high < 0 else ""
    improved = statistics.probability_of_improvement(*((minus, plus) if is_error else (plus, minus)))
    effect, low_end, high_end = (
        f"{'+' if end > 0 else ''}{number_words(end)}" for end in (float(found.effect), low, high)
    )
    return (
        f"{names[0]} - {names[1]}: {effect}, 95% interval {low_end} to {high_end} ({how}); "
        f"{f'{leader} leads' if leader else 'no lead is shown'}; P of improvement by {names[0]} {improved:.2f}"
    )
