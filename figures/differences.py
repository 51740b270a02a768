"""Draws the comparisons of the benchmarks, figures 4 and 12, with their intervals: `python figures/differences.py`.

Each row is a test of a claim in claims.csv: one curve minus another, with the 95% interval. Tests that do not count
for a claim's verdict are left out.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from drawing import style  # sets up matplotlib
from drawing.forest import draw_dot
from drawing.rendering import save
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dyna_td.errors import exit_status
from dyna_td.evidence.claims import ComputedTest, MeasuredTest
from dyna_td.evidence.labels import CURVES, DIFFERENCES, LETTERS, WINDOWS, task
from dyna_td.evidence.scorecard import Tested
from dyna_td.pages.facts import Facts

ROW = 0.19  # inches
COLUMNS = 2


class Row(NamedTuple):
    """The comparison in a row of the picture; `n` is the number of planning updates, 0 if it covers several."""

    claim: int
    words: str
    n: int


Comparisons = dict[Row, dict[str, Tested]]  # by row, and by environment


def comparisons(facts: Facts) -> Comparisons:
    """The tests of returns on the benchmarks."""
    found: Comparisons = {}
    for number, tested in ((number, tested) for number, one in facts.judged.items() for tested in one.counted):
        test = tested.test
        if isinstance(test, ComputedTest) or test.unit != "reward" or np.isnan(tested.outcome.effect.low95):
            continue
        if not {term.figure for term in test.terms} <= {"figure_4", "figure_12"}:
            continue
        run = test.terms[0].run
        assert run  # both figures are trained
        environment, n = task(run.environment), run.settings.planning_updates
        if test.is_within_panel:
            words = " minus ".join(CURVES[term.curve] for term in test.terms)
        else:
            words = test.label.removeprefix(f"{environment}, ")
        words = ", ".join(filter(None, [words, WINDOWS.get(test.window)]))
        found.setdefault(Row(number, words, n if test.is_within_panel else 0), {})[environment] = tested
    order = {row[:2]: place for place, row in reversed(list(enumerate(found)))}
    return dict(sorted(found.items(), key=lambda item: (item[0].claim, order[item[0][:2]], item[0].n)))


def draw(rows: Comparisons, scale: str) -> Figure:
    """A panel for each environment; the rows of a claim stand together."""
    environments = list(dict.fromkeys(environment for tests in rows.values() for environment in tests))
    claims = list(dict.fromkeys(row.claim for row in rows))
    heights = {row: -place - 0.6 * claims.index(row.claim) for place, row in enumerate(rows)}
    lowest = min(heights.values()) - 0.8
    lines = -(-len(environments) // COLUMNS)
    figure, grid = plt.subplots(
        lines,
        COLUMNS,
        figsize=((COLUMNS + 0.8) * style.PANEL_SIZE[0], lines * (0.9 - ROW * lowest) + 0.3),
        layout="constrained",
        sharey=True,
        squeeze=False,
    )
    for axes, environment in zip(grid.flat, environments, strict=True):
        axes.set_title(environment)
        axes.axvline(0, color="black", linewidth=0.8)
        for row, tests in rows.items():
            if environment in tests:
                _draw_test(axes, heights[row], tests[environment])
        axes.set_xlabel("difference of returns")
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        for claim in claims[::2]:
            inside = [heights[row] for row in rows if row.claim == claim]
            axes.axhspan(min(inside) - 0.75, max(inside) + 0.75, color="#F1F1F1", zorder=0, linewidth=0)
    firsts = {claim: next(row for row in rows if row.claim == claim) for claim in claims}
    for axes in grid[:, 0]:
        axes.set_yticks(list(heights.values()), [_label(row, list(rows)) for row in rows])
        axes.yaxis.remove_overlapping_locs = False  # keeps a minor tick beside a major one
        axes.set_yticks([heights[row] for row in firsts.values()], list(map(str, firsts)), minor=True, weight="bold")
        axes.tick_params(axis="y", pad=28)
        axes.tick_params(axis="y", which="minor", length=0, pad=8)
        axes.set_ylim(lowest, 0.8)
    numbers = {tested.outcome.sample.n for tests in rows.values() for tested in tests.values()}
    seeds = sorted(numbers, key=lambda n: (len(n), n))
    verdicts = ", ".join(f"{LETTERS[verdict]} {verdict}" for verdict in ("supported", "contradicted", "undecided"))
    figure.suptitle(
        "Differences of returns with 95% intervals: means over learning, unless the row says otherwise", fontsize=10
    )
    figure.supxlabel(
        f"Bold numbers are claims. {verdicts}. Short black bars: the claim's margin. "
        f"Scale {scale}, {' or '.join(seeds)} seeds.",
        **{"fontsize": 8, "color": "dimgray", "x": 0.99, "ha": "right"},
    )
    return figure


def _draw_test(axes: Axes, y: float, tested: Tested) -> None:
    """An interval with its dot in the verdict's colour, its letter at the right, and any margin."""
    test, verdict, effect = tested.test, tested.outcome.verdict, tested.outcome.effect
    assert isinstance(test, MeasuredTest)  # an identity has no interval
    colour = style.VERDICTS.get(verdict, style.GREY)
    draw_dot(axes, y, (effect.estimate, effect.low95, effect.high95), colour, markersize=4.5, elinewidth=2)
    if test.margin:
        axes.plot(-test.margin if test.expect == "not_less" else test.margin, y, "|", color="black", markersize=7)
    place: style.Look = {"transform": axes.get_yaxis_transform(), "ha": "left", "va": "center"}
    axes.text(1.01, y, LETTERS[verdict], color=colour, fontsize=8, weight="bold", **place)


def _label(row: Row, rows: list[Row]) -> str:
    """The number of updates; in the first row of a comparison, after the comparison in words."""
    place = rows.index(row)
    is_same = place > 0 and rows[place - 1][:2] == row[:2]
    words = "" if is_same else "Dyna-TD's gain" if row.words == "gain" else row.words
    return ", ".join(filter(None, [words, f"n = {row.n}" if row.n else "n = 10 to 30"]))


def main() -> int:
    """Draws the picture beside claims.csv; returns the exit status. Without such tests there is nothing to draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--claims", type=Path, default=Path("reference/claims.csv"), help="the verdicts")
    path = parser.parse_args().claims

    def draw_any() -> None:
        facts = Facts(path.parent)
        if rows := comparisons(facts):
            save(draw(rows, next(iter(facts.judged.values())).scale), path.with_name(f"{DIFFERENCES}.png"))

    return exit_status(draw_any)


if __name__ == "__main__":
    sys.exit(main())
