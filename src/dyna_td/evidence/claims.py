"""The paper's claims and what would settle them: `experiments/claims.yaml`, checked against the plan.

A claim has tests. A test compares runs that exist, because it names them by curves of figures or studies, such as
`figure_4/a/dyna_td`. The comparison is the sum of the scores of `plus` less those of `minus` (see `scores`), seed by
seed where the runs have the same seeds. It is positive where the claim is true. `expect` sets what its mean must be:

    greater       above `margin` (default 0)
    not_less      above -margin
    equivalent    between -margin and margin
    more_often    more seeds of plus than of minus are stuck: their final score misses the panel's best agent by more
                  than the share `margin` of what that agent has gained (`scores.stuck_below`)
    rarely        fewer than the share `margin` of the seeds of plus, one curve, are stuck: by more than a tenth
    share_below   minus saves less than the share `margin` of the training seconds of plus

A pair of curves stands for the absolute difference of their scores. With `relative`, means over seeds are compared by
their ratio (with few seeds geometric means), and margins are shares. With `first_seed`, seeds below it do not count.
With `above`, a score becomes 1 if it exceeds that number, else 0. With `best`, a score becomes that number minus the
score. A test that is `secondary` is shown and judged alone, but the claim's verdict does not depend on it. A test with
`compute` is an identity (see `identities`).

The `history` of a claim has its earlier wordings and verdicts, the reason of each change, and whether results were
known; docs/claims.md shows it.
"""

import math
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import ClassVar

from dyna_td.errors import UserError, require_choice
from dyna_td.evidence.identities import IDENTITIES
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import DIRECTORY, STUDIES
from dyna_td.plan.yaml_files import read_checked
from dyna_td.records.metrics import METRICS, require_metric
from dyna_td.runs.run import Run

_NEEDS_MARGIN = ("not_less", "equivalent", "share_below", "more_often", "rarely")
_TWO_CURVES = ("more_often", "share_below")
COUNTING = ("more_often", "rarely")  # tests that count each curve's stuck seeds at the end


@dataclass(frozen=True)
class Term:
    """The score of a curve: `metric` of `curve` in the panel `letter` of a figure or study.

    `panel` has all runs of the curve's panel; the best of them bounds which seeds are stuck.
    """

    figure: str
    letter: str
    curve: str
    run: Run
    metric: str
    panel: tuple[Run, ...] = field(default=(), compare=False)

    @property
    def place(self) -> str:
        """The panel that shows the curve, as figure_4/a."""
        return f"{self.figure}/{self.letter}"

    @property
    def path(self) -> str:
        """The curve, as figure_4/a/dyna_td."""
        return f"{self.place}/{self.curve}"


@dataclass(frozen=True)
class MeasuredTest:
    """A comparison of runs (see the module); an item of `plus` or `minus` is one curve or a pair.

    `place` is the panel of all its curves, as figure_4/a; it is empty for a test that has a label of its own. Such a
    label names the window.
    """

    label: str
    plus: tuple[tuple[Term, ...], ...]
    minus: tuple[tuple[Term, ...], ...]
    expect: str
    over: str | None = None
    window: str = "auc"
    relative: bool = False
    margin: float = 0.0
    above: float | None = None
    best: float | None = None
    secondary: bool = False
    first_seed: int = 0  # seeds below it are left out
    of_middle_half: bool = False  # whether interquartile means are compared
    place: str = ""

    @property
    def terms(self) -> list[Term]:
        """All curves that are compared."""
        return [term for item in (*self.plus, *self.minus) for term in item]

    @property
    def is_of_two_curves(self) -> bool:
        """Whether one curve is compared with another."""
        return len(self.plus) == len(self.minus) == 1 and len(self.terms) == 2

    @property
    def metrics(self) -> list[str]:
        """The metrics that are compared, each once."""
        if self.expect == "share_below":
            return ["train_seconds"]
        return list(dict.fromkeys(term.metric for term in self.terms))

    @property
    def region(self) -> tuple[float, float]:
        """The open interval in which the claim puts the mean of the comparison; of logarithms, if it is relative."""
        margin = math.log1p(self.margin) if self.relative else self.margin
        return {"greater": (margin, math.inf), "not_less": (-margin, math.inf)}.get(self.expect, (-margin, margin))

    @property
    def unit(self) -> str:
        """The unit of effect, interval and margin."""
        if self.expect in (*_TWO_CURVES, "rarely") or (self.over and self.above is None):
            return "share"
        if self.above is not None:
            return "trainings"
        metric = METRICS.get(self.metrics[0].partition("+")[0])
        return "relative" if self.relative else metric.unit if metric else ""


@dataclass(frozen=True)
class ComputedTest:
    """An identity, by its name in `IDENTITIES`."""

    label: str
    secondary: bool = False
    unit: ClassVar[str] = ""


@dataclass(frozen=True)
class Claim:
    """A claim of the paper in our words; `combine` says whether `all` of its tests must hold, or `any`."""

    number: int
    text: str
    place: str
    figures: tuple[str, ...]
    combine: str
    tests: tuple[MeasuredTest | ComputedTest, ...]
    history: tuple[dict, ...] = ()  # earlier wordings and verdicts

    @property
    def terms(self) -> list[Term]:
        """All curves that its tests compare."""
        return [term for test in self.tests if isinstance(test, MeasuredTest) for term in test.terms]


def load_claims(plan: Plan, directory: Path = DIRECTORY) -> list[Claim]:
    """The claims of `claims.yaml` in `directory`, sorted by number; a UserError names a claim with a mistake."""
    path = Path(directory) / "claims.yaml"
    claims: dict[int, Claim] = {}
    for content in read_checked(path, "claims")["claims"]:
        number = content["number"]
        try:
            if number in claims:
                raise UserError("its number is given twice: number each claim once.")
            claims[number] = _claim(content, plan)
        except UserError as error:
            raise UserError(f"{path}: claim {number}: {error}") from error
    return [claims[number] for number in sorted(claims)]


def _claim(content: dict, plan: Plan) -> Claim:
    tests = tuple(test for group in content["tests"] for test in _tests(group, plan))
    if sum(not test.secondary for test in tests) > 1 and "combine" not in content:
        raise UserError("it has several tests: say by `combine` whether all of them must hold, or any.")
    figures = tuple(f"figure_{number}" for number in content["figures"])
    text, place = (" ".join(content[key].split()) for key in ("text", "place"))
    combine, history = content.get("combine", "all"), tuple(content.get("history", ()))
    claim = Claim(content["number"], text, place, figures, combine, tests, history)
    for term in claim.terms:
        if term.figure not in (*figures, *STUDIES):
            raise UserError(
                f"it compares {term.path} but does not list figure {term.figure.removeprefix('figure_')}: add it."
            )
    return claim


def _tests(content: dict, plan: Plan) -> list[MeasuredTest | ComputedTest]:
    """The tests of one entry: one for each of its panels, if it lists panels."""
    if "compute" in content:
        identity = require_choice(content["compute"], IDENTITIES, "identity")
        return [ComputedTest(identity, content.get("secondary", False))]
    expect = content["expect"]
    if expect in _NEEDS_MARGIN and "margin" not in content:
        raise UserError(f"`{expect}` needs a margin.")
    if expect in COUNTING and content.get("window") != "final":
        raise UserError(f"`{expect}` counts ends of trainings: write `window: final`.")
    if expect == "share_below" and content.keys() & {"window", "first_seed"}:
        raise UserError("`share_below` compares whole trainings: leave out `window` and `first_seed`.")
    if expect in COUNTING and "first_seed" in content:
        raise UserError(f"`{expect}` counts all seeds: leave out `first_seed`.")
    if ("panels" in content) == ("label" in content):
        raise UserError("a test needs either panels, or a label and curves with their panels, as figure_4/a/dyna_td.")
    return [_test(content, panel, plan) for panel in content.get("panels", [""])]


def _test(content: dict, panel: str, plan: Plan) -> MeasuredTest:
    def term(text: str) -> Term:
        return term_at(f"{panel}/{text}" if panel else text, content.get("metric"), plan)

    plus, minus = (
        tuple(tuple(map(term, item if isinstance(item, list) else [item])) for item in content.get(side, ()))
        for side in ("plus", "minus")
    )
    given = {field.name: content[field.name] for field in fields(MeasuredTest) if field.name in content}
    test = MeasuredTest(**{"label": panel, **given, "plus": plus, "minus": minus, "place": panel})
    if test.expect in _TWO_CURVES and not test.is_of_two_curves:
        raise UserError(f"`{test.expect}` compares two curves: give one in plus and one in minus.")
    if test.expect == "rarely" and (len(test.terms) != 1 or minus):
        raise UserError("`rarely` counts the seeds of one curve: give it in plus.")
    if test.over:
        for compared in test.terms:
            _require_metrics(test.over, compared.run)
    return test


def term_at(text: str, metric: str | None, plan: Plan) -> Term:
    """The score that `figure_4/a/dyna_td` or `figure_4/a/dyna_td:metric` names; by default of the panel's metric."""
    path, _, own_metric = text.partition(":")
    if path.count("/") != 2:
        raise UserError(f"{text!r} names no curve: write it as figure_4/a/dyna_td, or as dyna_td below `panels`.")
    figure, panel, curve = path.split("/")
    panels = plan.figure(figure).panels
    content = panels[require_choice(panel, panels, f"panel of {figure}")]
    if not content.curves:
        raise UserError(f"{figure}/{panel} is a closed form without runs: use `compute`.")
    run = content.curves[require_choice(curve, content.curves, f"curve of {figure}/{panel}")]
    metric = _require_metrics(own_metric or metric or content.metric, run)
    return Term(figure, panel, curve, run, metric, tuple(content.curves.values()))


def _require_metrics(metrics: str, run: Run) -> str:
    for name in metrics.split("+"):
        require_metric(name, run.environment, [run.agent])
    return metrics
