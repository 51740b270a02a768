"""What a verdict hangs on: claims once more by other runs or another part of training (`experiments/readings.yaml`).

A reading puts other curves, of the figures or of the studies beyond the paper, in the place of those that a claim
compares, or another window in the place of `auc`; what the claim expects of them stays. Readings were chosen when the
verdicts were known, so what they find is no verdict.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term, term_at
from dyna_td.evidence.scorecard import COLUMNS as CARD_COLUMNS
from dyna_td.evidence.scorecard import data_words, read_rows, scorecard, table_head, table_line, verdict_words
from dyna_td.evidence.verdicts import Read
from dyna_td.pipeline.plans import DIRECTORY, Plan
from dyna_td.pipeline.yaml_files import read_checked

COLUMNS = ["reading", *CARD_COLUMNS]


@dataclass(frozen=True)
class Reading:
    """The claims that change by it, as they are then; `name` says in a few words what is other than in the figures."""

    name: str
    claims: tuple[Claim, ...]


def load_readings(plan: Plan, claims: list[Claim], directory: Path = DIRECTORY) -> list[Reading]:
    """The readings of `readings.yaml` in `directory`, in its order.

    Raises:
      UserError: for a file that breaks the schema, names what the plan or the claims do not have, or changes nothing.
    """
    path = Path(directory) / "readings.yaml"
    readings: list[Reading] = []
    for content in read_checked(path, "readings")["readings"]:
        try:
            if content["name"] in [reading.name for reading in readings]:
                raise UserError("its name is given twice: name each reading once.")
            readings.append(_reading(content, plan, {claim.number: claim for claim in claims}))
        except UserError as error:
            raise UserError(f"{path}: reading {content['name']!r}: {error}") from error
    return readings


def beside(claims_csv: Path) -> Path:
    """Where the readings of the claims are that `claims_csv` judges."""
    return claims_csv.with_name("readings.csv")


def judged(readings: Collection[Reading], plan: Plan, read: Read) -> pd.DataFrame:
    """A row for each claim of each reading and one for each of its tests: `scorecard`'s, beside the reading's name."""
    cards = [scorecard(list(reading.claims), plan, read).assign(reading=reading.name) for reading in readings]
    return pd.concat(cards, ignore_index=True)[COLUMNS]


def read_table(csv: Path, readings: Collection[Reading], remedy: str) -> pd.DataFrame:
    """What `judged` found, from `csv`.

    Raises:
      UserError: if it cannot be read, or is of other readings; `remedy` is the command that makes it anew.
    """
    table = read_rows(csv, COLUMNS, remedy)
    found = table.loc[table["row"] == "claim", ["reading", "claim"]].itertuples(index=False, name=None)
    if list(found) != [(reading.name, claim.number) for reading in readings for claim in reading.claims]:
        raise UserError(f"{csv} is not a table of the readings as they are now: call `{remedy}`.")
    return table


def as_markdown(table: pd.DataFrame) -> str:
    """The part of `claims.md` on what `judged` found: a line for each claim of each reading."""
    lines = [
        "",
        "## What the verdicts hang on",
        "",
        "The same claims by other runs, or by another part of training.",
        "",
    ]
    lines += table_head("claim", "by", "it would be", "data")
    rows = table[table["row"] == "claim"].sort_values("claim", kind="stable")
    lines += [
        table_line((str(row["claim"]), row["reading"], verdict_words(row), data_words(row)))
        for _, row in rows.iterrows()
    ]
    return "\n".join(lines) + "\n"


def _reading(content: dict, plan: Plan, claims: dict[int, Claim]) -> Reading:
    """The reading of one entry; without `claims`, it is of all that it changes."""
    if not content.keys() & {"curves", "window"}:
        raise UserError("it says nothing: give it curves, a window, or both.")
    curves, window = content.get("curves", {}), content.get("window", "auc")
    named = content.get("claims", list(claims))
    unknown = [number for number in named if number not in claims]
    if unknown:
        raise UserError(f"there is no claim {unknown[0]}: take a number of claims.yaml.")
    changed = []
    for number in named:
        claim = claims[number]
        other = replace(claim, tests=tuple(_changed(test, curves, window, plan) for test in claim.tests))
        if other != claim:
            changed.append(other)
        elif "claims" in content:
            raise UserError(f"it changes nothing of claim {number}: take the claim from its list.")
    paths = {term.path for number in named for term in _terms(claims[number])}
    idle = [name for name in curves if not any(_within(path, name) for path in paths)]
    if idle:
        raise UserError(f"no claim of it compares {idle[0]}: name a curve as figure_4/a/er, or a panel as figure_4/a.")
    return Reading(content["name"], tuple(changed))


def _changed(test: MeasuredTest | ComputedTest, curves: dict[str, str], window: str, plan: Plan):
    if isinstance(test, ComputedTest):
        return test

    def other(term: Term) -> Term:
        name = next((name for name in curves if _within(term.path, name)), None)
        if name is None:
            return term
        return term_at(curves[name] + term.path.removeprefix(name), term.metric, plan)

    def items(side: tuple) -> tuple:
        return tuple(tuple(map(other, item)) if isinstance(item, tuple) else other(item) for item in side)

    return replace(
        test,
        plus=items(test.plus),
        minus=items(test.minus),
        window=window if test.window == "auc" and test.expect != "share_below" else test.window,
    )


def _terms(claim: Claim) -> list[Term]:
    return [term for test in claim.tests if isinstance(test, MeasuredTest) for term in test.terms]


def _within(path: str, name: str) -> bool:
    """Whether the curve at `path` is `name`, or one of the panel `name`."""
    return path == name or path.startswith(f"{name}/")
