"""The report of a scale on one HTML page: the answer, claims, figures, costs, provenance and deviations.

`collect` gathers what is below results/<scale>, trains nothing, and names what is missing with the command that makes
it. `published_page` gathers the same from reference/. `report.html.jinja` is the page.
"""

import base64
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import docutils.core
import docutils.utils
import jinja2
import pandas as pd
import PIL.Image
from markdown_it import MarkdownIt
from markupsafe import Markup

from dyna_td.errors import UserError
from dyna_td.evidence import labels, readings, scorecard
from dyna_td.evidence.claims import Claim, load_claims
from dyna_td.pages import claims_page, legends, markdown
from dyna_td.pages.facts import Facts, measured_jobs
from dyna_td.pipeline import beginnings, costs, provenance, published, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.planned import Plan
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER
from dyna_td.pipeline.results import naming_damage

# A warning is a mistake in the caption.
_CAPTION_SETTINGS: dict[str, Any] = {"_disable_config": True, "halt_level": 2, "report_level": 5}
_MARKDOWN = MarkdownIt("commonmark", {"html": False})


class Sources(NamedTuple):
    """Where a page takes its parts from: pictures by the name of a figure, and the JSON file of each job.

    `link` turns a picture's path into what the page shows; verdicts are in the folder `verdicts`.
    """

    picture: Callable[[str], Path]
    job: Callable[[str], Path]
    link: Callable[[Path], str]
    verdicts: Path


def render(content: dict) -> str:
    """The page of what `collect` found; equal contents give equal bytes."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    strict: dict[str, Any] = {"autoescape": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)
    return environment.get_template("report.html.jinja").render(content)


def collect(plan: Plan, stated: list[Claim], directory: Path = results.DIRECTORY) -> dict:
    """The content of the page of `plan`, for `render`, with the results below `directory`.

    Its `missing` pairs what the page cannot show with the command that makes it, or "".
    """
    folder = directory / plan.scale
    is_evidence = plan.scale == published.SCALE
    found = Sources(partial(_own_or_published, folder, is_evidence), partial(_job, plan, directory), _embedded, folder)
    machine = provenance.machine()
    commit = f"{machine['git_commit'] or 'unknown'}{' with changes' if machine['git_dirty'] else ''}"
    return _content(plan, stated, found) | {"made_by": f"dyna_td {machine['versions']['dyna_td']}, commit {commit}"}


def published_page(plan: Plan) -> str:
    """The page of the published results, with links to pictures in `reference/` beside it."""
    directory = published.DIRECTORY
    found = Sources(
        partial(_picture, directory),
        lambda job: published.stored(f"{job}.json", directory),
        lambda png: png.relative_to(ROOT).as_posix(),
        directory,
    )
    return render(_content(plan, load_claims(plan), found) | {"made_by": ""})


def _content(plan: Plan, stated: list[Claim], found: Sources) -> dict:
    facts = _facts(plan, stated, found.verdicts)
    claims = {claim.number: _claim(claim, facts) for claim in stated} if facts else {}
    studies = [name for name in plan.studies if found.picture(name).exists()]  # beyond the paper: not missed
    figures = [_figure(name, plan, claims.values(), found) for name in (*FIGURES_OF_THE_PAPER, *studies)]
    missing = [(figure["heading"], figure["remedy"]) for figure in figures if not figure["pictures"]]
    if facts is None:
        missing.insert(0, ("verdicts", f"make claims SCALE={plan.scale}"))
    of_theme = claims_page.themes(claims) if claims else {}
    themes = [(theme, [claims[number] for number in of]) for theme, (of, _) in of_theme.items()]
    return {
        "scale": plan.scale,
        "is_evidence": plan.scale == published.SCALE,
        "answer": facts and _inline(markdown.answer(facts)),
        "counts": markdown.counts(facts) if facts else {},
        "letters": labels.LETTERS,
        "themes": themes,
        "figures": figures,
        "missing": missing,
        "costs": {"headings": markdown.COST_HEADINGS, "rows": _costs(plan, found)},
        "provenance": _provenance(plan, found),
        "deviations": {
            "headings": markdown.DEVIATION_HEADINGS,
            "rows": markdown.deviation_rows(Markup('<span id="deviation-{0}"></span>{0}'), _inline),
        },
    }


def caption(path: Path) -> Markup:
    """The caption at `path`, in reStructuredText, as HTML; a UserError if it is missing or not valid."""
    try:
        source = path.read_text(encoding="utf-8")
        parts = docutils.core.publish_parts(source, writer="html5", settings_overrides=_CAPTION_SETTINGS)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; write the figure's caption there.") from error
    except docutils.utils.SystemMessage as error:
        raise UserError(f"{path} is no valid reStructuredText: {error}; correct it.") from error
    return Markup(parts["body"])


def _facts(plan: Plan, stated: list[Claim], folder: Path) -> Facts | None:
    """The verdicts in `folder`, None if there are none; a UserError for damaged tables."""
    csv, remedy = folder / "claims.csv", f"make claims SCALE={plan.scale}"
    if not csv.exists():
        return None
    scorecard.require_rows(csv, scorecard.COLUMNS, ["claim"], [(claim.number,) for claim in stated], remedy)
    readings.require_table(readings.beside(csv), readings.load_readings(plan, stated), remedy)
    return Facts(folder)


def _claim(claim: Claim, facts: Facts) -> dict:
    """A claim as the page shows it; a finding only where it explains this verdict at the paper's scale."""
    verdict, finding = facts.verdicts[claim.number], facts.findings.get(claim.number)
    tests = facts.tests(claim.number)
    (_, row), *_ = facts.card[facts.card["claim"] == str(claim.number)].iterrows()  # the claim's comes first
    is_fitting = finding and finding.verdict == verdict and row["evidence"] == "yes"
    return {
        **{"number": claim.number, "text": claim.text, "place": claim.place, "figures": claim.figures},
        **{"verdict": verdict, "words": scorecard.verdict_words(row)},
        "note": row["note"] if row["note"] not in set(tests["note"]) else "",  # else its test has it
        "finding": [(head, _linked(text)) for head, text in finding.parts.items()] if finding and is_fitting else [],
        "readings": claims_page.readings_of(facts, claim.number),
        "is_turned": claim.number in set(facts.turned["claim"]),
        "tests": [(_bar(test), claims_page.test_cells(facts, test), test["verdict"]) for _, test in tests.iterrows()],
    }


def _bar(test: pd.Series) -> dict | None:
    """Places from 0 to 100 on a test's own axis, 0 in its middle: dot, ends of the interval, margin."""
    if test["expect"] == "computed" or not test["low95"]:
        return None
    effect, low, high, margin = (float(test[key] or 0) for key in ("effect", "low95", "high95", "margin"))
    bound = {"not_less": -margin, "equivalent": -margin}.get(test["expect"], margin)
    finite = [abs(value) for value in (effect, low, high, bound) if abs(value) != float("inf")]
    half = 1.08 * max(finite) or 1.0

    def place(value: float) -> str:
        return f"{50 + 50 * min(1.0, max(-1.0, value / half)):.1f}"

    ends = {"low": place(low), "high": place(high), "width": f"{float(place(high)) - float(place(low)):.1f}"}
    return {"dot": place(effect), "bound": place(bound), "other": place(-bound), **ends, "expect": test["expect"]}


def _linked(text: str) -> Markup:
    """Markdown as HTML, with links to the claims and deviations that it names."""
    html = str(_inline(text))  # as Markup, re.sub would escape the links
    return Markup(re.sub(r"\b(claim|deviation) (\d+)\b", r'<a href="#\1-\2">\1 \2</a>', html))


def _inline(text: str) -> Markup:
    return Markup(_MARKDOWN.renderInline(text.strip()))


def _figure(name: str, plan: Plan, claims: Iterable[dict], found: Sources) -> dict:
    """A figure as the page shows it; `remedy` is the command that makes it, "" if it is not in the plan."""
    figure = plan.drawn.get(name)
    number = name.removeprefix("figure_")
    remedy = f"make {name} SCALE={plan.scale}" if figure else ""
    shown = {
        "name": name,
        "heading": f"Beyond the paper: {name}" if number == name else f"Figure {number}",
        "title": figure.title if figure else "",
        "remedy": remedy,
        "pictures": [],
        "is_trained": bool(figure and figure.runs),
        "claims": [claim for claim in claims if name in claim["figures"]],
    }
    png = found.picture(name)
    if not figure or not png.exists():
        return shown
    place = png.parent.name if png.is_relative_to(found.verdicts) else png.parent.as_posix()
    pictures = [_shown(png, f"{shown['heading']}: {figure.title}", remedy, found)]
    more = found.picture(labels.DIFFERENCES)  # about figures 4 and 12, shown with the former
    if name == "figure_4" and more.exists():
        pictures.append(_shown(more, "Differences of returns in figures 4 and 12", remedy, found))
    repeats = beginnings.read(png.with_name("repeats.csv"))
    return shown | {
        "pictures": pictures,
        "repeats": beginnings.sentence(repeats) if repeats else "",
        "caption": caption(ROOT / "figures" / "captions" / f"{name}.rst"),
        "place": place,
        "drawn_from": f"{place}/curves.csv{f' and {place}/states.csv' if figure.shows_states else ''}",
    }


def _shown(png: Path, title: str, remedy: str, found: Sources) -> dict:
    """A picture as the page shows it: its title, its size, and its contents or its place."""
    with naming_damage(png, f"delete it and call `{remedy}`"), PIL.Image.open(png) as picture:
        (width, height), legend = picture.size, legends.as_html(picture)
    return {"title": title, "source": found.link(png), "width": width, "height": height, "legend": legend}


def _picture(directory: Path, name: str) -> Path:
    return directory / f"{name}.png" if name == labels.DIFFERENCES else directory / name / f"{name}.png"


def _own_or_published(folder: Path, is_evidence: bool, name: str) -> Path:
    """The picture drawn from these results, or else, at the paper's scale, the published one."""
    own = _picture(folder, name)
    return _picture(published.HERE, name) if is_evidence and not own.exists() else own


def _job(plan: Plan, directory: Path, job: str) -> Path:
    return results.provenance_json(results.run_csv(plan.scale, job, directory))


def _embedded(png: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode('ascii')}"


def _costs(plan: Plan, found: Sources) -> list[list[str]]:
    return markdown.cost_rows(plan, partial(measured_jobs, measured=lambda job: costs.read(found.job(job).absolute())))


def _provenance(plan: Plan, found: Sources) -> list[tuple[str, str]]:
    """What made the finished runs: pairs of a fact and its values, each with its number of runs."""
    details = []
    for job in plan.all_runs:
        try:
            details.append(json.loads(found.job(job).read_text(encoding="utf-8")))
        except (OSError, ValueError):
            continue  # not finished; a damaged one is refused where its numbers are read
    if not details:
        return []

    def counted(values: Iterable[str]) -> str:
        return ", ".join(f"{value} ({count})" for value, count in Counter(values).most_common())

    days = sorted(each["date"] for each in details if each.get("date"))
    packages = dict.fromkeys(name for each in details for name in each["versions"])
    versions = {name: counted(found for each in details if (found := each["versions"].get(name))) for name in packages}
    return [
        ("runs", f"{len(details)} of {len(plan.all_runs)}"),
        ("trained", f"{days[0]} to {days[-1]}" if days else ""),
        ("processor", counted(each["cpu"] for each in details)),
        *((name, found) for name, found in versions.items() if found),
        ("commit", counted((each["git_commit"] or "unknown")[:10] for each in details)),
    ]
