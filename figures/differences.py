"""Draws the comparisons of the benchmarks, figures 4 and 12, with their intervals, for the commands that judge.

Each row is a test of a claim: one curve minus another, with the 95% interval. Tests that do not count
for a claim's verdict are left out.
"""

from pathlib import Path
from string import ascii_lowercase

import numpy as np
import pandas as pd
from drawing.forest import Dot, Forest
from drawing.panels import seeds_words
from drawing.rendering import draw_figure, save
from drawing.style import BLACK, GREY, VERDICTS, CurveStyle
from dyna_td.envs import KNOWN

from dyna_td.evidence.claims import MeasuredTest
from dyna_td.evidence.labels import LETTERS, WINDOWS, name_of
from dyna_td.evidence.outcomes import Outcome
from dyna_td.evidence.profiles import FIGURES
from dyna_td.evidence.statistics import Interval
from dyna_td.pages.facts import Facts
from dyna_td.runs.registry import task

GAP = 0.6  # between the rows of two claims
MARGIN = CurveStyle("the claim's margin", BLACK, marker="|")
LOOKS = {
    "supported": CurveStyle("supported", VERDICTS["supported"], marker="o"),
    "contradicted": CurveStyle("contradicted", VERDICTS["contradicted"], marker="s"),
    "undecided": CurveStyle("undecided", GREY, marker="o", is_hollow=True),
}
WORDS = (
    "Before rows: claims with their verdicts (S: supported, C: contradicted, U: undecided). Colours: single tests{}. "
    "Dots and bars: means over learning with 95% intervals, cut at the largest possible difference{}."
)


def draw(facts: Facts, output: Path) -> None:
    """Draws a PNG and a PDF, unless no such test has an interval."""
    if len(found := comparisons(facts)):
        save(draw_figure(forests(found, facts), facts.judged_plan.scale), output)


def comparisons(facts: Facts) -> pd.DataFrame:
    """The tests of returns on the benchmarks that have an interval, by the rows of the picture.

    claim, environment, words, n (the fewest and the most planning updates), test, outcome; `comparison` numbers the
    words, and `height` is that of the row.
    """
    found = []
    for number, tested in ((number, tested) for number, one in facts.judged.items() for tested in one.counted):
        test, outcome = tested.test, tested.outcome
        if not isinstance(test, MeasuredTest) or test.unit != "reward" or np.isnan(outcome.effect.low95):
            continue
        if not {term.figure for term in test.terms} <= {*FIGURES}:
            continue
        environment = task(test.terms[0].run.environment)
        words = test.label.removeprefix(f"{environment}, ")
        if test.place:
            words = " minus ".join(name_of(term.curve) for term in test.terms)
        n = [term.run.settings.planning_updates for term in test.terms]
        found.append((number, environment, words, (min(n), max(n)), test, outcome))
    table = pd.DataFrame(found, columns=["claim", "environment", "words", "n", "test", "outcome"])
    table["comparison"] = table.groupby(["claim", "words"], sort=False).ngroup()
    place = ["claim", "comparison", "n"]
    table["height"] = -table.groupby(place).ngroup() - GAP * table.groupby("claim").ngroup()
    return table.sort_values(place, kind="stable")


def forests(table: pd.DataFrame, facts: Facts) -> list[Forest]:
    """A panel for each environment. A claim stands in its first row, words in the first of each comparison."""
    rows = table.drop_duplicates("height")
    claims = rows["claim"].map(lambda number: f"{number} ({LETTERS[facts.verdicts[number]]}): ")
    claims = claims.mask(rows["claim"].duplicated(), "")
    words = rows["words"].add(", ").mask(rows["comparison"].duplicated(), "")
    updates = rows["n"].map(lambda n: f"n = {n[0]}" if n[0] == n[1] else f"n = {n[0]} to {n[1]}")
    names = dict(zip(rows["height"], claims + words + updates, strict=True))
    windows = {claim: WINDOWS.get(test.window) for claim, test in zip(table["claim"], table["test"], strict=True)}
    one_suffices = [claim for claim in windows if facts.judged[claim].claim.combine == "any"]
    suffices = "".join(f"; one suffices for claim {claim}" for claim in one_suffices)
    note = WORDS.format(suffices, "".join(f"; claim {claim}: {window}" for claim, window in windows.items() if window))
    return [
        Forest(
            letter,
            environment,
            names,
            [dot for row in of.itertuples() for dot in _dots(row.height, row.test, row.outcome)],
            "difference of returns",
            line=0.0,
            ticks=4,
            legend=(*LOOKS.values(), MARGIN),
            notes=(note,),
            facts=(seeds_words(of["outcome"].map(lambda outcome: outcome.sample.fewest)),),
        )
        for letter, (environment, of) in zip(ascii_lowercase, table.groupby("environment", sort=False), strict=False)
    ]


def _dots(height: float, test: MeasuredTest, outcome: Outcome) -> list[Dot]:
    """The effect in the look of its verdict, and any margin; no return lies farther apart than its bounds."""
    effect, known = outcome.effect, KNOWN.get(test.terms[0].run.environment)
    span = known.span if known and known.returns else np.inf
    low, high = max(effect.low95, -span), min(effect.high95, span)
    dots = [Dot(height, Interval(effect.estimate, low, high), LOOKS[outcome.verdict])]
    if test.margin:
        bound = -test.margin if test.expect == "not_less" else test.margin
        dots.append(Dot(height, Interval(bound, bound, bound), MARGIN))
    return dots
