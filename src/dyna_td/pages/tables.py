"""Tables of docs/claims.md and of the sine task in docs/beyond-the-paper.md, in Markdown."""

from dataclasses import replace

import numpy as np
import pandas as pd

from dyna_td.evidence import labels
from dyna_td.evidence.scores import Measured, score
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.pages.returns import half_width

_LENGTHS = (12_500, 50_000, 200_000)  # updates: a quarter of figure 1's, all of them, four times as many


def history(facts: Facts) -> str:
    """A line for each reason why claims changed: old and new verdicts, and whether the new one was known before."""
    changed: dict[tuple[str, bool], list[str]] = {}  # by reason
    for number in sorted(facts.stated):
        for change, verdict in facts.changes(number):
            now = f", now {verdict}" if verdict != change["verdict"] else ""
            claims = changed.setdefault((change["why"], change["seen"]), [])
            claims.append(f"[{number}](#claim-{number}) {change['verdict']}{now}")
    rows = [
        ["; ".join(claims), escaped(one_line(why)), "yes" if is_seen else "no"]
        for (why, is_seen), claims in changed.items()
    ]
    return table(["claims: was, is", "reason", "new verdict seen before"], rows)


def undecided(facts: Facts) -> str:
    """A line for each undecided claim: the seeds that would decide it, or why none would."""
    rows = facts.card[(facts.card["row"] == "claim") & (facts.card["verdict"] == "undecided")]
    lines = [[f"[{row['claim']}](#claim-{row['claim']})", escaped(row["to_decide"])] for _, row in rows.iterrows()]
    return table(["claim", "the test on which it depends, and what would decide it"], lines)


def beside_the_mean(test: pd.Series) -> str:
    """The cell beside a test's mean: interquartile mean, 90% interval, chance of improvement, shares of stuck seeds."""
    parts = []
    if test["iqm"]:
        parts.append(f"iqm {signed(test, 'iqm')}")
    if test["low90"]:
        parts.append(f"90%: {signed(test, 'low90')} to {signed(test, 'high90')}")
    if test["improvement"]:
        parts.append(f"P {float(test['improvement']):.2f}")
    if test["stuck_plus"]:
        parts.append(f"stuck {100 * float(test['stuck_plus']):.0f}% and {100 * float(test['stuck_minus']):.0f}%")
    return "; ".join(parts)


def signed(test: pd.Series, key: str) -> str:
    """A number of a test with its sign: in per cent if it is relative, without decimals from 100 on."""
    value = float(test[key])
    if test["unit"] == "relative":
        return f"{100 * value:+.3g}%"
    return f"{value:+,.0f}" if 100 <= abs(value) < np.inf else f"{value:+.3g}"


def regression(facts: Facts) -> str:
    """Test errors minus L2's, in per cent of L2's, for each task of the study and three lengths of training."""
    rows = []
    for panel in facts.plan.studies["regression"].panels.values():
        shown = {curve: facts.read(panel.curves[curve]) for curve in labels.SINE if curve in panel.curves}
        data = shown["l2"].run.settings
        task = escaped(f"|T| = {data.examples}, sigma = {data.noise:g}, b = {data.batch_size}")
        for length in _LENGTHS:
            errors = {curve: _test_errors(measured, length) for curve, measured in shown.items()}
            own = errors.pop("l2")
            cells = {curve: _percent(100 * (error - own) / own.mean()) for curve, error in errors.items()}
            own_and_others = [f"{own.mean():.4f}", *(cells.get(curve, "-") for curve in labels.SINE if curve != "l2")]
            rows.append([task, f"{length:,}", *own_and_others])
    return table(["task", "updates", *(labels.CURVES[curve] for curve in labels.SINE)], rows)


def _test_errors(whole: Measured, length: int) -> pd.Series:
    """Each seed's test error at the end of the first `length` updates: the mean of the last 20 evaluations."""
    records = whole.records[whole.records["step"] <= length]
    beginning = Measured(replace(whole.run, steps=length), records, {}, whole.rebuild)
    return score(beginning, "test_rmse", "final")


def _percent(differences: pd.Series) -> str:
    """A mean in per cent and half of Student's 95% interval; bold if the interval excludes 0."""
    half = half_width(differences)
    mean = round(differences.mean(), 1) + 0.0  # no "-0"
    return f"{f'**{mean:+.1f}%**' if abs(differences.mean()) > half else f'{mean:+.1f}%'} ± {half:.1f}"


def one_line(text: str) -> str:
    """`text` without line breaks, for a cell or an item of a list."""
    return " ".join(text.split())
