"""The facts of pages and their tables: reference/, experiments/, and verdicts by published or finished runs."""

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.evidence.claims import Claim, ComputedTest, load_claims
from dyna_td.evidence.readings import Reading, load_readings
from dyna_td.evidence.scorecard import Judged, judge_all
from dyna_td.evidence.scores import Measured, published_reader, reader
from dyna_td.evidence.verdicts import Read
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import DIRECTORY, load_plan
from dyna_td.plan.yaml_files import read_checked
from dyna_td.records import published
from dyna_td.runs.run import Run
from dyna_td.training.progress import counted


@dataclass(frozen=True)
class Facts:
    """The facts of this checkout.

    Claims are judged by the published runs, or else by the finished ones of `scale`. All is read or judged when it is
    first asked for, and only once.
    """

    scale: str = ""

    @cached_property
    def plan(self) -> Plan:
        """The plan of the paper's scale, without studies that are not published, such as a user's own."""
        plan = load_plan(published.SCALE)
        studies = {name: each for name, each in plan.studies.items() if published.curves_csv(name).exists()}
        return replace(plan, studies=studies)

    @cached_property
    def judged_plan(self) -> Plan:
        """The plan, with all studies, of the runs by which claims are judged."""
        return load_plan(self.scale or published.SCALE)

    @cached_property
    def _read_judged(self) -> Read:
        return reader(self.scale) if self.scale else self._reader

    @cached_property
    def quick(self) -> Plan:
        """The plan of the default scale."""
        return load_plan("quick")

    @cached_property
    def stated(self) -> dict[int, Claim]:
        """The claims by number."""
        return {claim.number: claim for claim in load_claims(self.judged_plan)}

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
        """The claims with their verdicts and tests, by number."""
        claims = counted(self.stated.values(), "claims judged")
        return {one.claim.number: one for one in judge_all(claims, self.judged_plan.scale, self._read_judged)}

    @cached_property
    def verdicts(self) -> dict[int, str]:
        """Each claim's verdict by its number."""
        return {number: one.verdict for number, one in self.judged.items()}

    def changes(self, number: int) -> list[tuple[dict, str]]:
        """The entries of a claim's history, each with the verdict that followed; none if the claim is not run.

        The last is the one of today.
        """
        entries = self.stated[number].history if self.verdicts[number] != "not run" else ()
        followed = [*(entry["verdict"] for entry in entries), self.verdicts[number]][1:]
        return list(zip(entries, followed, strict=True))

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
        return published.table(published.curves_csv(name)).set_index(["panel", "curve", "metric"])

    @cached_property
    def warm_up_goals(self) -> pd.DataFrame:
        """How many episodes of the random warm-up reached the goal, by environment and seed."""
        return published.table(published.DIRECTORY / "warm_up.csv").set_index(["environment", "seed"])["goals"]

    @cached_property
    def readings(self) -> list[tuple[Reading, Judged]]:
        """The claims of each reading with their verdicts."""
        declared = load_readings(self.judged_plan, self.stated.values())
        return [
            (reading, one)
            for reading in counted(declared, "other readings judged")
            for one in judge_all(reading.claims, self.judged_plan.scale, self._read_judged)
        ]

    @cached_property
    def turned(self) -> dict[int, list[tuple[Reading, Judged]]]:
        """The readings that give a claim another verdict, by its number; those not run are left out."""
        found: dict[int, list[tuple[Reading, Judged]]] = {}
        for reading, one in self.readings:
            if one.verdict not in ("not run", self.verdicts[one.claim.number]):
                found.setdefault(one.claim.number, []).append((reading, one))
        return found

    def read(self, run: Run) -> Measured:
        """The published results of a run; a UserError if there are none."""
        found = self._reader(run)
        if found is None:
            raise UserError(f"{run.name} is not published: publish it with `make reference`.")
        return found

    @cached_property
    def _reader(self) -> Read:
        return published_reader(published.DIRECTORY)
