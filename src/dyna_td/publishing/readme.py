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
_JUDGED, _NOT_RUN = VERDICTS[:-1], VERDICTS[-1]
_WIDTH = 220  # of a small picture, in pixels
_MOST_TESTS = 4  # of a claim that are told one by one


def gallery(plan: Plan, claims: list[Claim], card: pd.DataFrame, directory: Path) -> str:
    """A line for each figure of the plan: its picture, the paper's claim, verdicts, command, and cost.

    Args:
      plan: at the paper's scale.
      claims: of which `card` has the verdicts.
      card: as `scorecard.read_card` gives it.
      directory: of the published results, as the README links to it.
    """
    rows = []
    there = reference.published(directory)
    for figure in plan.figures.values():
        png = (directory / figure.name / f"{figure.name}.png").as_posix()
        name = figure.name.replace("_", " ").capitalize()
        picture = f'<a href="{png}"><img src="{png}" width="{_WIDTH}" alt="{name}"></a><br>'
        verdicts = _verdicts(figure, claims, card) or _progress(figure, figure.name in there, directory)
        shows = f"**{figure.name.removeprefix('figure_')}**: {figure.shows or figure.title}"
        rows.append(
            (
                f"{picture if figure.name in there else ''}{shows}",
                figure.claim,
                verdicts,
                f"`make {figure.name}`",
                core_minutes(figure, directory),
            )
        )
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
    lines = [_sum_words(claims, card, directory), "", *scorecard.caveats(card, plan), ""]
    headings = ("claim", "in our words", "verdict", "effect with its 95% interval", "seeds", "place")
    return "\n".join(lines) + _table(headings, rows) + "".join(paragraphs)


def other_readings(card: pd.DataFrame, table: pd.DataFrame) -> str:
    """A line for each claim with readings: which leave its verdict as it is, and which do not.

    Args:
      card: as `scorecard.read_card` gives it.
      table: as `readings.read_table` gives it.
    """
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
    verdicts = card[card["row"] == "claim"].set_index("claim")["verdict"]
    lines = []
    for number, verdict in verdicts.items():
        finding = findings.get(number)
        if finding and finding.verdict != verdict:
            lines.append(f"claim {number} is {verdict}, but its finding explains {finding.verdict}: it is left out.")
        elif not finding and verdict in ("contradicted", "undecided"):
            lines.append(f"claim {number} is {verdict}: a finding in experiments/findings.yaml would explain it.")
    return lines


def core_minutes(figure: Figure, directory: Path) -> str:
    """The measured core-minutes of all its runs and sweeps, in two digits."""
    jobs = [name for run in figure.runs for name in ([f"{run.name}.selection"] if run.sweep else []) + [run.name]]
    seconds = [(reference.read_details(job, directory) or {}).get("core_seconds") for job in jobs]
    if None in seconds:
        return "not measured"
    return f"{float(f'{sum(seconds) / 60:.2g}'):g}"


def _table(headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    return "\n".join(scorecard.markdown_table(headings, rows)) + "\n"


def _verdicts(figure: Figure, claims: list[Claim], card: pd.DataFrame) -> str:
    """The number of claims on `figure` with each verdict; empty if none has one."""
    numbers = [claim.number for claim in claims if figure.name in claim.figures]
    found = Counter(card.loc[(card["row"] == "claim") & card["claim"].isin(numbers), "verdict"])
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in _JUDGED if found[verdict])
    rest = f", {found[_NOT_RUN]} not run yet" if found[_NOT_RUN] else ""
    return f"[{counts}](#{_ANCHOR}){rest}" if counts else ""


def _progress(figure: Figure, is_published: bool, directory: Path) -> str:
    """The progress of a figure without a verdict."""
    if is_published:
        return "not judged yet"
    done = sum(reference.stored(f"{run.name}.json", directory).exists() for run in figure.runs)
    return f"{done} of {len(figure.runs)} runs finished at paper scale" if done else "not run at paper scale yet"


def _sum_words(claims: list[Claim], card: pd.DataFrame, directory: Path) -> str:
    """The number of claims of each verdict, and where each test stands."""
    found = Counter(card.loc[card["row"] == "claim", "verdict"])
    counts = ", ".join(f"{found[verdict]} {verdict}" for verdict in _JUDGED)
    waiting = f"{found[_NOT_RUN]} are not run yet at the paper's scale" if found[_NOT_RUN] else "none is left to run"
    table = (directory / "claims.md").as_posix()
    return f"Of {len(claims)} claims: **{counts}**; {waiting}. Every test of each: [{table}]({table})."


def _effects(row: pd.Series, tests: pd.DataFrame) -> str:
    """The effect of the claim's test, or of each if it has a few.

    Of many tests, it says how they came out, with the effects of those of the claim's verdict if these are few.
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
