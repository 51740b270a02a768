"""The generated parts of the README: the gallery of published figures, the judged claims, and other readings.

They show published runs alone, and judge nothing: verdicts are those of reference/claims.csv.
"""

from collections import Counter
from pathlib import Path

import pandas as pd

from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import Claim
from dyna_td.evidence.findings import Finding
from dyna_td.evidence.verdicts import VERDICTS
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.publishing import reference

# The names of the parts, see `marked_text`.
GALLERY, CLAIMS, READINGS = "published figures", "published claims", "published readings"
_ANCHOR = "does-the-data-bear-the-paper-out"  # of the README's heading above the claims
_NOT_RUN = "not run"
_WIDTH = 220  # of a small picture, in pixels
_MOST_TESTS = 4  # of a claim that are told one by one


def gallery(plan: Plan, claims: list[Claim], card: pd.DataFrame, directory: Path) -> str:
    """A line for each figure of the plan: its picture, the paper's claim, verdicts by `card`, command, and cost.

    `directory`, of the published results, is written as the README links to it.
    """
    rows = []
    there = reference.require_published(directory)
    for name, figure in plan.figures.items():
        png, number = (directory / name / f"{name}.png").as_posix(), name.removeprefix("figure_")
        picture = f'<a href="{png}"><img src="{png}" width="{_WIDTH}" alt="Figure {number}"></a><br>'
        on_it = card["claim"].isin([claim.number for claim in claims if name in claim.figures])
        counts, waiting = _counts(card[on_it])
        rest = f", {waiting} not run yet" if waiting else ""
        verdicts = f"[{counts}](#{_ANCHOR}){rest}" if counts else "not judged yet"
        shows = f"{picture if name in there else ''}**{number}**: {figure.shows or figure.title}"
        rows.append((shows, figure.claim, verdicts, f"`make {name}`", core_minutes(figure, directory)))
    return _table(("figure", "what the paper claims", "verdicts", "command", "core-minutes"), rows)


def judged_claims(
    plan: Plan, claims: list[Claim], card: pd.DataFrame, findings: dict[int, Finding], directory: Path
) -> str:
    """A line for each claim with a verdict, the number of those without, and the findings on them."""
    verdicts = card[card["row"] == "claim"].set_index("claim")
    tests = card[card["row"] == "test"]
    rows, paragraphs = [], []
    for claim in claims:
        row, own = verdicts.loc[claim.number], tests[tests["claim"] == claim.number]
        if row["verdict"] == _NOT_RUN:
            continue
        seeds = ", ".join(dict.fromkeys(own.loc[own["n"] != "", "n"])) or "exact"
        verdict = scorecard.verdict_words(row)
        rows.append((str(claim.number), claim.text, verdict, _effects(row, own), seeds, claim.place))
        finding = findings.get(claim.number)
        if finding and finding.verdict == row["verdict"]:
            paragraphs.append(f"\n**Claim {claim.number}, {finding.verdict}.** {finding.text}\n")
    counts, waiting = _counts(card)
    waiting = f"{waiting} are not run yet at the paper's scale" if waiting else "none is left to run"
    link = f"[{directory.as_posix()}/claims.md]({directory.as_posix()}/claims.md)"
    begin = f"Of {len(claims)} claims: **{counts}**; {waiting}. Every test of each: {link}."
    headings = ("claim", "in our words", "verdict", "effect with its 95% interval", "seeds", "place")
    lines = [begin, "", *scorecard.caveats(card, plan), ""]
    return "\n".join(lines) + _table(headings, rows) + "".join(paragraphs)


def other_readings(card: pd.DataFrame, table: pd.DataFrame) -> str:
    """A line for each claim with readings in `table`: which leave its verdict as it is, and which do not."""
    verdicts = card[card["row"] == "claim"].set_index("claim")["verdict"]
    rows = []
    for number, found in table[table["row"] == "claim"].groupby("claim"):
        by = {name: ", ".join(group["reading"]) for name, group in found.groupby("verdict")}
        same = by.pop(verdicts[number], "")
        others = "; ".join(f"{verdict} by {by[verdict]}" for verdict in VERDICTS if verdict in by)
        rows.append((str(number), verdicts[number], same, others.replace(f"{_NOT_RUN} by", f"{_NOT_RUN} yet:")))
    return _table(("claim", "verdict", "stays so by", "would be"), rows)


def open_findings(card: pd.DataFrame, findings: dict[int, Finding]) -> list[str]:
    """A sentence for each claim whose finding is missing, or explains another verdict."""
    lines = []
    for number, verdict in card.loc[card["row"] == "claim", ["claim", "verdict"]].itertuples(index=False):
        finding = findings.get(number)
        if finding and finding.verdict != verdict:
            lines.append(f"claim {number} is {verdict}, but its finding explains {finding.verdict}: it is left out.")
        elif not finding and verdict in ("contradicted", "undecided"):
            lines.append(f"claim {number} is {verdict}: a finding in experiments/findings.yaml would explain it.")
    return lines


def core_minutes(figure: Figure, directory: Path) -> str:
    """The measured core-minutes of all its runs and sweeps, in two digits."""
    jobs = [run.name for run in figure.runs] + [f"{run.name}.selection" for run in figure.runs if run.sweep]
    seconds = [(reference.read_details(job, directory) or {}).get("core_seconds") for job in jobs]
    return "not measured" if None in seconds else f"{float(f'{sum(seconds) / 60:.2g}'):g}"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(scorecard.markdown_table(headings, rows)) + "\n"


def _counts(card: pd.DataFrame) -> tuple[str, int]:
    """The number of claims with each verdict in words, and the number of claims that are not run."""
    found = Counter(card.loc[card["row"] == "claim", "verdict"])
    waiting = found.pop(_NOT_RUN, 0)
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in VERDICTS if found[verdict]), waiting


def _effects(row: pd.Series, tests: pd.DataFrame) -> str:
    """The effect of the claim's test; of several, their verdicts, and the effects behind the claim's if few."""
    if len(tests) == 1:
        return scorecard.data_words(row)
    told = []
    for _, test in tests[tests["verdict"] == row["verdict"]].iterrows():
        name, plus, minus = scorecard.test_cells(test)[1:4]
        curves = f", {plus} less {minus}" if minus and "/" not in plus else ""
        told.append(f"{name}{curves}: {scorecard.effect_words(test)}".replace("_", " "))
    return "<br>".join([row["note"], *(told if len(told) <= _MOST_TESTS else ())])
