"""Verdicts on the claims by the runs that are there: supported, contradicted, undecided or not run.

A test says where the mean of a comparison lies if the claim is true (`MeasuredTest.region`). It is supported if the
data exclude that it lies outside, contradicted if they exclude that it lies inside, else undecided. Its two-sided
p-values are adjusted by Holm's method over all tests of the claim, those that are not run included. So a test can stay
undecided although its own 95% interval, which is not adjusted, excludes the boundary.

A claim that needs `all` of its tests is supported if all are, contradicted if one is; one that needs `any` is supported
if one is, contradicted if all are. Otherwise it is not run if a test is not run, else undecided.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from dyna_td.evidence import statistics
from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term
from dyna_td.measures.identities import IDENTITIES
from dyna_td.pipeline.plans import Plan
from dyna_td.pipeline.scores import SOURCES, Measured, common_seconds, score, steps_in
from dyna_td.settings import Run

VERDICTS = ("supported", "contradicted", "undecided", "not run")
_LEAST_SECONDS = 1.0  # of training: shorter ones are too short to be timed

Read = Callable[[Run], Measured | None]


@dataclass(frozen=True)
class Outcome:
    """The data's answer to one test.

    Attributes:
      effect, low95, high95: the mean of the comparison with its 95% interval; `iqm` is its interquartile mean.
      p_supported, p_contradicted: two-sided and adjusted; None where nothing is estimated.
      n: seeds, of each sample if they are not paired.
      sources: the weakest of the runs' sources, see `scores.SOURCES`.
    """

    verdict: str
    effect: float = np.nan
    low95: float = np.nan
    high95: float = np.nan
    iqm: float = np.nan
    p_supported: float | None = None
    p_contradicted: float | None = None
    n: str = ""
    pairing: str = ""
    window: str = ""
    sources: str = ""
    note: str = ""


def judge(claim: Claim, plan: Plan, read: Read) -> tuple[str, list[Outcome]]:
    """The verdict on `claim` and the outcomes of its tests; `read` gives a run's results, None if there are none."""
    outcomes = [_outcome(test, plan, read) for test in claim.tests]
    estimated = [k for k, outcome in enumerate(outcomes) if outcome.p_supported is not None]
    for_claim, against = (
        statistics.holm([getattr(outcomes[k], name) for k in estimated]) for name in ("p_supported", "p_contradicted")
    )
    for k, p, q in zip(estimated, map(float, for_claim), map(float, against), strict=True):
        verdict = outcomes[k].verdict
        if verdict == "undecided" and min(p, q) <= statistics.LEVEL:
            verdict = "supported" if p < q else "contradicted"
        outcomes[k] = replace(outcomes[k], verdict=verdict, p_supported=p, p_contradicted=q)
    return combined(claim.combine, [outcome.verdict for outcome in outcomes]), outcomes


def combined(combine: str, verdicts: list[str]) -> str:
    """The verdict on a claim that needs `all` or `any` of its tests."""
    one_settles, all_settle = {"all": ("contradicted", "supported"), "any": ("supported", "contradicted")}[combine]
    if one_settles in verdicts:
        return one_settles
    if "not run" in verdicts:
        return "not run"
    return all_settle if set(verdicts) == {all_settle} else "undecided"


def weakest(sources: Collection[str]) -> str:
    """The one of `sources` that says least for a verdict; empty if there are none."""
    return next((name for name in SOURCES if name in sources), "")


def _outcome(test: MeasuredTest | ComputedTest, plan: Plan, read: Read) -> Outcome:
    """The outcome of `test`, its p-values not yet adjusted."""
    if isinstance(test, ComputedTest):
        check = IDENTITIES[test.label](plan)
        verdict = "supported" if check.holds else "contradicted"
        return Outcome(verdict, check.effect, window="exact", sources="current", note=check.note)
    if absent := _absent(test, read):
        return Outcome("not run", p_supported=1.0, p_contradicted=1.0, note=absent)
    measured = {term.run: read(term.run) for term in test.terms}
    methods = {"more_often": _proportion_outcome, "share_below": _cost_outcome}
    outcome = methods.get(test.expect, _mean_outcome)(test, measured)
    return replace(outcome, sources=weakest({found.sources for found in measured.values()}))


def _absent(test: MeasuredTest, read: Read) -> str:
    """The figures or runs that a test lacks, in words; empty if all are there."""
    figures = sorted({term.figure for term in test.terms if term.run is None})
    if figures:
        return f"{', '.join(figures)} is not available yet"
    runs = dict.fromkeys(term.run.name for term in test.terms if read(term.run) is None)
    return f"missing: {', '.join(runs)}" if runs else ""


def _mean_outcome(test: MeasuredTest, measured: dict[Run, Measured]) -> Outcome:
    """The outcome by where the mean of the comparison lies."""
    samples, left_out = _samples(test, measured)
    facts = {"n": "+".join(str(len(sample)) for sample in samples), "window": _window(test, measured)}
    facts["pairing"] = "paired" if len(samples) == 1 else "unpaired"
    facts["note"] = f"left out, not finite: seed {', '.join(map(str, left_out))}" if left_out else ""
    if not all(map(len, samples)):
        return Outcome("undecided", p_supported=1.0, p_contradicted=1.0, **facts)
    found = statistics.estimate(*samples)
    numbers = (found.effect, *found.interval(), sum(map(statistics.interquartile_mean, samples)))
    effect, low, high, iqm = (float(np.expm1(number) if test.relative else number) for number in numbers)
    p, q = _doubled(found.p_inside(*test.region)), _doubled(found.p_outside(*test.region))
    return Outcome("undecided", effect, low, high, iqm, p, q, **facts)


def _samples(test: MeasuredTest, measured: dict[Run, Measured]) -> tuple[list[np.ndarray], list[int]]:
    """The comparison seed by seed, a sample for each set of seeds that runs share, and the seeds left out."""
    budget = common_seconds(measured.values()) if test.window == "equal_seconds" else 0.0

    def one(term: Term) -> pd.Series:
        values = score(measured[term.run], term.metric, test.window, test.over, budget)
        return np.log(values.where(values > 0)) if test.relative else values

    sums: dict[tuple[int, ...], pd.Series] = {}
    for sign, items in ((1.0, test.plus), (-1.0, test.minus)):
        for item in items:
            values = (one(item[0]) - one(item[1])).abs() if len(item) == 2 else one(*item)
            seeds = tuple(values.index)
            sums[seeds] = sums.get(seeds, 0.0) + sign * values
    left_out = sorted({seed for values in sums.values() for seed in values.index[values.isna()]})
    return [values.dropna().to_numpy() for values in sums.values()], left_out


def _proportion_outcome(test: MeasuredTest, measured: dict[Run, Measured]) -> Outcome:
    """The outcome of Fisher's exact test: do more seeds of plus score under the bound? NaN counts as under it."""
    counts = []
    for ((term,),) in (test.plus, test.minus):
        values = score(measured[term.run], term.metric, test.window, test.over)
        counts += [int((~(values >= test.below)).sum()), len(values)]
    hits, of, other_hits, of_others = counts
    p, q = map(_doubled, statistics.fisher_exact(*counts))
    facts = {"n": f"{of}+{of_others}", "pairing": "unpaired", "window": _window(test, measured)}
    facts["note"] = f"{hits} of {of} against {other_hits} of {of_others} below {test.below:g}"
    return Outcome("undecided", *statistics.proportion_difference(*counts), np.nan, p, q, **facts)


def _cost_outcome(test: MeasuredTest, measured: dict[Run, Measured]) -> Outcome:
    """The outcome by the share of the training seconds that plus needs beyond minus: one job each, so no interval."""
    if min(found.detail("train_seconds") for found in measured.values()) < _LEAST_SECONDS:
        return Outcome("undecided", n="1+1 jobs", window="whole run", note="too short a training to be timed")
    plus, minus = (
        measured[term.run].detail("train_seconds") / measured[term.run].detail("trained_seeds") / term.run.steps
        for ((term,),) in (test.plus, test.minus)
    )
    share = 1.0 - minus / plus
    verdict = "supported" if share < test.margin else "contradicted"
    note = f"{1e6 * plus:.3g} against {1e6 * minus:.3g} microseconds a step and seed"
    return Outcome(verdict, share, n="1+1 jobs", window="whole run", note=note)


def _doubled(p: float) -> float:
    """The two-sided p-value of a test that is asked in both directions."""
    return min(1.0, 2.0 * float(p))


def _window(test: MeasuredTest, measured: dict[Run, Measured]) -> str:
    """The window and the steps of this run in it; a short run can have no evaluation there."""
    if test.window == "equal_seconds":
        return f"{test.window} to {common_seconds(measured.values()):.3g} s"
    run = test.terms[0].run
    steps = steps_in(run, test.window, sorted(measured[run].records["step"].unique()))
    return f"{test.window} {steps[0]}..{steps[-1]}" if steps else f"{test.window}, without an evaluation"
