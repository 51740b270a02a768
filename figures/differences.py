"""Draws the comparisons of the benchmarks, figures 4 and 12, with their intervals: `python figures/differences.py`.

Each row is a test of a claim in claims.csv: one curve minus another, with the 95% interval. Tests that do not count
for a claim's verdict are left out.
"""

import argparse
import sys
from pathlib import Path
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np
import pandas as pd
from drawing.forest import Dot, Forest
from drawing.rendering import draw_figure, save
from drawing.style import BLACK, GREY, VERDICTS, CurveStyle
from drawing.tables import Tables

from dyna_td.errors import exit_status
from dyna_td.evidence.claims import MeasuredTest
from dyna_td.evidence.labels import CURVES, DIFFERENCES, WINDOWS, task
from dyna_td.evidence.outcomes import Outcome
from dyna_td.pages.facts import Facts
from dyna_td.plan.planned import Panel

FIGURES = {"figure_4", "figure_12"}
COLUMNS = 2
GAP = 0.6  # between the rows of two claims
MARGIN = CurveStyle("the claim's margin", BLACK, marker="|")
LOOKS = {
    "supported": CurveStyle("supported", VERDICTS["supported"], marker="o"),
    "contradicted": CurveStyle("contradicted", VERDICTS["contradicted"], marker="s"),
    "undecided": CurveStyle("undecided", GREY, marker="o", is_hollow=True),
}
WORDS = "Numbers before rows: claims. Dots and bars: means over learning with 95% intervals{}."


class Row(NamedTuple):
    """The comparison in a row of the picture; `n` is the number of planning updates, 0 if it covers several."""

    claim: int
    words: str
    n: int


class Comparison(NamedTuple):
    """A test of returns with its outcome."""

    test: MeasuredTest
    outcome: Outcome


Comparisons = dict[str, dict[Row, Comparison]]  # by environment, and by row


def comparisons(facts: Facts) -> Comparisons:
    """The tests of returns on the benchmarks that have an interval, from claim to claim."""
    found: Comparisons = {}
    for number, tested in ((number, tested) for number, one in facts.judged.items() for tested in one.counted):
        test, outcome = tested.test, tested.outcome
        if not isinstance(test, MeasuredTest) or test.unit != "reward" or np.isnan(outcome.effect.low95):
            continue
        if not {term.figure for term in test.terms} <= FIGURES:
            continue
        run = test.terms[0].run
        assert run  # both figures are trained
        environment, n = task(run.environment), run.settings.planning_updates
        words = test.label.removeprefix(f"{environment}, ")
        if test.is_within_panel:
            words = " minus ".join(CURVES[term.curve] for term in test.terms)
        row = Row(number, words, n if test.is_within_panel else 0)
        found.setdefault(environment, {})[row] = Comparison(test, outcome)
    return found


def tables(found: Comparisons) -> Tables:
    """The effects, as rows of a curves.csv, and margins, which have no interval."""
    rows = []
    for letter, of in zip(ascii_lowercase, found.values(), strict=False):
        for row, (test, outcome) in of.items():
            effect, bound = outcome.effect, -test.margin if test.expect == "not_less" else test.margin
            bars: dict[str, tuple[float, ...]] = {
                "effect": (effect.estimate, effect.low95, effect.high95, outcome.sample.fewest)
            }
            bars |= {"margin": (bound, bound, bound, np.nan)} if bound else {}
            rows += [(letter, str(row), metric, *bar) for metric, bar in bars.items()]
    names = ["panel", "curve", "metric", "mean", "low95", "high95", "n"]
    return Tables(pd.DataFrame(rows, columns=names).assign(step=0))


def forests(found: Comparisons) -> list[Forest]:
    """A panel for each environment; the rows of a claim stand together."""
    every = list(dict.fromkeys(row for of in found.values() for row in of))
    order = {row[:2]: index for index, row in reversed(list(enumerate(every)))}
    rows = sorted(every, key=lambda row: (row.claim, order[row[:2]], row.n))
    claims = list(dict.fromkeys(row.claim for row in rows))
    windows = {row.claim: WINDOWS.get(test.window) for of in found.values() for row, (test, _) in of.items()}
    words = WORDS.format("".join(f"; claim {claim}: {window}" for claim, window in windows.items() if window))
    return [
        Forest(
            Panel("effect", {}, key=letter, title=environment),
            "difference of returns",
            {row: CurveStyle(_label(row, rows[index - 1] if index else None), BLACK) for index, row in enumerate(rows)},
            [dot for row, comparison in of.items() for dot in _dots(letter, row, comparison)],
            heights={row: -index - GAP * claims.index(row.claim) for index, row in enumerate(rows)},
            key=(*LOOKS.values(), MARGIN),
            line=0.0,
            ticks=4,
            words=(words,),
        )
        for letter, (environment, of) in zip(ascii_lowercase, found.items(), strict=False)
    ]


def _dots(letter: str, row: Row, comparison: Comparison) -> list[Dot]:
    """The effect in the look of its verdict, and any margin."""
    look = LOOKS[comparison.outcome.verdict]
    dots = [Dot(row, (letter, str(row), "effect"), look.colour, marker=look.marker, is_hollow=look.is_hollow)]
    if comparison.test.margin:
        dots.append(Dot(row, (letter, str(row), "margin"), MARGIN.colour, marker=MARGIN.marker))
    return dots


def _label(row: Row, above: Row | None) -> str:
    """The number of updates; in the first row of a comparison, after the comparison, in a claim's after its number."""
    words = "" if above and above[:2] == row[:2] else row.words
    number = "" if above and above.claim == row.claim else f"{row.claim}: "
    return number + ", ".join(filter(None, [words, f"n = {row.n}" if row.n else "n = 10 to 30"]))


def main() -> int:
    """Draws the picture beside claims.csv; returns the exit status. Without such tests there is nothing to draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--claims", type=Path, default=Path("reference/claims.csv"), help="the verdicts")
    path = parser.parse_args().claims

    def draw_any() -> None:
        facts = Facts(path.parent)
        if found := comparisons(facts):
            scale = next(iter(facts.judged.values())).scale
            save(draw_figure(forests(found), tables(found), scale, COLUMNS), path.with_name(f"{DIFFERENCES}.png"))

    return exit_status(draw_any)


if __name__ == "__main__":
    sys.exit(main())
