"""Verdicts on the claims by the finished runs: supported, contradicted, undecided or not run.

A test says where the mean of a comparison lies if the claim is true (`MeasuredTest.region`). The test is supported if
the data exclude a mean outside this region. It is contradicted if they exclude a mean inside, else undecided. P-values
are two-sided. Only the support of an equivalence takes two one-sided tests at 5% each (TOST): its 90% interval must lie
inside the bounds.

A claim that needs `all` of its tests is supported if all are, contradicted if one is. A claim that needs `any` is
supported if one is, contradicted if all are. Otherwise it is not run if a test is not run, else undecided. One test
alone can contradict an `all` claim or support an `any` claim. Its p-value for that is corrected by Holm's method for
the number of tests, those not run included. The other side needs every test. Such an intersection-union test errs no
more often than each of its tests, so it is not corrected. A corrected test can stay undecided although its interval
excludes the bound.
"""

import math
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from dyna_td.evidence import statistics
from dyna_td.evidence.claims import COUNTING, Claim, ComputedTest, MeasuredTest, Term
from dyna_td.evidence.identities import IDENTITIES
from dyna_td.evidence.outcomes import Effect, Outcome, Sample
from dyna_td.evidence.scores import SOURCES, STUCK, Measured, common_seconds, score, steps_in, stuck_below
from dyna_td.runs.run import Run

MAX_SEEDS = 10_000  # a test that needs more is not worth its seeds
_MIN_RANKED = 6  # seeds: with fewer an exact rank test cannot decide
_MIN_SECONDS = 1.0  # shorter trainings cannot be timed

Read = Callable[[Run], Measured | None]
_Found = dict[Term, Measured]  # the results of all curves of a test


def judge(claim: Claim, read: Read) -> tuple[str, list[Outcome]]:
    """The verdict on `claim` and the outcomes of its tests; `read` gives a run's results, None if there are none."""
    outcomes = [_outcome(test, read) for test in claim.tests]
    counted = [k for k, test in enumerate(claim.tests) if not test.secondary]
    groups = [counted, *([k] for k, test in enumerate(claim.tests) if test.secondary)]
    for group in groups:
        estimated = [k for k in group if outcomes[k].p_supported is not None]
        both = ([getattr(outcomes[k], name) for k in estimated] for name in ("p_supported", "p_contradicted"))
        for k, p, q in zip(estimated, *corrected(claim.combine, *both), strict=True):
            test = claim.tests[k]
            assert isinstance(test, MeasuredTest)  # a computed test estimates nothing
            outcomes[k] = _decided(outcomes[k], test, claim.combine, float(p), float(q), len(estimated))
    return combined(claim.combine, [outcomes[k].verdict for k in counted]), outcomes


def corrected(combine: str, p_supported: ArrayLike, p_contradicted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The p-values of a claim's tests, [tests] each; Holm's method corrects the side that one test can settle."""
    if combine == "all":
        return np.asarray(p_supported, np.float64), statistics.holm(p_contradicted)
    return statistics.holm(p_supported), np.asarray(p_contradicted, np.float64)


def _decided(outcome: Outcome, test: MeasuredTest, combine: str, p: float, q: float, tests: int) -> Outcome:
    """The outcome with its corrected p-values and the verdict, or the seeds that would bring one."""
    outcome = replace(outcome, p_supported=p, p_contradicted=q)
    if outcome.verdict != "undecided":
        return outcome
    if min(p, q) <= statistics.LEVEL:
        return replace(outcome, verdict="supported" if p < q else "contradicted")
    sample = outcome.sample
    is_inside = sample.distance > 0
    is_alone = (combine == "any") == is_inside  # whether this test alone would settle the claim
    tails = 1 if test.expect == "equivalent" and is_inside else 2
    level = statistics.LEVEL / tails / (tests if is_alone else 1)
    least = max(sample.fewest + 1, _MIN_RANKED)
    seeds = max(statistics.seeds_to_decide(sample.distance, sample.spread, level), least)
    return replace(outcome, seeds_to_decide=seeds, would_be="supported" if is_inside else "contradicted")


def nearest_decision(claim: Claim, outcomes: list[Outcome]) -> Outcome:
    """The outcome of the test on which an undecided claim depends.

    If tests lean to the side that a single test can settle, it is the one of them that needs the fewest seeds.
    Otherwise it is the one that needs the most.
    """
    counted = (o for o, test in zip(outcomes, claim.tests, strict=True) if not test.secondary)
    open_ = [outcome for outcome in counted if outcome.verdict == "undecided"]
    settles = {"all": "contradicted", "any": "supported"}[claim.combine]

    def seeds(outcome: Outcome) -> float:
        return math.inf if outcome.seeds_to_decide is None else outcome.seeds_to_decide

    single = [outcome for outcome in open_ if outcome.would_be == settles and seeds(outcome) <= MAX_SEEDS]
    return min(single, key=seeds) if single else max(open_, key=seeds)


def combined(combine: str, verdicts: list[str]) -> str:
    """The verdict on a claim that needs `all` or `any` of its tests."""
    one_settles, all_settle = {"all": ("contradicted", "supported"), "any": ("supported", "contradicted")}[combine]
    if one_settles in verdicts:
        return one_settles
    if "not run" in verdicts:
        return "not run"
    return all_settle if set(verdicts) == {all_settle} else "undecided"


def weakest(sources: Collection[str]) -> str:
    """The weakest of `sources`; empty if there are none."""
    return next((name for name in SOURCES if name in sources), "")


def _outcome(test: MeasuredTest | ComputedTest, read: Read) -> Outcome:
    """The outcome of `test`, with uncorrected p-values."""
    if isinstance(test, ComputedTest):
        check = IDENTITIES[test.label]()
        verdict = {True: "supported", False: "contradicted", None: "undecided"}[check.holds]
        return Outcome(verdict, Effect(check.effect), Sample(window="exact"), sources="current", note=check.note)
    if absent := _absent(test, read):
        return Outcome("not run", p_supported=1.0, p_contradicted=1.0, note=absent)
    measured = {term: found for term in test.terms if (found := read(term.run))}
    if test.expect == "rarely":
        outcome = _share_outcome(test, measured, read)
    elif test.expect == "more_often":
        outcome = _proportion_outcome(test, measured, read)
    elif test.expect == "share_below":
        outcome = _cost_outcome(test, measured)
    else:
        outcome = _mean_outcome(test, measured)
    outcome = _with_stuck(outcome, test, measured, read)
    return replace(outcome, sources=weakest({found.sources for found in measured.values()}))


def _absent(test: MeasuredTest, read: Read) -> str:
    """The runs or metrics that a test lacks, in words; empty if all are there."""
    needed = (run for term in test.terms for run in (term.panel if test.expect in COUNTING else (term.run,)))
    runs = dict.fromkeys(run.name for run in needed if read(run) is None)
    if runs:
        return f"missing: {', '.join(runs)}"
    metrics = [
        name
        for term in test.terms
        if (found := read(term.run))
        for name in term.metric.split("+")
        if not found.has(name)
    ]
    return f"trained without {', '.join(dict.fromkeys(metrics))}" if metrics else ""


def _mean_outcome(test: MeasuredTest, measured: _Found) -> Outcome:
    """The outcome by where the mean of the comparison lies, or the ratio of the means if it is relative.

    With few seeds, these are geometric means.
    """
    values = _scores(test, measured)
    plus, minus = ([np.log(each) for each in side] for side in values) if test.relative else values
    by_seed = sum(plus) - sum(minus)
    sample = by_seed.dropna()
    left_out = by_seed.index.difference(sample.index)
    described = Sample((len(sample),), "paired", _window(test, measured), left_out=len(left_out))
    remarks = [f"left out, not finite: seed {', '.join(map(str, left_out))}"] if len(left_out) else []
    if sample.empty:
        remarks += [f"no run has seeds from {test.first_seed} on yet"] if test.first_seed else []
        return Outcome("undecided", Effect(), described, 1.0, 1.0, note="; ".join(remarks))
    found: statistics.FewSeeds | statistics.Estimate | statistics.MiddleHalf
    if len(sample) < statistics.FEW:
        sides = (_distinct(test.plus, plus), _distinct(test.minus, minus))
        found = statistics.estimate_few(*([each[sample.index].to_numpy() for each in side] for side in sides))
        described = replace(described, pairing="few, unpaired" if minus else "few")
    elif test.of_middle_half:
        found = statistics.estimate_middle_half(sample.to_numpy())
    elif test.relative:
        over, under = ([each[sample.index].to_numpy() for each in side] for side in values)
        found = statistics.estimate_ratio(over, under)
        geometric = statistics.estimate(sample.to_numpy())
        remarks.append(f"geometric mean of the seeds' ratios: {_in_words(geometric.effect, *geometric.interval())}")
    else:
        found = statistics.estimate(sample.to_numpy())
    ends = [*found.interval(), *(found.interval(2 * statistics.LEVEL) if test.expect == "equivalent" else ())]
    iqm = statistics.interquartile_mean(sample)
    effect, iqm, *ends = (float(np.expm1(number) if test.relative else number) for number in (found.effect, iqm, *ends))
    bounds = dict(zip(("low95", "high95", "low90", "high90"), ends, strict=False))
    low, high = test.region
    inside = statistics.p_inside(found, low, high)
    spread = float(found.standard_error) * len(sample) ** 0.5 or np.nan
    return Outcome(
        "undecided",
        Effect(effect, iqm=iqm, improvement=_improvement(test, plus, minus, sample), **bounds),
        replace(described, distance=float(min(found.effect - low, high - found.effect)), spread=spread),
        p_supported=float(inside) if test.expect == "equivalent" else _doubled(inside),
        p_contradicted=_doubled(statistics.p_outside(found, low, high)),
        note="; ".join(filter(None, [*remarks, _disagreement(test, found, len(sample))])),
    )


def _distinct(items: tuple[tuple[Term, ...], ...], values: list[pd.Series]) -> list[pd.Series]:
    """The scores of each item once, times its count: a curve that is named twice is no independent sample."""
    return [items.count(item) * value for item, value in dict(zip(items, values, strict=True)).items()]


def _disagreement(test: MeasuredTest, found: Any, seeds: int) -> str:
    """Student's interval, in words, if it and the bootstrap's decide a one-sided test differently; else empty."""
    bound, high = test.region
    if not isinstance(found, statistics.Estimate) or high < math.inf:
        return ""
    sides = [(low > bound, high < bound) for low, high in (found.interval(), found.student(seeds))]
    if sides[0] == sides[1]:
        return ""
    low, high = (float(np.expm1(end) if test.relative else end) for end in found.student(seeds))
    return f"Student's interval says otherwise: {low:+.3g} to {high:+.3g}"


def _in_words(*logarithms: ArrayLike) -> str:
    """The ratio of an effect and the ends of its interval in per cent."""
    effect, low, high = (f"{100 * float(np.expm1(number)):+.3g}%" for number in logarithms)
    return f"{effect} ({low} to {high})"


def _scores(test: MeasuredTest, measured: _Found) -> tuple[list[pd.Series], list[pd.Series]]:
    """The scores of the items of plus and of minus, for each common seed; a relative test keeps only positive scores.

    Some runs have more seeds than others (`more_seeds` in scales.yaml).
    """
    budget = common_seconds(measured.values()) if test.window == "equal_seconds" else 0.0
    shared = _seeds(test, measured)

    def one(term: Term) -> pd.Series:
        values = score(measured[term], term.metric, test.window, test.over, budget)
        values = values[values.index.isin(shared)]
        if test.above is not None:
            values = (values > test.above).where(values.notna()).astype(float)
        if test.best is not None:
            values = test.best - values
        return values.where(values > 0) if test.relative else values

    plus, minus = (
        [(one(item[0]) - one(item[1])).abs() if len(item) == 2 else one(*item) for item in side]
        for side in (test.plus, test.minus)
    )
    return plus, minus


def _seeds(test: MeasuredTest, measured: _Found) -> set[int]:
    """The seeds that a test uses of each curve, from its first one on: those that all have, or all that any has."""
    own = [set(found.run.seeds) for found in measured.values()]
    used = set.union(*own) if test.expect in COUNTING else set.intersection(*own)
    return {seed for seed in used if seed >= test.first_seed}


def _improvement(test: MeasuredTest, plus: list[pd.Series], minus: list[pd.Series], sample: pd.Series) -> float:
    """See `Effect.improvement`; NaN for a single curve."""
    if test.is_of_two_curves:
        return statistics.probability_of_improvement(plus[0].dropna(), minus[0].dropna())
    return statistics.probability_of_improvement(sample, [0.0]) if minus else np.nan


def _stuck(
    term: Term, own: Measured, seeds: Collection[int], read: Read, share: float = STUCK
) -> tuple[int, int, float]:
    """The numbers of a curve's stuck seeds and of all, among `seeds`, and the bound; a score of NaN counts as stuck."""
    found = [measured for run in term.panel if (measured := read(run))]
    bound = stuck_below(found, term.metric, share)
    values = score(own, term.metric, "final")
    values = values[values.index.isin(seeds)]
    return int((~(values >= bound)).sum()), len(values), bound


def _with_stuck(outcome: Outcome, test: MeasuredTest, measured: _Found, read: Read) -> Outcome:
    """The outcome with the share of stuck seeds, if the test compares the returns of two curves."""
    if np.isnan(outcome.effect.estimate) or test.metrics != ["return"] or not test.is_of_two_curves:
        return outcome
    (((plus,),), ((minus,),)) = test.plus, test.minus
    if any(read(run) is None for run in (*plus.panel, *minus.panel)):  # the best of the panel is not known yet
        return outcome
    seeds = _seeds(test, measured)
    found = (_stuck(term, measured[term], seeds, read) for term in (plus, minus))
    stuck_plus, stuck_minus = (hits / of for hits, of, _ in found)
    return replace(outcome, effect=replace(outcome.effect, stuck_plus=stuck_plus, stuck_minus=stuck_minus))


def _proportion_outcome(test: MeasuredTest, measured: _Found, read: Read) -> Outcome:
    """The outcome of Fisher's exact test: are more seeds of plus stuck?"""
    (((plus,),), ((minus,),)) = test.plus, test.minus
    (hits, of, bound), (others, of_others, _) = (
        _stuck(term, measured[term], _seeds(test, measured), read, test.margin) for term in (plus, minus)
    )
    counts = (hits, of, others, of_others)
    p, q = map(_doubled, statistics.fisher_exact(*counts))
    difference, low, high = statistics.proportion_difference(*counts)
    shares = (hits / of, others / of_others)
    spread = math.sqrt(sum(share * (1 - share) for share in shares)) or np.nan
    window = _window(test, {plus: measured[plus]})
    return Outcome(
        "undecided",
        Effect(difference, low, high),
        Sample((of, of_others), "unpaired", window, difference, spread),
        p_supported=p,
        p_contradicted=q,
        note=f"{hits} of {of} against {others} of {of_others} below {bound:.4g}",
    )


def _share_outcome(test: MeasuredTest, measured: _Found, read: Read) -> Outcome:
    """The outcome of an exact binomial test: is the share of stuck seeds of plus below the margin?"""
    ((term,),) = test.plus
    hits, of, bound = _stuck(term, measured[term], _seeds(test, measured), read)
    share, low, high = statistics.proportion(hits, of)
    p, q = map(_doubled, statistics.binomial(hits, of, test.margin))
    spread = math.sqrt(share * (1 - share)) or np.nan
    return Outcome(
        "undecided",
        Effect(share, low, high),
        Sample((of,), "one curve", _window(test, measured), test.margin - share, spread),
        p_supported=p,
        p_contradicted=q,
        note=f"{hits} of {of} below {bound:.4g}",
    )


def _cost_outcome(test: MeasuredTest, measured: _Found) -> Outcome:
    """The outcome by the share of the training seconds that plus needs beyond minus: one job each, so no interval."""
    jobs = Sample((1, 1), "jobs", "whole run")
    if min(found.detail("train_seconds") for found in measured.values()) < _MIN_SECONDS:
        return Outcome("undecided", sample=jobs, note="too short a training to be timed")
    plus, minus = (
        found.detail("train_seconds") / found.detail("trained_seeds") / found.run.steps
        for found in (measured[term] for ((term,),) in (test.plus, test.minus))
    )
    share = 1.0 - minus / plus
    verdict = "supported" if share < test.margin else "contradicted"
    note = f"{1e6 * plus:.3g} against {1e6 * minus:.3g} microseconds a step and seed"
    return Outcome(verdict, Effect(share), jobs, note=note)


def _doubled(p: np.ndarray | float) -> float:
    """The two-sided p-value of a test that is asked in both directions."""
    return min(1.0, 2.0 * float(p))


def _window(test: MeasuredTest, measured: _Found) -> str:
    """The window with the steps at which it begins and ends; a short run can have no evaluation there."""
    if test.window == "equal_seconds":
        return f"{test.window} to {common_seconds(measured.values()):.3g} s"
    first = measured[test.terms[0]]
    steps = steps_in(first.run, test.window, sorted(first.records["step"].unique()))
    return f"{test.window} {steps[0]}..{steps[-1]}" if steps else f"{test.window}, without an evaluation"
