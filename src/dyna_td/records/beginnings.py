"""Beginnings of published runs: the same settings, the first seeds, the first steps.

Seed k's numbers are independent of its neighbours and of later steps. So a beginning repeats the published rows to the
last digit. Where a row differs, the JSON files of both runs show why: another version or arithmetic, other
sources or settings.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from math import inf, isinf
from pathlib import Path

import pandas as pd

from dyna_td.records import provenance, published, results
from dyna_td.records.metrics import MAIN, METRICS
from dyna_td.runs.run import Run

EQUAL, DIFFERENT, NOT_PUBLISHED = "equal", "different", "not published"
_KEYS = ["seed", "step", "metric"]


@dataclass(frozen=True)
class Repeat:
    """How far a run repeats the published one of its name.

    Attributes:
      run: its name.
      verdict: `EQUAL`, `DIFFERENT` or `NOT_PUBLISHED`.
      seeds: how many seeds both have.
      last_step: the last step that was compared.
      of_steps: the published run's length.
      equal_to: the step of the last evaluation before any difference, -1 if there is none.
      metric, largest: the metric that differs, and its largest absolute difference, infinite if only one run has a
        number.
      cause: what the JSON files show that can make the difference.
    """

    run: str
    verdict: str
    seeds: int = 0
    last_step: int = 0
    of_steps: int = 0
    equal_to: int = 0
    metric: str = ""
    largest: float = 0.0
    cause: str = ""

    def __str__(self) -> str:
        """The run and how far it repeats, in a sentence."""
        if self.verdict == NOT_PUBLISHED:
            return f"{self.run}: {self.verdict}"
        if self.verdict == EQUAL:
            return f"{self.run}: equal to the last digit up to step {self.last_step:,}"
        return f"{self.difference()} ({self.cause})"

    def difference(self) -> str:
        """The step at which a run begins to differ, and the largest difference."""
        start = f"equal up to step {self.equal_to:,}, then" if self.equal_to >= 0 else "from its first step"
        size = "lacks a number" if isinf(self.largest) else f"differs by at most {self.largest:.3g}"
        return f"{self.run}: {start} {self.metric} {size}"


def repeat(run: Run, records: pd.DataFrame, details: dict, directory: Path = published.DIRECTORY) -> Repeat:
    """Compares the records of `run`, as its CSV has them, with the published ones; `details` are its JSON file's."""
    there = published.read_details(run.name, directory)
    if there is None:
        return Repeat(run.name, NOT_PUBLISHED)
    last_seed = max(run.seeds)
    if details.get("joined") != there.get("joined"):  # later seeds of either may have an older arithmetic
        counts = [each["portable_seeds"] for each in (details, there) if "portable_seeds" in each]
        last_seed = min([last_seed, *(count - 1 for count in counts)])
    theirs = published.read_records(run.name, directory, last_seed)
    due = theirs["metric"].isin(METRICS)  # a retired metric is not measured any more
    for key in ("seed", "step"):
        due &= theirs[key].isin(records[key])
    both = theirs[due].merge(records, "left", _KEYS, suffixes=("_there", ""), indicator="found")
    if both.empty:
        return Repeat(run.name, NOT_PUBLISHED)
    here, other, is_lacking = both["value"], both["value_there"], both["found"] == "left_only"
    bad = both[is_lacking | ((here != other) & ~(here.isna() & other.isna()))]
    facts = {"seeds": both["seed"].nunique(), "last_step": int(both["step"].max()), "of_steps": there["steps"]}
    if bad.empty:
        return Repeat(run.name, EQUAL, **facts, equal_to=facts["last_step"])
    first = int(bad["step"].min())
    metric = next((name for name in MAIN if (bad["metric"] == name).any()), bad["metric"].iloc[0])
    own = bad[bad["metric"] == metric]
    return Repeat(
        run.name,
        DIFFERENT,
        **facts,
        equal_to=int(both["step"][both["step"] < first].max()) if (both["step"] < first).any() else -1,
        metric=metric,
        largest=float((own["value"] - own["value_there"]).abs().fillna(inf).max()),
        cause=_cause(details, there),
    )


def read_and_repeat(scale: str, run: Run) -> Repeat:
    """`repeat` of the finished `run` at a scale; raises UserError if it is damaged."""
    csv = results.run_csv(scale, run.name)
    return repeat(run, *results.read_run(csv, run, results.pipeline_command(run.name, scale)))


def _cause(here: dict, there: dict) -> str:
    """What differs between two JSON files and can change numbers, in words."""
    mine, theirs = here["settings"], there["settings"]
    differing = [name for name in mine if name in theirs and mine[name] != theirs[name]]
    found = [f"{name} is {mine[name]}, not {theirs[name]}" for name in differing]
    found += filter(None, [provenance.differing(there, here)])
    return "; ".join(found) or "the JSON files show no reason"


def as_table(repeats: Iterable[Repeat]) -> pd.DataFrame:
    """One row for each run, with the attributes of `Repeat` as columns."""
    return pd.DataFrame([asdict(each) for each in repeats], columns=list(Repeat.__dataclass_fields__))


def read(path: Path) -> list[Repeat]:
    """The rows of a table that `as_table` made; none if there is no such file."""
    if not path.exists():
        return []
    remedy = f"delete the folder {path.parent}, then make the figure again"
    with results.naming_damage(path, remedy):
        results.require_whole(path)
        table = pd.read_csv(path, dtype=Repeat.__annotations__, keep_default_na=False)
        return [Repeat(**row) for row in table.to_dict("records")]


def sentence(repeats: list[Repeat]) -> str:
    """For example "48 of 48 runs repeat the published numbers of seeds 0 to 3 (30,000 of 50,000 steps)"."""
    compared = [each for each in repeats if each.verdict != NOT_PUBLISHED]
    if not compared:
        return "none of these runs is published, so there is nothing to compare them with"
    equal = sum(each.verdict == EQUAL for each in compared)
    missing = len(repeats) - len(compared)
    seeds = _range((each.seeds - 1 for each in compared), ", some to ")
    steps, whole = _range(each.last_step for each in compared), _range(each.of_steps for each in compared)
    extent = f"all {whole} steps" if steps == whole else f"{steps} of {whole} steps"
    ending = f"; {missing} more {'is' if missing == 1 else 'are'} not published" if missing else ""
    return f"{equal} of {len(compared)} runs repeat the published numbers of seeds 0 to {seeds} ({extent}){ending}"


def lines(figure: str, repeats: list[Repeat], in_full: bool = False) -> list[str]:
    """A line for each run of a figure that differs, then `sentence`.

    If several differ for one cause, such as a version, the last line names it, and runs have lines only `in_full`.
    """
    differing = [each for each in repeats if each.verdict == DIFFERENT]
    causes = {each.cause for each in differing}
    whole = f"{figure}: {sentence(repeats)}"
    if len(differing) < 2 or len(causes) > 1:
        return [*(f"  {each}" for each in differing), whole]
    shown = [f"  {each.difference()}" for each in differing] if in_full else []
    return [*shown, whole, f"  The cause of all differences: {causes.pop()}."]


def _range(numbers: Iterable[int], to: str = " to ") -> str:
    found = sorted(set(numbers))
    return f"{found[0]:,}" if len(found) == 1 else f"{found[0]:,}{to}{found[-1]:,}"
