"""The published facts, reference/ and experiments/, as the pages and their tables read them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import Claim, ComputedTest, load_claims
from dyna_td.evidence.scorecard import Judged
from dyna_td.evidence.scores import Measured, published_reader
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import DIRECTORY, load_plan
from dyna_td.plan.yaml_files import read_checked
from dyna_td.records import published
from dyna_td.records.results import naming_damage
from dyna_td.runs.run import Run


@dataclass(frozen=True)
class Facts:
    """The published facts: reference/ and experiments/ of this checkout.

    `folder` holds claims.csv and readings.csv, if they are not the published ones.
    """

    folder: Path = published.DIRECTORY

    @cached_property
    def plan(self) -> Plan:
        """The plan of the paper's scale, without studies that are not published, such as a user's own."""
        plan = load_plan(published.SCALE)
        studies = {name: each for name, each in plan.studies.items() if published.curves_csv(name).exists()}
        return replace(plan, studies=studies)

    @cached_property
    def quick(self) -> Plan:
        """The plan of the default scale."""
        return load_plan("quick")

    @cached_property
    def stated(self) -> dict[int, Claim]:
        """The claims by number."""
        return {claim.number: claim for claim in load_claims(self.plan)}

    @cached_property
    def findings(self) -> dict[int, dict[str, str]]:
        """The findings by claim number: texts by hand, each of which explains one `verdict` on its claim."""
        found = read_checked(DIRECTORY / "findings.yaml", "findings")["findings"]
        return {finding["claim"]: finding for finding in found}

    @cached_property
    def deviations(self) -> list[dict]:
        """The rows of deviations.yaml, by hand: where we differ from the paper or from its code."""
        return read_checked(DIRECTORY / "deviations.yaml", "deviations")["deviations"]

    @cached_property
    def judged(self) -> dict[int, Judged]:
        """The verdicts of claims.csv by claim; a UserError if they are not of the current claims."""
        target = "readme" if self.folder == published.DIRECTORY else f"claims SCALE={self.folder.name}"
        csv, remedy = self.folder / "claims.csv", f"call `make {target}`"
        with naming_damage(csv, remedy):
            try:
                return {one.claim.number: one for one in scorecard.read(csv, self.stated.values())}
            except LookupError as error:
                raise UserError(f"{csv} is not a table of the claims as they are now: {remedy}.") from error

    @cached_property
    def verdicts(self) -> dict[int, str]:
        """Each claim's verdict by its number."""
        return {number: one.verdict for number, one in self.judged.items()}

    def changes(self, number: int) -> list[tuple[dict, str]]:
        """The entries of a claim's history, each with the verdict that followed; the published one is the last."""
        entries = self.stated[number].history
        last = self._published.verdicts[number]
        return list(zip(entries, [*(entry["verdict"] for entry in entries), last][1:], strict=True))

    @cached_property
    def _published(self) -> "Facts":
        """The facts of the published results."""
        return self if self.folder == published.DIRECTORY else Facts()

    @cached_property
    def reworded(self) -> list[int]:
        """The claims whose verdict changed with their wording; each verdict was known before the rewording."""
        return [
            number
            for number in self.stated
            if any("text" in change and change["verdict"] != after for change, after in self.changes(number))
        ]

    @cached_property
    def identities(self) -> list[int]:
        """The supported claims that rest on computed identities alone."""
        supported = [number for number, verdict in self.verdicts.items() if verdict == "supported"]
        tests = {number: [tested.test for tested in self.judged[number].tests] for number in supported}
        return [number for number in supported if all(isinstance(test, ComputedTest) for test in tests[number])]

    def curves(self, name: str) -> pd.DataFrame:
        """The published curves of a figure or study, by panel, curve and metric."""
        return pd.read_csv(published.curves_csv(name, published.DIRECTORY)).set_index(["panel", "curve", "metric"])

    @cached_property
    def warm_up_goals(self) -> pd.DataFrame:
        """How many episodes of the random warm-up reached the goal, by environment and seed."""
        return pd.read_csv(published.DIRECTORY / "warm_up.csv").set_index(["environment", "seed"])["goals"]

    @cached_property
    def readings(self) -> pd.DataFrame:
        """The verdicts of other readings: claim, reading, verdict, `changes`, `printed`.

        A reading of other curves `changes` a number; `printed` says whether the paper prints this one or another.
        """
        table = pd.read_csv(self.folder / "readings.csv", usecols=["claim", "row", "reading", "verdict"])
        declared = read_checked(DIRECTORY / "readings.yaml", "readings")["readings"]
        rows = table[table["row"] == "claim"].drop(columns="row")
        for key in ("changes", "printed"):
            rows[key] = rows["reading"].map({reading["name"]: reading.get(key, "") for reading in declared})
        return rows

    @cached_property
    def turned(self) -> pd.DataFrame:
        """The readings that give a claim another verdict; those not run are left out."""
        rows = self.readings[self.readings["verdict"] != "not run"]
        return rows[rows["verdict"] != rows["claim"].map(self.verdicts)]

    def read(self, run: Run) -> Measured:
        """The published results of a run; a UserError if there are none."""
        found = self._reader(run)
        if found is None:
            raise UserError(f"{run.name} is not published: publish it with `make reference`.")
        return found

    @cached_property
    def _reader(self) -> Callable[[Run], Measured | None]:
        return published_reader(published.DIRECTORY)
