"""The report of a scale on one HTML page: the answer, figures, claims, costs, provenance and deviations.

It is the Markdown of docs/, filled with the results below results/<scale>. It trains nothing, and names what is missing
with the command that makes it. `report.html` is the page around it.
"""

import base64
import contextlib
import itertools
import re
import string
from collections import Counter
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dyna_td.errors import UserError
from dyna_td.evidence import labels
from dyna_td.pages import claims_page, markdown
from dyna_td.pages.facts import Facts, measured_jobs
from dyna_td.pages.marked_text import escaped, table
from dyna_td.plan import costs
from dyna_td.plan.planned import Plan
from dyna_td.plan.plans import FIGURES_OF_THE_PAPER
from dyna_td.records import beginnings, provenance, published, results

TITLE = "Understanding and Mitigating the Limitations of Prioritized Experience Replay, reproduced"
_MARKDOWN = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable("table")
_PICTURE = re.compile(r"\.\./reference/(?:\w+/)?(\w+)\.png")  # a picture, as pages of docs/ link to it


class Report(NamedTuple):
    """The page as HTML; `missing` pairs each missing part with the command that makes it."""

    html: str
    missing: list[tuple[str, str]]


def report(plan: Plan, directory: Path = results.DIRECTORY) -> Report:
    """The report of `plan` with the results below `directory`; equal results give equal bytes."""
    folder = directory / plan.scale
    facts = Facts(folder) if (folder / "claims.csv").exists() else None
    there = {name: _picture(folder, name).exists() for name in (*FIGURES_OF_THE_PAPER, *plan.studies)}
    shown = [name for name, is_there in there.items() if is_there or name in plan.figures]
    missing = [] if facts else [("verdicts", f"make claims SCALE={plan.scale}")]
    missing += [(_heading(name), f"make {name} SCALE={plan.scale}") for name in shown if not there[name]]
    parts = [f"# {TITLE}", _introduction(plan)]
    if facts:
        parts += ["## The answer", markdown.answer(facts), claims_page.overview(facts)]
    if missing:
        parts += ["## Missing", "\n".join(f"- {what}: `{command}`" for what, command in missing)]
    parts += ["## Figures", " ".join(f"[{name.removeprefix('figure_')}](#{name})" for name in shown)]
    parts += [part for name in shown for part in _figure(name, plan, facts, folder)]
    if facts:
        parts += [claims_page.claims(facts), "## What changed since the first edition", claims_page.history(facts)]
    measured = partial(measured_jobs, measured=lambda job: costs.read(_json(plan, directory, job).absolute()))
    parts += ["## Costs", table(markdown.COST_HEADINGS, markdown.cost_rows(plan, measured))]
    parts += ["## Provenance", table(["fact", "values, with the number of runs"], _provenance(plan, directory))]
    parts += ["## Deviations", markdown.deviations()]
    return Report(_page("\n\n".join(parts), folder), missing)


def _introduction(plan: Plan) -> str:
    machine = provenance.machine()
    commit = f"{(machine['git_commit'] or 'unknown')[:10]}{' with changes' if machine['git_dirty'] else ''}"
    made = f"made by `make report SCALE={plan.scale}`, dyna_td {machine['versions']['dyna_td']}, commit {commit}"
    paper = "[Pan et al. (UAI 2022)](https://arxiv.org/abs/2007.09569)"
    text = f"Claims and figures of {paper} at scale **{plan.scale}**; {made}."
    if plan.scale == published.SCALE:
        return text
    return (
        f"{text}\n\n> **No verdicts.** Scale {plan.scale} has fewer seeds and shorter runs than the paper. "
        "Only what is computed without training holds at every scale."
    )


def _heading(name: str) -> str:
    number = name.removeprefix("figure_")
    return f"Beyond the paper: {name}" if number == name else f"Figure {number}"


def _figure(name: str, plan: Plan, facts: Facts | None, folder: Path) -> list[str]:
    """A figure's section: its claims, its picture and where the numbers are, its whole caption."""
    figure, png = plan.drawn[name], _picture(folder, name)
    title = escaped(figure.title)
    parts = [f'<a id="{name}"></a>', f"### {_heading(name)}: {title}"]
    if facts and (verdicts := claims_page.verdicts_on(facts, name, "claims.md")):
        parts.append(f"Claims: {verdicts}.")
    if not png.exists():
        return [*parts, f"> Missing here: `make {name} SCALE={plan.scale}` makes it."]
    tables_there = f"`curves.csv`{' and `states.csv`' if figure.sampled_runs else ''}"
    repeats = beginnings.read(png.with_name("repeats.csv"))
    says = f". {beginnings.sentence(repeats).capitalize()}" if repeats else ""
    place = f"`{name}/{name}.png`, drawn from {tables_there} beside it{says}."
    return [*parts, f"![{title}](../reference/{name}/{name}.png)", place, markdown.caption_of(name)]


def _picture(folder: Path, name: str) -> Path:
    """The picture drawn from these results, or else, at the paper's scale, the published one."""
    below = Path(f"{name}.png") if name == labels.DIFFERENCES else Path(name, f"{name}.png")
    is_evidence = folder.name == published.SCALE
    return published.HERE / below if is_evidence and not (folder / below).exists() else folder / below


def _whole(png: Path) -> bytes:
    """The contents of a picture; a UserError if it is no PNG from its first bytes to its last."""
    content = png.read_bytes()
    if not (content.startswith(b"\x89PNG\r\n") and content.endswith(b"IEND\xaeB`\x82")):
        raise UserError(f"{png} is truncated, or no picture: delete it, then make it again.")
    return content


def _json(plan: Plan, directory: Path, job: str) -> Path:
    return results.provenance_json(results.run_csv(plan.scale, job, directory))


def _provenance(plan: Plan, directory: Path) -> list[list[str]]:
    """What made the finished runs: rows of a fact and its values, each with its number of runs."""
    details = []
    for job in plan.all_runs:
        with contextlib.suppress(UserError):  # not finished; damaged files are refused where their numbers are read
            each = results.read_details(results.run_csv(plan.scale, job, directory), "")
            if isinstance(each.get("versions"), dict) and {"date", "cpu", "git_commit"} <= each.keys():
                details.append(each)

    def counted(values: Iterable[str]) -> str:
        return ", ".join(f"{value} ({count})" for value, count in Counter(values).most_common())

    packages = dict.fromkeys(name for each in details for name in each["versions"])
    rows = [["runs", f"{len(details)} of {len(plan.all_runs)}"]]
    rows.append(["trained", counted(each["date"] for each in details)])
    rows.append(["processor", counted(each["cpu"] for each in details)])
    rows += [[name, counted(each["versions"].get(name, "none") for each in details)] for name in packages]
    return [*rows, ["commit", counted((each["git_commit"] or "unknown")[:10] for each in details)]]


def _page(text: str, folder: Path) -> str:
    """The HTML of the report's Markdown, with anchors, a list of contents, and pictures within."""
    tokens = _MARKDOWN.parse(text)
    contents = []
    for heading, inline in itertools.pairwise(tokens):
        if heading.type == "heading_open":
            anchor = re.sub(r"\W+", "-", inline.content.lower()).strip("-")
            heading.attrSet("id", anchor)
            contents += [f'<li><a href="#{anchor}">{inline.content}</a></li>'] if heading.tag == "h2" else []
        for child in inline.children or ():
            _lead(child, folder)
    listed = "\n".join(contents)
    rendered = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    body = f'<nav aria-label="Contents"><ul>\n{listed}\n</ul></nav>\n{rendered}'
    frame = string.Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    return frame.substitute(title=f"{TITLE}: scale {folder.name}", body=body)


def _lead(token: Token, folder: Path) -> None:
    """Redirects a link of docs/ to its target in the report or the repository, and embeds a picture in the page."""
    if token.type == "image":
        picture = _PICTURE.fullmatch(str(token.attrs["src"]))
        png = _picture(folder, picture[1]) if picture else folder
        content = base64.b64encode(_whole(png)).decode("ascii") if png.is_file() else ""
        token.attrs["src"] = f"data:image/png;base64,{content}"
    elif token.type == "link_open":
        href = str(token.attrs["href"])
        page, _, anchor = href.partition("#")
        if picture := _PICTURE.fullmatch(href):
            token.attrs["href"] = f"#{picture[1]}"
        elif page in ("claims.md", "deviations.md") and anchor:
            token.attrs["href"] = f"#{anchor}"
        elif page and "://" not in page:
            token.attrs["href"] = f"../../docs/{href}"
