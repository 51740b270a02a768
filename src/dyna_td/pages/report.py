"""The report of a scale on one HTML page: the answer, figures, claims, costs, provenance and deviations.

It is the Markdown of docs/, filled with the results below results/<scale>. It trains nothing, and names what is missing
with the command that makes it. `report.html` is the page around it.
"""

import base64
import contextlib
import html
import itertools
import re
import string
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dyna_td.errors import UserError
from dyna_td.evidence import labels
from dyna_td.evidence.claims import MeasuredTest
from dyna_td.evidence.outcomes import VERDICTS
from dyna_td.pages import claims_page, markdown
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.plan import costs
from dyna_td.plan.planned import Plan
from dyna_td.records import beginnings, provenance, published, results

TITLE = "Understanding and Mitigating the Limitations of Prioritized Experience Replay, reproduced"
_MARKDOWN = MarkdownIt("commonmark", {"html": True, "xhtmlOut": False}).enable("table")
_PICTURE = re.compile(r"\.\./reference/(?:\w+/)?(\w+)\.png")  # a picture, as pages of docs/ link to it


class Report(NamedTuple):
    """The page as HTML; `missing` pairs each missing part with the command that makes it."""

    html: str
    missing: list[tuple[str, str]]


def report(facts: Facts) -> Report:
    """The report of the finished results of a scale, by which `facts` are judged; equal results give equal bytes."""
    plan, is_paper = facts.judged_plan, facts.scale == published.SCALE
    folder = results.DIRECTORY / plan.scale
    there = {name: _picture(folder, name).exists() for name in plan.drawn}
    shown = [name for name, is_there in there.items() if is_there or name in plan.figures]
    missing = [(_heading(name), f"make {name} SCALE={plan.scale}") for name in shown if not there[name]]
    parts = [f"# {TITLE}", _introduction(plan)]
    parts += ["## The answer", *_advice(facts), markdown.answer(facts), _tiles(facts)]
    links = " ".join(f"[{name.removeprefix('figure_')}](#{name})" for name in shown)
    parts += [f"Figures and studies: {links}"]
    if missing:
        parts += ["## Missing", "\n".join(f"- {what}: `{command}`" for what, command in missing)]
    for theme, (numbers, figures) in claims_page.themes(facts.stated).items():
        names = [each if isinstance(each, str) else f"figure_{each}" for each in figures]
        parts += [f"## {theme}", *_figures([name for name in names if name in shown], facts, folder)]
        parts += [line for number in numbers for line in _claim(facts, number, folder)]
        shown = [name for name in shown if name not in names]
    parts += ["## Beyond the paper", *_figures(shown, facts, folder)] if shown else []
    parts += ["## What changed since the first edition", claims_page.history(facts)] if is_paper else []
    parts += ["## Costs", table(markdown.COST_HEADINGS, markdown.cost_rows(plan, costs.finished))]
    parts += ["## Provenance", table(["fact", "values, with the number of runs"], _provenance(plan))]
    parts += ["## Deviations", markdown.deviations(facts)]
    return Report(_page("\n\n".join(parts), folder.name), missing)


def _advice(facts: Facts) -> list[str]:
    """The answer of the published runs, if these are judged and all runs behind it are published."""
    tests = [tested for one in facts.judged.values() for tested in one.tests]
    if {tested.outcome.sources for tested in tests if isinstance(tested.test, MeasuredTest)} != {"published"}:
        return []
    with contextlib.suppress(UserError):
        return [markdown.advice(facts)]
    return []


def _tiles(facts: Facts) -> str:
    """The scorecard: a tile for each claim that leads to it; a striped one has another verdict by another reading."""
    rows = []
    for theme, (numbers, _) in claims_page.themes(facts.stated).items():
        tiles = " ".join(
            f'<a class="tile {_word(facts.verdicts[number])}{" turned" if number in facts.turned else ""}" '
            f'href="#claim-{number}" title="{_word(facts.verdicts[number])}">'
            f"{number}<b>{labels.LETTERS[facts.verdicts[number]]}</b></a>"
            for number in numbers
        )
        rows.append(f"<tr><th>{html.escape(theme)}</th><td>{tiles}</td></tr>")
    key = "S supported, C contradicted, U undecided; striped: another reading gives another verdict"
    return f'<table class="tiles">{"".join(rows)}</table><p>{key}.</p>'


def _word(verdict: str) -> str:
    return verdict.replace(" ", "-")


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


def _figures(names: Iterable[str], facts: Facts, folder: Path) -> list[str]:
    """Sections of figures: claims, picture, where the numbers are, caption; figures 4 and 12 with their comparisons."""
    parts = [part for name in names for part in _figure(name, facts, folder)]
    if "figure_4" in names and _picture(folder, labels.DIFFERENCES).exists():
        parts += [_shown(labels.DIFFERENCES, "Comparisons of returns in figures 4 and 12", folder)]
    return parts


def _figure(name: str, facts: Facts, folder: Path) -> list[str]:
    figure, png = facts.judged_plan.drawn[name], _picture(folder, name)
    title, is_paper = escaped(figure.title), facts.scale == published.SCALE
    parts = [f'<a id="{name}"></a>', f"### {_heading(name)}: {title}"]
    if verdicts := claims_page.verdicts_on(facts, name, "claims.md"):
        parts.append(f"Claims: {verdicts}.")
    if not png.exists():
        return [*parts, f"> Missing here: `make {name} SCALE={facts.scale}` makes it."]
    tables_there = f"`curves.csv`{' and `states.csv`' if figure.runs_with_states else ''}"
    repeats = beginnings.read(results.repeats_csv(png))
    says = f". {beginnings.sentence(repeats).capitalize()}" if repeats else ""
    place = f"`{png}`, the published picture" if folder not in png.parents else f"`{png}`"
    return [
        *parts,
        _shown(name, figure.title, folder),
        f"{place}, drawn from {tables_there} beside it{says}.",
        *filter(None, [*markdown.caption_of(name), markdown.more_seeds(facts, figure) if is_paper else ""]),
    ]


def _shown(name: str, title: str, folder: Path) -> str:
    """A picture within the page, which a click enlarges to its own size."""
    data, words = base64.b64encode(_whole(_picture(folder, name))).decode("ascii"), html.escape(title)
    image = f'<img src="data:image/png;base64,{data}" alt="{words}">'
    close = f'<a class="close" href="#{name}">close</a>'
    return f'<figure id="large-{name}"><a href="#large-{name}" title="enlarge">{image}</a>{close}</figure>'


def _claim(facts: Facts, number: int, folder: Path) -> list[str]:
    """A claim's section, with links to its figures."""
    heading, *lines = claims_page.claim(facts, number)
    about = [name for name in claims_page.figures_about(facts, number) if _picture(folder, name).exists()]
    return [heading, ", ".join(f"[{_heading(name)}](#{name})" for name in about), "\n".join(lines)]


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


def _provenance(plan: Plan) -> list[list[str]]:
    """What made the finished runs: rows of a fact and its values, each with its number of runs."""
    details = []
    for job in plan.runs:
        with contextlib.suppress(UserError):  # not finished; damaged files are refused where their numbers are read
            each = results.read_details(results.run_csv(plan.scale, job), "")
            if isinstance(each.get("versions"), dict) and {"date", "cpu", "git_commit"} <= each.keys():
                details.append(each)

    def counted(values: Iterable[str]) -> str:
        return ", ".join(f"{value} ({count})" for value, count in Counter(values).most_common())

    packages = dict.fromkeys(name for each in details for name in each["versions"])
    rows = [["runs", f"{len(details)} of {len(plan.runs)}"]]
    rows.append(["trained", counted(each["date"] for each in details)])
    rows.append(["processor", counted(each["cpu"] for each in details)])
    rows += [[name, counted(each["versions"].get(name, "none") for each in details)] for name in packages]
    return [*rows, ["commit", counted((each["git_commit"] or "unknown")[:10] for each in details)]]


def _page(text: str, scale: str) -> str:
    """The HTML of the report's Markdown, with anchors, contents and verdicts in colour."""
    tokens = _MARKDOWN.parse(text)
    contents = []
    for opening, inline in itertools.pairwise(tokens):
        if opening.type == "heading_open":
            anchor = re.sub(r"\W+", "-", inline.content.lower()).strip("-")
            opening.attrSet("id", anchor)
            contents += [f'<li><a href="#{anchor}">{inline.content}</a></li>'] if opening.tag == "h2" else []
        elif opening.type == "td_open":
            _colour(opening, inline.content)
        for child, following in itertools.pairwise(inline.children or ()):
            if child.type == "strong_open":
                _colour(child, following.content)
            _lead(child)
    listed = "\n".join(contents)
    rendered = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    body = f'<nav aria-label="Contents"><ul>\n{listed}\n</ul></nav>\n<main>\n{rendered}</main>'
    frame = string.Template(Path(__file__).with_name("report.html").read_text(encoding="utf-8"))
    return frame.substitute(title=f"{TITLE}: scale {scale}", body=body)


def _colour(token: Token, text: str) -> None:
    """Gives a cell or words the class of the verdict that they begin with."""
    word = re.match(r"\w+", text.lower())
    if word and word[0] in VERDICTS:
        token.attrSet("class", word[0])


def _lead(token: Token) -> None:
    """Redirects a link of docs/ to its target in the report or the repository."""
    if token.type != "link_open":
        return
    href = str(token.attrs["href"])
    page, _, anchor = href.partition("#")
    if picture := _PICTURE.fullmatch(href):
        token.attrs["href"] = f"#{picture[1]}"
    elif page in ("claims.md", "deviations.md") and anchor:
        token.attrs["href"] = f"#{anchor}"
    elif page and "://" not in page:
        token.attrs["href"] = f"../../docs/{href}"
