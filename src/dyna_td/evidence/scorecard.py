"""The verdicts on claims, as objects and as the table `claims.csv`."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np
import pandas as pd

from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term
from dyna_td.evidence.outcomes import VERDICTS, Outcome
from dyna_td.evidence.verdicts import MAX_SEEDS, Read, judge, nearest_decision, weakest
from dyna_td.plan.planned import Plan
from dyna_td.records import published

CHANGES = ("best", "above", "first_seed")  # how a test changes the scores that it compares; see `claims`
COLUMNS = [
    *("claim", "row", "figure", "test", "plus", "minus", "metric", "window", *CHANGES, "expect", "margin", "unit"),
    *("verdict", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted", "n", "pairing"),
    *("scale", "evidence", "sources", "note", "low90", "high90", "improvement", "stuck_plus", "stuck_minus"),
    *("seeds_to_decide", "to_decide"),
]


@dataclass(frozen=True)
class Tested:
    """One test of a claim with its outcome; `to_decide` says what would decide an undecided one."""

    test: MeasuredTest | ComputedTest
    outcome: Outcome
    to_decide: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict at a scale, and its tests.

    Attributes:
      seeds_to_decide: of the test on which an undecided claim depends.
      to_decide: this test, and what would decide it.
    """

    claim: Claim
    scale: str
    verdict: str
    tests: tuple[Tested, ...]
    seeds_to_decide: float | None = None
    to_decide: str = ""

    @property
    def counted(self) -> list[Tested]:
        """The tests on which the verdict depends."""
        return [tested for tested in self.tests if not tested.test.secondary]

    @property
    def sources(self) -> str:
        """The weakest sources of its tests."""
        return weakest({tested.outcome.sources for tested in self.counted})

    @property
    def is_evidence(self) -> bool:
        """Whether the scale is the paper's, or the claim needs no training."""
        return all(self.is_evidence_of(tested) for tested in self.counted)

    def is_evidence_of(self, tested: Tested) -> bool:
        """`is_evidence` of a test; one that is not run is no counter-evidence either."""
        is_computed = isinstance(tested.test, ComputedTest)
        return is_computed or self.scale == published.SCALE or tested.outcome.verdict == "not run"


def judge_all(claims: Iterable[Claim], scale: str, read: Read) -> list[Judged]:
    """The verdicts on `claims` of a scale's plan; `read` is that of `verdicts.judge`."""
    found = []
    for claim in claims:
        verdict, outcomes = judge(claim, read)
        tests = tuple(
            Tested(test, outcome, _to_decide(test, outcome))
            for test, outcome in zip(claim.tests, outcomes, strict=True)
        )
        one = Judged(claim, scale, verdict, tests)
        if verdict == "undecided":
            decisive = nearest_decision(claim, outcomes)
            tested = next(tested for tested in tests if tested.outcome is decisive)
            words = f"{tested.test.label}: {tested.to_decide}"
            one = replace(one, seeds_to_decide=decisive.seeds_to_decide, to_decide=words)
        found.append(one)
    return found


def as_table(verdicts: Iterable[Judged]) -> pd.DataFrame:
    """A row for each claim, followed by one for each of its tests, with the columns `COLUMNS`.

    `row` is claim, test, or secondary: a test that does not count for the verdict.
    """
    return pd.DataFrame([row for one in verdicts for row in rows(one)], columns=COLUMNS)


def rows(one: Judged) -> list[dict]:
    """The rows of one claim in `as_table`."""
    return [_claim_row(one), *(_test_row(one, tested) for tested in one.tests)]


def as_csv(card: pd.DataFrame) -> str:
    """The text of a table of verdicts or of means; a value that a row does not have is empty."""
    return card.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def lines(verdicts: Iterable[Judged]) -> list[str]:
    """A line for each claim: its number, verdict, effect and text; contradicted ones first, without those not run."""
    order = ("contradicted", "undecided", "supported")
    known = sorted((one for one in verdicts if one.verdict in order), key=lambda one: order.index(one.verdict))
    effects = [effect_words(one.counted[0]) if len(one.counted) == 1 else "" for one in known]
    return [
        f"{one.claim.number:3}  {verdict_words(one):20}  {effect:32}  {textwrap.shorten(one.claim.text, 70)}"
        for one, effect in zip(known, effects, strict=True)
    ]


def count_words(verdicts: Iterable[Judged]) -> str:
    """The number of claims with each verdict, in words."""
    found = Counter(one.verdict for one in verdicts)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS) + "."


def next_steps(verdicts: Iterable[Judged], plan: Plan) -> list[str]:
    """The commands that would settle the claims that are not run, a line for each figure or study."""
    claims: dict[str, list[int]] = {}
    for one in verdicts:
        lacking = [tested.test for tested in one.counted if tested.outcome.verdict == "not run"]
        for figure in dict.fromkeys(figure for test in lacking for figure in figures_of(one.claim, test)):
            claims.setdefault(figure, []).append(one.claim.number)
    return [
        f"claims {', '.join(map(str, claims[name]))}: make {name} SCALE={plan.scale}"
        for name in plan.drawn
        if name in claims
    ]


def verdict_words(one: Judged) -> str:
    """The verdict, marked where it is no evidence or rests on other sources."""
    scale = f" ({one.scale})" if not one.is_evidence and one.verdict != "not run" else ""
    return f"{one.verdict}{scale}{'*' if one.sources == 'other' else ''}"


def effect_words(tested: Tested) -> str:
    """An effect as "-22 (-101 to +37) reward", in per cent if it is relative; empty without an effect."""
    effect, unit = tested.outcome.effect, tested.test.unit
    if np.isnan(effect.estimate):
        return ""
    words, low, high = (signed(tested.test, value) for value in (effect.estimate, effect.low95, effect.high95))
    interval = "" if np.isnan(effect.low95) else f" ({low} to {high})"
    return f"{words}{interval}{'' if unit == 'relative' else f' {unit}'}".rstrip()


def signed(test: MeasuredTest | ComputedTest, value: float) -> str:
    """A number of a test with its sign: in per cent if it is relative, without decimals from 100 on."""
    if test.unit == "relative":
        return f"{100 * value:+.3g}%"
    return f"{value:+,.0f}" if 100 <= abs(value) < np.inf else f"{value:+.3g}"


def number_words(value: float) -> str:
    """A number with as many digits as a reader needs."""
    return f"{value:,.0f}" if 100 <= abs(value) < np.inf else f"{value:.3g}"


def _to_decide(test: MeasuredTest | ComputedTest, outcome: Outcome) -> str:
    """How many seeds are expected to decide an undecided test, or why none would, in words; "" for other tests."""
    if outcome.verdict != "undecided":
        return ""
    if isinstance(test, ComputedTest):
        return "it depends on a choice that the paper leaves open"
    if outcome.seeds_to_decide is None:
        return "longer trainings would, not more seeds"
    if not outcome.sample.fewest:
        return outcome.note or "no seed has a number"
    if np.isnan(outcome.sample.spread):
        because = f" ({outcome.note})" if outcome.note else ""
        return f"no number of seeds is known, because the seeds show no spread{because}"
    if outcome.seeds_to_decide > MAX_SEEDS:
        return f"more than {MAX_SEEDS:,} seeds, because the effect lies at the bound"
    which = "finite seeds" if outcome.sample.left_out else "seeds"
    seeds = f"{float(f'{outcome.seeds_to_decide:.2g}'):,.0f} {which}"
    return f"about {seeds}, if the effect stays: then {outcome.would_be}"


def figures_of(claim: Claim, test: MeasuredTest | ComputedTest) -> tuple[str, ...]:
    """The figures and studies whose curves a test compares; an identity is of all figures of its claim."""
    return claim.figures if isinstance(test, ComputedTest) else tuple(dict.fromkeys(term.figure for term in test.terms))


def _test_row(one: Judged, tested: Tested) -> dict:
    """A test's comparison and outcome; a test that is not run has no numbers."""
    test, outcome, sample = tested.test, tested.outcome, tested.outcome.sample
    row = {
        "claim": one.claim.number,
        "row": "secondary" if test.secondary else "test",
        "figure": _numbers(figures_of(one.claim, test)),
        "test": test.label,
        "window": sample.window,
        "unit": test.unit,
        "verdict": outcome.verdict,
        **asdict(outcome.effect),
        "effect": outcome.effect.estimate,
        "n": sample.n,
        "pairing": sample.pairing,
        "scale": one.scale,
        "sources": outcome.sources,
        "note": outcome.note,
        "seeds_to_decide": outcome.seeds_to_decide,
        "to_decide": tested.to_decide,
    }
    if outcome.verdict != "not run":
        row["p_supported"], row["p_contradicted"] = outcome.p_supported, outcome.p_contradicted
        row["evidence"] = "yes" if one.is_evidence_of(tested) else "no"
    if isinstance(test, ComputedTest):
        return row | {"expect": "computed"}
    metric = " against ".join(test.metrics)
    return row | {
        "plus": side_words(test, test.plus),
        "minus": side_words(test, test.minus),
        "metric": f"({metric}) / {test.over}" if test.over else metric,
        **{name: getattr(test, name) for name in (*CHANGES, "expect", "margin")},
    }


def _claim_row(one: Judged) -> dict:
    """The row of a claim; one with a single test also has that test's numbers."""
    claim = one.claim
    found = Counter(tested.outcome.verdict for tested in one.counted)
    note = f"{len(one.counted)} tests: {', '.join(f'{found[name]} {name}' for name in VERDICTS if found[name])}"
    several = {"claim": claim.number, "expect": claim.combine, "scale": one.scale, "unit": "", "note": note}
    row = (_test_row(one, one.counted[0]) if len(one.counted) == 1 else several) | {
        **{"row": "claim", "test": claim.text, "figure": _numbers(claim.figures), "verdict": one.verdict},
        "evidence": ("yes" if one.is_evidence else "no") if one.verdict != "not run" else "",
        "sources": one.sources,
    }
    if one.verdict == "undecided":
        row |= {"seeds_to_decide": one.seeds_to_decide, "to_decide": one.to_decide}
    return row


def _numbers(figures: Iterable[str]) -> str:
    return " ".join(figure.removeprefix("figure_") for figure in figures)


def side_words(
    test: MeasuredTest, items: tuple[tuple[Term, ...], ...], name: Callable[[Term], str] = lambda term: term.path
) -> str:
    """The names of the curves on a side, by default their paths, with the metric where the test compares several."""
    several = len(test.metrics) > 1
    names = [[f"{name(term)}:{term.metric}" if several else name(term) for term in item] for item in items]
    return " + ".join(f"|{' - '.join(pair)}|" if len(pair) == 2 else pair[0] for pair in names)
