"""The claims' verdicts as files: `claims.csv`, a row for each claim and each of its tests, and `claims.md`, to read."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term
from dyna_td.evidence.verdicts import VERDICTS, Outcome, Read, judge, weakest
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER, STUDIES, Plan

EVIDENCE_SCALE = "paper"  # verdicts of other scales only show that everything works
COLUMNS = [
    *("claim", "row", "figure", "test", "plus", "minus", "metric", "window", "expect", "margin", "unit"),
    *("verdict", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted", "n", "pairing"),
    *("scale", "evidence", "sources", "note"),
]
_NUMBERS = ["claim", "margin", "effect", "low95", "high95", "iqm", "p_supported", "p_contradicted"]
TEST_HEADINGS = (
    *("claim", "test", "plus", "minus", "metric", "claimed", "plus less minus", "verdict", "n", "window", "note"),
)


def scorecard(claims: list[Claim], plan: Plan, read: Read) -> pd.DataFrame:
    """A row for each claim, followed by one for each of its tests, with the columns `COLUMNS`."""
    rows = []
    for claim in claims:
        verdict, outcomes = judge(claim, plan, read)
        tests = [_test_row(claim, test, outcome, plan) for test, outcome in zip(claim.tests, outcomes, strict=True)]
        rows += [_claim_row(claim, verdict, tests, plan), *tests]
    return pd.DataFrame(rows, columns=COLUMNS)


def read_card(csv: Path, claims: list[Claim], remedy: str) -> pd.DataFrame:
    """The scorecard of `claims` from `csv`, as `scorecard` made it, in which an empty text is no NaN.

    Raises:
      UserError: if it cannot be read, or judges other claims; `remedy` is the command that makes it anew.
    """
    card = read_rows(csv, COLUMNS, remedy)
    if list(card.loc[card["row"] == "claim", "claim"]) != [claim.number for claim in claims]:
        raise _damaged(csv, remedy)
    return card


def read_rows(csv: Path, columns: list[str], remedy: str) -> pd.DataFrame:
    """Rows of a scorecard from `csv`, which has just `columns`; an empty text is no NaN.

    Raises:
      UserError: if it cannot be read, or has other columns; `remedy` is the command that makes it anew.
    """
    try:
        rows = pd.read_csv(csv, dtype=str, keep_default_na=False)
        rows = rows.assign(**rows[_NUMBERS].apply(pd.to_numeric))
    except OSError as error:
        raise UserError(f"cannot read {csv}: {error.strerror}; call `{remedy}`.") from error
    except (KeyError, ValueError) as error:
        raise _damaged(csv, remedy) from error
    if list(rows.columns) != columns:
        raise _damaged(csv, remedy)
    return rows


def _damaged(csv: Path, remedy: str) -> UserError:
    return UserError(f"{csv} is not a table of the claims as they are now: call `{remedy}`.")


def as_csv(card: pd.DataFrame) -> str:
    """The text of `claims.csv`, or of `readings.csv`; what a row does not have is empty."""
    return card.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def as_markdown(card: pd.DataFrame, claims: list[Claim], plan: Plan) -> str:
    """The text of `claims.md`: a line for each claim, then one for each test."""
    verdicts = card[card["row"] == "claim"].set_index("claim")
    lines = [f"# The paper's claims at scale {plan.scale}", "", *caveats(card, plan), count_words(card), ""]
    lines += table_head("claim", "in our words", "verdict", "data", "place")
    for claim in claims:
        row = verdicts.loc[claim.number]
        lines.append(table_line((str(claim.number), claim.text, verdict_words(row), data_words(row), claim.place)))
    lines += [
        "",
        "## Tests",
        "",
        "The difference plus less minus with its 95% interval over seeds, which is of this one comparison, and what "
        "the claim says of it.",
        "",
    ]
    lines += table_head(*TEST_HEADINGS)
    lines += [table_line(test_cells(row)) for _, row in card[card["row"] == "test"].iterrows()]
    return "\n".join(lines) + "\n"


def count_words(card: pd.DataFrame) -> str:
    """How many claims there are of each verdict, in words."""
    found = Counter(card.loc[card["row"] == "claim", "verdict"])
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS) + "."


def next_steps(card: pd.DataFrame, plan: Plan) -> list[str]:
    """What would settle the claims that are not run, a line for each figure or study."""
    tests = card[(card["verdict"] == "not run") & (card["row"] == "test")]
    shown = tests.assign(figure=tests["figure"].str.split()).explode("figure")
    lines = []
    names = {number: f"figure_{number}" if number.isdigit() else number for number in shown["figure"].unique()}
    for number, name in sorted(names.items(), key=lambda item: [*FIGURES_OF_THE_PAPER, *STUDIES].index(item[1])):
        claims = ", ".join(map(str, shown.loc[shown["figure"] == number, "claim"].unique()))
        remedy = f"make {name} SCALE={plan.scale}" if name in plan.drawn else f"{name} is not available yet"
        lines.append(f"claims {claims}: {remedy}")
    return lines


def caveats(card: pd.DataFrame, plan: Plan) -> list[str]:
    """What a reader must know before the verdicts."""
    lines = []
    if plan.scale != EVIDENCE_SCALE:
        lines += [
            f"**Not evidence.** Verdicts marked ({plan.scale}) come from fewer seeds and shorter runs than the paper's "
            "and only show that everything works. What is computed, without training, holds at every scale.",
            "",
        ]
    if "other" in set(card["sources"]):
        lines += ["Verdicts marked * rest on runs of other settings, or of other code, than are here now.", ""]
    return lines


def verdict_words(row: pd.Series) -> str:
    """The verdict, marked where it is no evidence or rests on other sources."""
    scale = f" ({row['scale']})" if row["evidence"] == "no" else ""
    return f"{row['verdict']}{scale}{'*' if row['sources'] == 'other' else ''}"


def effect_words(row: pd.Series) -> str:
    """The effect with its interval and unit, as far as there are."""
    if np.isnan(row["effect"]):
        return ""
    number, unit = (_percent, "") if row["unit"] == "relative" else (_number, f" {row['unit']}".rstrip())
    interval = "" if np.isnan(row["low95"]) else f" [{number(row['low95'])}, {number(row['high95'])}]"
    return f"{number(row['effect'])}{interval}{unit}"


def data_words(row: pd.Series) -> str:
    """The effect and the note, as far as there are."""
    return "; ".join(filter(None, (effect_words(row), row["note"])))


def test_cells(row: pd.Series) -> tuple[str, ...]:
    """A test as the cells of its line, below `TEST_HEADINGS`."""
    margin = f"{100 * row['margin']:g}%" if row["unit"] == "relative" else f"{row['margin']:g}"
    claimed = {
        "greater": f"> {margin}",
        "not_less": f"> -{margin}",
        "equivalent": f"within {margin}",
        "more_often": "more often",
        "share_below": f"share < {margin}",
    }.get(row["expect"], row["expect"])
    plus, minus = (row[side].replace(f"{row['test']}/", "") for side in ("plus", "minus"))
    start = (str(row["claim"]), row["test"], plus, minus, row["metric"], claimed)
    return (*start, effect_words(row), verdict_words(row), row["n"], row["window"], row["note"])


def _number(value: float) -> str:
    return f"{value:,.0f}" if 100 <= abs(value) < np.inf else f"{value:.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:+.3g}%"


def table_head(*names: str) -> list[str]:
    """The first two lines of a table in Markdown."""
    return [table_line(names), "|---" * len(names) + "|"]


def table_line(cells: Iterable[str]) -> str:
    """A line of a table in Markdown; a bar in a cell does not end it."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _test_row(claim: Claim, test: MeasuredTest | ComputedTest, outcome: Outcome, plan: Plan) -> dict:
    """What a test compares, and what came of it; a test that is not run has no numbers."""
    ran = outcome.verdict != "not run"
    row = {
        "claim": claim.number,
        "row": "test",
        "test": test.label,
        **dict.fromkeys(("plus", "minus", "metric", "unit"), ""),
        "verdict": outcome.verdict,
        "effect": outcome.effect,
        "low95": outcome.low,
        "high95": outcome.high,
        "iqm": outcome.iqm,
        "p_supported": outcome.p_supported if ran else None,
        "p_contradicted": outcome.p_contradicted if ran else None,
        "n": outcome.n,
        "pairing": outcome.pairing,
        "window": outcome.window,
        "scale": plan.scale,
        "sources": outcome.sources,
        "note": outcome.note,
    }
    if isinstance(test, ComputedTest):
        return row | {"figure": _numbers(claim.figures), "expect": "computed", "evidence": "yes"}
    return row | {
        "figure": _numbers(dict.fromkeys(term.figure for term in test.terms)),
        "plus": _words(test, test.plus),
        "minus": _words(test, test.minus),
        "metric": _metric_words(test),
        "expect": test.expect,
        "margin": test.margin,
        "unit": test.unit,
        "evidence": ("yes" if plan.scale == EVIDENCE_SCALE else "no") if ran else "",
    }


def _claim_row(claim: Claim, verdict: str, tests: list[dict], plan: Plan) -> dict:
    """The verdict on a claim; of a claim with one test, its numbers too."""
    found = Counter(test["verdict"] for test in tests)
    counts = ", ".join(f"{found[name]} {name}" for name in VERDICTS if found[name])
    evidence = "no" if any(test["evidence"] == "no" for test in tests) else "yes"
    whole = {
        "row": "claim",
        "test": "",
        "figure": _numbers(claim.figures),
        "verdict": verdict,
        "evidence": evidence if verdict != "not run" else "",
        "sources": weakest({test["sources"] for test in tests}),
    }
    if len(tests) == 1:
        return tests[0] | whole
    return {
        "claim": claim.number,
        "expect": claim.combine,
        "scale": plan.scale,
        "note": f"{len(tests)} tests: {counts}",
        "unit": "",
        **whole,
    }


def _numbers(figures: Iterable[str]) -> str:
    return " ".join(figure.removeprefix("figure_") for figure in figures)


def _words(test: MeasuredTest, items: tuple) -> str:
    """Curves by their paths, with the metric where the test compares several."""
    several = len(test.metrics) > 1

    def name(term: Term) -> str:
        return f"{term.path}:{term.metric}" if several else term.path

    return " + ".join(
        f"|{name(item[0])} - {name(item[1])}|" if isinstance(item, tuple) else name(item) for item in items
    )


def _metric_words(test: MeasuredTest) -> str:
    metric = " against ".join(test.metrics)
    return f"({metric}) / {test.over}" if test.over else metric
