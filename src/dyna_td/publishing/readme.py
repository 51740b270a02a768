"""The parts of the README that follow from the published results: the gallery, the judged claims, other readings.

Nothing in them comes from other scales, and nothing is judged here: verdicts are those of reference/claims.csv.
"""

from collections import Counter
from pathlib import Path

import pandas as pd

from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import Claim
from dyna_td.evidence.findings import Finding
from dyna_td.evidence.verdicts import VERDICTS
from dyna_td.pipeline import costs
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.publishing import reference

# What the parts are called, see `marked_text`.
GALLERY, CLAIMS, READINGS = "published figures", "published claims", "published readings"
CLAIMS_HEADING = "Does the data bear the paper out?"  # below which the README has the claims
_ANCHOR = CLAIMS_HEADING.lower().rstrip("?").replace(" ", "-")  # as GitHub names it
_JUDGED = VERDICTS[:-1]
_NOT_RUN = VERDICTS[-1]
_WIDTH = 220  # of a small picture, in pixels
_MOST_TESTS = 4  # of a claim that are told one by one


def gallery(plan: Plan, claims: list[Claim], card: pd.DataFrame, directory: Path) -> str:
    """A line for each figure of the plan: its picture, what the paper claims of it, verdicts, command, and cost.

    Args:
      plan: at the paper's scale.
      claims: of which `card` has the verdicts.
      card: as `scorecard.read_card` gives it.
      directory: of the published results, as the README links to it.
    """
    lines = scorecard.table_head("figure", "what the paper claims", "verdicts", "command", "core-minutes")
    there = reference.published(directory)
    for figure in plan.figures.values():
        told = reference.read_provenance(figure.name, directory) if figure.name in there else None
        picture = f"{_picture(figure, directory)}<br>" if told else ""
        number = figure.name.removeprefix("figure_")
        cells = (
            f"{picture}**{number}**: {figure.shows or figure.title}",
            figure.claim,
            _verdicts(figure, claims, card) or _progress(figure, told, directory),
            f"`make {figure.name}`",
            _minutes(plan, figure),
        )
        lines.append(scorecard.table_line(cells))
    return "\n".join(lines) + "\n"


def judged_claims(
    plan: Plan, claims: list[Claim], card: pd.DataFrame, findings: dict[int, Finding], directory: Path
) -> str:
    """A line for each claim with a verdict, how many have none, and the findings on them."""
    verdicts = card[card["row"] == "claim"].set_index("claim")
    tests = card[card["row"] == "test"]
    judged = [claim for claim in claims if verdicts.loc[claim.number, "verdict"] != _NOT_RUN]
    lines = [_sum_words(claims, card, directory), "", *scorecard.caveats(card, plan)]
    lines += scorecard.table_head("claim", "in our words", "verdict", "effect with its 95% interval", "seeds", "place")
    for claim in judged:
        row, own = verdicts.loc[claim.number], tests[tests["claim"] == claim.number]
        verdict = scorecard.verdict_words(row)
        cells = (str(claim.number), claim.text, verdict, _effects(row, own), _seeds(own), claim.place)
        lines.append(scorecard.table_line(cells))
    for claim in judged:
        finding = findings.get(claim.number)
        if finding and finding.verdict == verdicts.loc[claim.number, "verdict"]:
            lines += ["", f"**Claim {claim.number}, {finding.verdict}.** {finding.text}"]
    return "\n".join(lines) + "\n"


def other_readings(card: pd.DataFrame, table: pd.DataFrame) -> str:
    """A line for each claim that has readings: which leave its verdict as it is, and which do not.

    Args:
      card: as `scorecard.read_card` gives it.
      table: as `readings.read_table` gives it.
    """
    lines = scorecard.table_head("claim", "verdict", "stays so by", "would be")
    verdicts = card[card["row"] == "claim"].set_index("claim")["verdict"]
    for number, found in table[table["row"] == "claim"].groupby("claim"):
        by = {name: ", ".join(group["reading"]) for name, group in found.groupby("verdict")}
        same = by.pop(verdicts[number], "")
        others = "; ".join(f"{verdict} by {by[verdict]}" for verdict in VERDICTS if verdict in by)
        others = others.replace(f"{_NOT_RUN} by", f"{_NOT_RUN} yet:")
        lines.append(scorecard.table_line((str(number), verdicts[number], same, others)))
    return "\n".join(lines) + "\n"


def open_findings(card: pd.DataFrame, findings: dict[int, Finding]) -> list[str]:
    """What is left to write, a sentence for each claim: findings that are missing, or explain another verdict."""
    verdicts = card[card["row"] == "claim"].set_index("claim")["verdict"]
    lines = []
    for number, verdict in verdicts.items():
        finding = findings.get(number)
        if finding and finding.verdict != verdict:
            lines.append(f"claim {number} is {verdict}, but its finding explains {finding.verdict}: it is left out.")
        elif not finding and verdict in ("contradicted", "undecided"):
            lines.append(f"claim {number} is {verdict}: a finding in experiments/findings.yaml would explain it.")
    return lines


def _picture(figure: Figure, directory: Path) -> str:
    """A small picture that leads to the large one."""
    png = (directory / figure.name / f"{figure.name}.png").as_posix()
    name = figure.name.replace("_", " ").capitalize()
    return f'<a href="{png}"><img src="{png}" width="{_WIDTH}" alt="{name}"></a>'


def _verdicts(figure: Figure, claims: list[Claim], card: pd.DataFrame) -> str:
    """How many claims on `figure` have which verdict, empty if none has one."""
    numbers = [claim.number for claim in claims if figure.name in claim.figures]
    found = Counter(card.loc[(card["row"] == "claim") & card["claim"].isin(numbers), "verdict"])
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in _JUDGED if found[verdict])
    rest = f", {found[_NOT_RUN]} not run yet" if found[_NOT_RUN] else ""
    return f"[{counts}](#{_ANCHOR}){rest}" if counts else ""


def _progress(figure: Figure, told: dict | None, directory: Path) -> str:
    """How far a figure without a verdict is; `told` is its provenance, None if it is not published."""
    if told:
        return "not judged yet"
    done = sum(reference.run_csv(run.name, directory).exists() for run in figure.runs)
    return f"{done} of {len(figure.runs)} runs finished at paper scale" if done else "not run at paper scale yet"


def _minutes(plan: Plan, figure: Figure) -> str:
    """Core-minutes of all its runs and sweeps, as far as they were measured."""
    measured = [costs.measured(plan, job) for job in costs.jobs_of([figure])]
    if None in measured:
        return "not measured"
    minutes = sum(cost.core_seconds for cost in measured) / 60
    return f"{float(f'{minutes:.2g}'):g}" if minutes >= 0.1 else "< 0.1"


def _sum_words(claims: list[Claim], card: pd.DataFrame, directory: Path) -> str:
    """How many claims there are of each verdict, and where each test stands."""
    found = Counter(card.loc[card["row"] == "claim", "verdict"])
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in _JUDGED)
    waiting = f"{found[_NOT_RUN]} are not run yet at the paper's scale" if found[_NOT_RUN] else "none is left to run"
    table = (directory / "claims.md").as_posix()
    return f"Of {len(claims)} claims: **{counts}**; {waiting}. Every test of each: [{table}]({table})."


def _effects(row: pd.Series, tests: pd.DataFrame) -> str:
    """The effect of the claim's test, or of each if it has a few.

    Of many, it tells how they came out, and the effects of those with the claim's verdict if these are few.
    """
    if len(tests) == 1:
        return scorecard.data_words(row)
    told = []
    if len(tests) > _MOST_TESTS:
        told, tests = [row["note"]], tests[tests["verdict"] == row["verdict"]]
    if len(tests) <= _MOST_TESTS:
        told += [_test_words(test, row["verdict"]) for _, test in tests.iterrows()]
    return "<br>".join(told)


def _test_words(test: pd.Series, verdict: str) -> str:
    """The effect of a test, with its verdict where that is not the claim's, and the curves if a panel is its name."""
    words = [] if test["verdict"] == _NOT_RUN else [scorecard.data_words(test)]
    if test["verdict"] != verdict:
        words.append(f"({test['verdict']})")
    plus, minus = (test[side].replace(f"{test['test']}/", "") for side in ("plus", "minus"))
    curves = "" if "/" in plus or not minus else f", {plus} less {minus}"
    return f"{test['test']}{curves}: {' '.join(words)}".replace("_", " ")


def _seeds(tests: pd.DataFrame) -> str:
    """How many seeds each test compared, each number once; what is computed has none."""
    return ", ".join(dict.fromkeys(tests.loc[tests["n"] != "", "n"])) or "exact"
