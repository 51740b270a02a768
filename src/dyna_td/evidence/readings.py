"""Readings, `experiments/readings.yaml`: claims judged by other runs, seeds, windows or means.

A reading replaces a claim's curves by others, or the window `auc` by another; the claim's expectations stay. With
`added_seeds`, a test uses only seeds that its panels do not show, if its runs have such seeds. With
`interquartile_mean`, tests of ten seeds or more compare interquartile means over seeds.
Readings were chosen when the verdicts were known, so they are no verdicts: they show what a verdict depends on.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dyna_td.errors import UserError, require_choice
from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import COUNTING, Claim, ComputedTest, MeasuredTest, Term, term_at
from dyna_td.evidence.scorecard import Judged
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import DIRECTORY
from dyna_td.plan.yaml_files import read_checked
from dyna_td.runs.run import Run

COLUMNS = ["reading", *scorecard.COLUMNS]
_WITHOUT_MEAN = ("share_below", *COUNTING)  # tests that compare no means over seeds


class Reading(NamedTuple):
    """Claims in the form that a reading gives them.

    A reading of other curves `changes` a number; `printed` says whether the paper prints this one or another.
    """

    name: str
    claims: list[Claim]
    changes: str = ""
    printed: str = ""


def load_readings(plan: Plan, claims: Iterable[Claim], directory: Path = DIRECTORY) -> list[Reading]:
    """The readings of `readings.yaml` in `directory`, in its order; a UserError names a reading with a mistake."""
    path = Path(directory) / "readings.yaml"
    by_number = {claim.number: claim for claim in claims}
    readings: dict[str, Reading] = {}
    for content in read_checked(path, "readings")["readings"]:
        name = content["name"]
        try:
            if name in readings:
                raise UserError("its name is given twice: name each reading once.")
            changed = _changed_claims(content, plan, by_number)
        except UserError as error:
            raise UserError(f"{path}: reading {name!r}: {error}") from error
        readings[name] = Reading(name, changed, content.get("changes", ""), content.get("printed", ""))
    return list(readings.values())


def as_table(verdicts: Iterable[tuple[Reading, Judged]]) -> pd.DataFrame:
    """The rows of `scorecard` for the claims of each reading, after a column with the reading's name."""
    rows = [{"reading": reading.name, **row} for reading, one in verdicts for row in scorecard.rows(one)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _changed_claims(content: dict, plan: Plan, claims: dict[int, Claim]) -> list[Claim]:
    """The claims that one entry changes, in their changed form; an entry without `claims` applies to all."""
    if not content.keys() & {"curves", "window", "added_seeds", "interquartile_mean"}:
        raise UserError("it says nothing: give it curves, a window, added_seeds, or interquartile_mean.")
    for old, new in content.get("curves", {}).items():
        _require_place(new, old.count("/"), plan)
    numbers = content.get("claims", list(claims))
    changed = []
    for number in numbers:
        if number not in claims:
            raise UserError(f"there is no claim {number}: take a number of claims.yaml.")
        claim = claims[number]
        other = replace(claim, tests=tuple(_changed(test, content, plan) for test in claim.tests))
        if other != claim:
            changed.append(other)
        elif "claims" in content:
            raise UserError(f"it changes nothing of claim {number}: remove the claim from its list.")
    paths = {term.path for number in numbers for term in claims[number].terms}
    idle = [name for name in content.get("curves", ()) if not any(_within(path, name) for path in paths)]
    if idle:
        raise UserError(f"no claim of it compares {idle[0]}: name a curve as figure_4/a/er, or a panel as figure_4/a.")
    return changed


def _changed(test: MeasuredTest | ComputedTest, content: dict, plan: Plan) -> MeasuredTest | ComputedTest:
    """The test with a reading's curves, window, seeds and mean; curves are replaced by path or by panel."""
    if isinstance(test, ComputedTest):
        return test
    curves = content.get("curves", {})

    def place(path: str) -> str:
        name = next((name for name in curves if _within(path, name)), "")
        return curves.get(name, "") + path.removeprefix(name)

    def other(term: Term) -> Term:
        shown = plan.drawn[term.figure].panels[term.letter].curves
        runs = (_run_at(place(f"{term.place}/{curve}"), plan) or run for curve, run in shown.items())
        return replace(term_at(place(term.path), term.metric, plan), panel=tuple(runs))

    is_open = test.window == "auc" and test.expect != "share_below"
    has_mean = test.expect not in _WITHOUT_MEAN and test.above is None
    plus, minus = (tuple(tuple(map(other, item)) for item in side) for side in (test.plus, test.minus))
    return replace(
        test,
        plus=plus,
        minus=minus,
        window=content.get("window", test.window) if is_open else test.window,
        first_seed=max(test.first_seed, _first_added(test, plan) if "added_seeds" in content else 0),
        of_middle_half="interquartile_mean" in content and has_mean,
    )


def _require_place(path: str, depth: int, plan: Plan) -> None:
    """Raises UserError unless `path` names a curve, if `depth` is 2, or a panel, if it is 1."""
    if path.count("/") != depth:
        kind = "a curve, as figure_4/a/er" if depth > 1 else "a panel, as figure_4/a"
        raise UserError(f"{path!r} stands in place of {kind}: name another one.")
    figure, panel, *curve = path.split("/")
    if curve:
        term_at(path, None, plan)
    else:
        require_choice(panel, plan.figure(figure).panels, f"panel of {figure}")


def _run_at(path: str, plan: Plan) -> Run | None:
    figure, panel, curve = path.split("/")
    return plan.figure(figure).panels[panel].curves.get(curve)


def _first_added(test: MeasuredTest, plan: Plan) -> int:
    """The first seed that no panel of the test shows and all its runs have; 0 without such a seed or without a mean."""
    if test.expect in _WITHOUT_MEAN:
        return 0
    shown = max(plan.drawn[term.figure].panels[term.letter].seeds or 0 for term in test.terms)
    return shown if all(len(term.run.seeds) > shown for term in test.terms) else 0


def _within(path: str, name: str) -> bool:
    """Whether `name` is the curve at `path`, or its panel."""
    return path == name or path.startswith(f"{name}/")
