"""The report of a scale: figures, verdicts and deviations on one HTML page that needs no network.

`collect` gathers what is below results/<scale>, trains nothing, and names what is missing with the command that makes
it; `report.html.jinja` is the page.
"""

import base64
import struct
from pathlib import Path

import docutils.core
import docutils.utils
import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from dyna_td.errors import UserError
from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import Claim
from dyna_td.evidence.verdicts import VERDICTS
from dyna_td.pipeline import plans, provenance, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER, Plan
from dyna_td.pipeline.yaml_files import read_checked
from dyna_td.publishing import reference

_DEVIATION = {"what": "what", "paper": "paper", "code": "released code", "here": "here", "other": "other reading"}
_PNG = b"\x89PNG\r\n\x1a\n"
_CAPTION_SETTINGS = {"raw_enabled": False, "file_insertion_enabled": False, "_disable_config": True}
_CAPTION_SETTINGS |= {"halt_level": 2, "report_level": 5}  # a warning is a mistake in the caption


def render(content: dict) -> str:
    """The page of what `collect` found; equal contents give equal bytes."""
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    strict = {"autoescape": True, "undefined": jinja2.StrictUndefined}
    environment = jinja2.Environment(loader=loader, trim_blocks=True, lstrip_blocks=True, **strict)
    return environment.get_template("report.html.jinja").render(content)


def collect(plan: Plan, stated: list[Claim], directory: Path = results.DIRECTORY) -> dict:
    """The content of the page of `plan`, for `render`, with the results below `directory`.

    Its `missing` pairs what the page cannot show with the command that makes it, or "".
    """
    claims = _claims(plan, stated, directory)
    studies = [name for name in plan.studies if _png(name, plan, directory).exists()]  # beyond the paper: not missed
    figures = [_figure(name, plan, claims or [], directory) for name in (*FIGURES_OF_THE_PAPER, *studies)]
    missing = [(figure["heading"], figure["remedy"]) for figure in figures if not figure["image"]]
    if claims is None:
        missing.append(("verdicts", f"make claims SCALE={plan.scale}"))
    machine = provenance.machine()
    return {
        "scale": plan.scale,
        "is_evidence": plan.scale == scorecard.EVIDENCE_SCALE,
        "figures": figures,
        "missing": missing,
        "claims": claims,
        "verdicts": VERDICTS,
        "test_headings": scorecard.TEST_HEADINGS[1:],
        "deviations": deviations(),
        "versions": machine["versions"],
        "commit": f"{machine['git_commit'] or 'unknown'}{' with changes' if machine['git_dirty'] else ''}",
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


def deviations() -> dict:
    """The headings and the rows, as HTML, of `experiments/deviations.yaml`."""
    parser = MarkdownIt("commonmark", {"html": False})
    content = read_checked(plans.DIRECTORY / "deviations.yaml", "deviations")["deviations"]
    rows = [[str(row["number"]), *(Markup(parser.renderInline(row[key])) for key in _DEVIATION)] for row in content]
    return {"headings": ["#", *_DEVIATION.values()], "rows": rows}


def _figure(name: str, plan: Plan, claims: list[dict], directory: Path) -> dict:
    """A figure as the page shows it; `remedy` is the command that makes it, "" if it is not in the plan."""
    png = _png(name, plan, directory)
    figure = plan.drawn.get(name)
    number = name.removeprefix("figure_")
    shown = {
        "name": name,
        "heading": f"Beyond the paper: {name}" if number == name else f"Figure {number}",
        "title": figure.title if figure else "",
        "remedy": f"make {name} SCALE={plan.scale}" if figure else "",
        "image": "",
        "is_trained": bool(figure and figure.runs),
        "claims": [claim for claim in claims if name in claim["figures"]],
    }
    if not figure or not png.exists():
        return shown
    content = png.read_bytes()
    if not content.startswith(_PNG) or len(content) < 24:
        raise UserError(f"{png} is damaged, expected a PNG picture: delete it and call `{shown['remedy']}`.")
    width, height = struct.unpack(">II", content[16:24])  # of the header, which comes first
    place = name if png.is_relative_to(directory) else png.parent.as_posix()
    return shown | {
        "image": f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}",
        **{"width": width, "height": height},
        "caption": caption(ROOT / "figures" / "captions" / f"{name}.rst"),
        "place": place,
        "drawn_from": f"{place}/curves.csv{f' and {place}/states.csv' if figure.shows_states else ''}",
    }


def _png(name: str, plan: Plan, directory: Path) -> Path:
    """The figure's picture: the one drawn from these results, or else, at the paper's scale, the published one."""
    own = directory / plan.scale / name / f"{name}.png"
    is_published = plan.scale == scorecard.EVIDENCE_SCALE and not own.exists()
    return reference.DIRECTORY / name / f"{name}.png" if is_published else own


def _claims(plan: Plan, stated: list[Claim], directory: Path) -> list[dict] | None:
    """The claims with the verdicts of claims.csv, None if that is not there."""
    csv = results.claims_csv(plan.scale, directory)
    if not csv.exists():
        return None
    card = scorecard.read_card(csv, stated, f"make claims SCALE={plan.scale}")
    claims = []
    for claim in stated:
        row, *tests = (row for _, row in card[card["claim"] == claim.number].iterrows())  # the claim's comes first
        data = "; ".join(filter(None, (scorecard.effect_words(row), row["note"])))
        words = {"words": scorecard.verdict_words(row), "data": data}
        cells = [scorecard.test_cells(test)[1:] for test in tests]
        claims.append({**vars(claim), **words, "verdict": row["verdict"], "tests": cells})
    return claims
