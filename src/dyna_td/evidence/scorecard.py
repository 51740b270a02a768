"""The verdicts as files: `claims.csv`, a row for each claim and for each of its tests."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict

import numpy as np
import pandas as pd

from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term
from dyna_td.evidence.outcomes import VERDICTS, Outcome
from dyna_td.evidence.verdicts import MOST_SEEDS, Read, judge, nearest_decision, weakest
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import FIGURES_OF_THE_PAPER, STUDIES
from dyna_td.records import published

COLUMNS = [
    *("claim", "row", "figure", "test", "plus", "minus", "metric", "window", "expect", "margin", "unit"),
    *("verdict", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted", "n", "pairing"),
    *("scale", "evidence", "sources", "note", "low90", "high90", "improvement", "stuck_plus", "stuck_minus"),
    *("seeds_to_decide", "to_decide"),
]


def scorecard(claims: Iterable[Claim], plan: Plan, read: Read) -> pd.DataFrame:
    """A row for each claim, followed by one for each of its tests, with the columns `COLUMNS`.

    `row` is claim, test, or beside: a test that does not count for the verdict.
    """
    rows = []
    for claim in claims:
        verdict, outcomes = judge(claim, plan, read)
        tests = [_test_row(claim, test, outcome, plan) for test, outcome in zip(claim.tests, outcomes, strict=True)]
        row = _claim_row(claim, verdict, [test for test in tests if test["row"] == "test"], plan)
        if verdict == "undecided":
            decisive = nearest_decision(claim, outcomes)
            label = next(test["test"] for test, outcome in zip(tests, outcomes, strict=True) if outcome is decisive)
            row |= {"seeds_to_decide": decisive.seeds_to_decide, "to_decide": f"{label}: {_to_decide(decisive)}"}
        rows += [row, *tests]
    return pd.DataFrame(rows, columns=COLUMNS)


def as_csv(card: pd.DataFrame) -> str:
    """The text of a table of verdicts or of means; a value that a row does not have is empty."""
    return card.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def lines(card: pd.DataFrame, claims: list[Claim]) -> list[str]:
    """A line for each claim: its number, verdict, effect and text; contradicted ones first, without those not run."""
    rows = card[card["row"] == "claim"].set_index("claim")
    texts = {claim.number: textwrap.shorten(claim.text, 70) for claim in claims}
    judged = [number for number in texts if rows.loc[number, "verdict"] != VERDICTS[-1]]
    judged.sort(key=lambda number: ("contradicted", "undecided", "supported").index(rows.loc[number, "verdict"]))
    parts = [(number, verdict_words(rows.loc[number]), effect_words(rows.loc[number])) for number in judged]
    return [f"{number:3}  {verdict:20}  {effect:32}  {texts[number]}" for number, verdict, effect in parts]


def count_words(card: pd.DataFrame) -> str:
    """The number of claims with each verdict, in words."""
    found = Counter(card.loc[card["row"] == "claim", "verdict"])
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS) + "."


def next_steps(card: pd.DataFrame, plan: Plan) -> list[str]:
    """The commands that would settle the claims that are not run, a line for each figure or study."""
    tests = card[(card["verdict"] == "not run") & (card["row"] == "test")]
    shown = tests.assign(figure=tests["figure"].str.split()).explode("figure")
    lines = []
    for name in (*FIGURES_OF_THE_PAPER, *STUDIES):
        claims = shown.loc[shown["figure"] == name.removeprefix("figure_"), "claim"].unique()
        remedy = f"make {name} SCALE={plan.scale}" if name in plan.drawn else f"{name} is not available yet"
        lines += [f"claims {', '.join(map(str, claims))}: {remedy}"] if len(claims) else []
    return lines


def verdict_words(row: pd.Series) -> str:
    """The verdict, marked where it is no evidence or rests on other sources."""
    scale = f" ({row['scale']})" if row["evidence"] == "no" else ""
    return f"{row['verdict']}{scale}{'*' if row['sources'] == 'other' else ''}"


def effect_words(row: pd.Series) -> str:
    """The effect with its interval and unit; empty without an effect."""
    if np.isnan(row["effect"]):
        return ""
    is_relative = row["unit"] == "relative"
    effect, low, high = (number_words(row[name], is_relative) for name in ("effect", "low95", "high95"))
    interval = "" if np.isnan(row["low95"]) else f" [{low}, {high}]"
    return f"{effect}{interval}{'' if is_relative else ' ' + row['unit']}".rstrip()


def number_words(value: float, is_relative: bool = False) -> str:
    """A number with as many digits as a reader needs, or a relative one in per cent."""
    if is_relative:
        return f"{100 * value:+.3g}%"
    return f"{value:,.0f}" if 100 <= abs(value) < np.inf else f"{value:.3g}"


def _to_decide(outcome: Outcome) -> str:
    """How many seeds are expected to decide an undecided test, or why none would, in words; "" for other tests."""
    if outcome.verdict != "undecided":
        return ""
    if outcome.seeds_to_decide is None:
        return "longer trainings would, not more seeds"
    if not outcome.sample.fewest:
        return outcome.note or "no seed has a number"
    if np.isnan(outcome.sample.spread):
        return f"no number of seeds is known, because the seeds show no spread{_because(outcome.note)}"
    if outcome.seeds_to_decide > MOST_SEEDS:
        return f"more than {MOST_SEEDS:,} seeds, because the effect lies at the bound"
    which = "finite seeds" if outcome.note.startswith("left out") else "seeds"
    seeds = f"{float(f'{outcome.seeds_to_decide:.2g}'):,.0f} {which}"
    return f"about {seeds}, if the effect stays: then {outcome.would_be}"


def _because(note: str) -> str:
    return f" ({note})" if note else ""


def _test_row(claim: Claim, test: MeasuredTest | ComputedTest, outcome: Outcome, plan: Plan) -> dict:
    """A test's comparison and outcome; a test that is not run has no numbers."""
    ran = outcome.verdict != "not run"
    row = {
        **{"claim": claim.number, "row": "beside" if test.beside else "test", "test": test.label, "scale": plan.scale},
        **{"plus": "", "minus": "", "metric": "", "unit": "", "to_decide": _to_decide(outcome)},
        **{name: value for name, value in asdict(outcome).items() if not name.startswith("p_") or ran},
        **asdict(outcome.sample),
        **asdict(outcome.effect),
        "effect": outcome.effect.estimate,
    }
    if isinstance(test, ComputedTest):
        return row | {"figure": _numbers(claim.figures), "expect": "computed", "evidence": "yes"}
    metric = " against ".join(test.metrics)
    return row | {
        "figure": _numbers(dict.fromkeys(term.figure for term in test.terms)),
        "plus": side_words(test, test.plus),
        "minus": side_words(test, test.minus),
        "metric": f"({metric}) / {test.over}" if test.over else metric,
        **{"expect": test.expect, "margin": test.margin, "unit": test.unit},
        "evidence": ("yes" if plan.scale == published.SCALE else "no") if ran else "",
    }


def _claim_row(claim: Claim, verdict: str, tests: list[dict], plan: Plan) -> dict:
    """The row of a claim; one with a single test also has that test's numbers."""
    found = Counter(test["verdict"] for test in tests)
    note = f"{len(tests)} tests: {', '.join(f'{found[name]} {name}' for name in VERDICTS if found[name])}"
    several = {"claim": claim.number, "expect": claim.combine, "scale": plan.scale, "unit": "", "note": note}
    evidence = "no" if any(test["evidence"] == "no" for test in tests) else "yes"
    return (tests[0] if len(tests) == 1 else several) | {
        **{"row": "claim", "test": "", "figure": _numbers(claim.figures), "verdict": verdict},
        "evidence": evidence if verdict != "not run" else "",
        "sources": weakest({test["sources"] for test in tests}),
    }


def _numbers(figures: Iterable[str]) -> str:
    return " ".join(figure.removeprefix("figure_") for figure in figures)


def side_words(
    test: MeasuredTest, items: tuple[tuple[Term, ...], ...], name: Callable[[Term], str] = lambda term: term.path
) -> str:
    """The names of the curves on a side, by default their paths, with the metric where the test compares several."""
    several = len(test.metrics) > 1
    names = [[f"{name(term)}:{term.metric}" if several else name(term) for term in item] for item in items]
    return " + ".join(f"|{' - '.join(pair)}|" if len(pair) == 2 else pair[0] for pair in names)
