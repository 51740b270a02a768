"""The report of a scale: figures, verdicts, deviations, costs and sources on one HTML page that needs no network.

`collect` gathers what is below results/<scale>, trains nothing and names what is missing with the command that makes
it; `report.html.jinja` is the page. Files are named from the folder of the page: every number leads to its CSV or JSON.
"""

import base64
import math
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path

import docutils.core
import docutils.utils
import jinja2
from markdown_it import MarkdownIt
from markupsafe import Markup

from dyna_td.errors import UserError
from dyna_td.evidence import scorecard
from dyna_td.evidence.claims import Claim
from dyna_td.evidence.scores import is_current
from dyna_td.evidence.verdicts import VERDICTS
from dyna_td.pipeline import provenance, remedies, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER, Figure, Plan

JOB_HEADINGS = (
    *("job", "seeds", "steps", "learning rate", "core-minutes", "memory, MiB", "diverged seeds", "commit"),
    "settings and code",
)
COST_HEADINGS = (
    *("figure", "jobs measured", "core-minutes", "of it training", "compiling", "evaluating"),
    "most memory, MiB",
)
ORIGIN_HEADINGS = ("jobs", "commit", "versions", "CPU", "files written (UTC)")
_CLOCKS = ("train_seconds", "compile_seconds", "evaluate_seconds")
_PNG = b"\x89PNG\r\n\x1a\n"
_CAPTION_SETTINGS = {
    "raw_enabled": False,
    "file_insertion_enabled": False,
    "_disable_config": True,
    "halt_level": 2,  # a warning is a mistake in the caption
    "report_level": 5,
}


@dataclass(frozen=True)
class Job:
    """A job of the pipeline, with what its files say as far as they are there.

    Attributes:
      name: of its files.
      seconds, memory_mib: by its clocks and at most; NaN if they are not known.
      sources: whether it was trained with the settings and code that are here now (current, other, or missing if it was
        not trained); "" for jobs that aggregate and draw.
      details: the contents of its JSON file; empty if there is none.
      written: the day on which that file was written, UTC.
    """

    name: str
    seconds: float
    memory_mib: float
    sources: str = ""
    details: dict = field(default_factory=dict)
    written: date | None = None

    @property
    def row(self) -> tuple[str, ...]:
        """The job below `JOB_HEADINGS`."""
        details = self.details
        if not details:
            return (self.name, *[""] * 3, _minutes(self.seconds), _number(self.memory_mib), "", "", self.sources)
        rate = details["settings"].get("learning_rate", math.nan)
        return (
            self.name,
            _span(details["seeds"]),
            f"{details['steps']:,}",
            f"{details['learning_rate']:g} chosen" if "learning_rate" in details else f"{rate:g}",
            _minutes(self.seconds),
            _number(self.memory_mib),
            ", ".join(details.get("diverged_seeds") or ()),
            _commit(details),
            self.sources,
        )


def render(content: dict) -> str:
    """The page of what `collect` found; equal contents give equal bytes."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(content)


def collect(plan: Plan, stated: list[Claim], directory: Path = results.DIRECTORY) -> dict:
    """What the page shows of `plan`, with the results below `directory`.

    Returns:
      What `render` needs; its `missing` is what the page cannot show, each with the command that makes it, or "".

    Raises:
      UserError: for a file that is damaged.
    """
    studies = [name for name in plan.studies if _png(name, plan, directory).exists()]  # beyond the paper: not missed
    drawn = [*plan.figures, *studies]
    jobs = {name: _jobs(plan.figure(name), plan, directory) for name in drawn}
    claims = _claims(plan, stated, directory)
    figures = [_figure(name, plan, jobs.get(name, []), claims, directory) for name in (*FIGURES_OF_THE_PAPER, *studies)]
    every = list({job.name: job for found in jobs.values() for job in found}.values())
    missing = [(figure["heading"], figure["remedy"]) for figure in figures if not figure["image"]]
    if claims is None:
        missing.append(("verdicts", f"make claims SCALE={plan.scale}"))
    return {
        "scale": plan.scale,
        "is_evidence": plan.scale == scorecard.EVIDENCE_SCALE,
        "figures": figures,
        "missing": missing,
        "claims": claims,
        "verdicts": VERDICTS,
        "test_headings": scorecard.TEST_HEADINGS[1:],
        "deviations": deviations((ROOT / "README.md").read_text(encoding="utf-8")),
        "job_headings": JOB_HEADINGS,
        "cost_headings": COST_HEADINGS,
        "costs": [_cost(_heading(name), found) for name, found in jobs.items()] + [_cost("all, each job once", every)],
        "origin_headings": ORIGIN_HEADINGS,
        "origins": _origins(every),
        "machine": provenance.machine(),
        "commit": _commit,
    }


def caption(path: Path) -> Markup:
    """The caption at `path`, in reStructuredText, as HTML.

    Raises:
      UserError: if it is missing or not valid.
    """
    try:
        source = path.read_text(encoding="utf-8")
        parts = docutils.core.publish_parts(source, writer="html5", settings_overrides=_CAPTION_SETTINGS)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; write the figure's caption there.") from error
    except docutils.utils.SystemMessage as error:
        raise UserError(f"{path} is no valid reStructuredText: {error}; correct it.") from error
    return Markup(parts["body"])


def deviations(readme: str) -> dict:
    """The headings and the rows, as HTML, of the table below "Deviations" in the text of the README.

    Raises:
      UserError: if there is no such table.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    section = readme.partition("\n## Deviations")[2].partition("\n## ")[0]
    rows: list[list[Markup]] = []
    is_cell = False
    for token in parser.parse(section):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and is_cell:
            # What a link leads to in the project is not beside the page: its text, a path, says enough.
            words = [child for child in token.children if child.type not in ("link_open", "link_close")]
            rows[-1].append(Markup(parser.renderer.render(words, parser.options, {})))
        is_cell = token.type in ("th_open", "td_open")
    if len(rows) < 2:
        raise UserError("README.md has no table below the heading Deviations, from which the report takes it: add it.")
    return {"headings": rows[0], "rows": rows[1:]}


def _jobs(figure: Figure, plan: Plan, directory: Path) -> list[Job]:
    """All jobs of a figure, in the order in which they are made."""

    def job(name: str, training: tuple = ()) -> Job:
        details = training[1] if training else {}
        seconds = sum(details.get(clock, math.nan) for clock in _CLOCKS)
        return Job(name, seconds, details.get("peak_memory_mib", math.nan), *training)

    jobs = []
    for run in figure.runs:
        if run.sweep:
            csv = results.selection_csv(plan.scale, run.name, directory)
            rebuild = remedies.training(run.name, plan.scale, directory, "select")
            asked = {**results.describe(run), "seeds": plan.selection_runs(run)[0].seeds}
            training = _training(csv, rebuild, partial(results.agrees, asked=asked))
            jobs.append(job(f"{run.name}.selection", training))
        csv = results.run_csv(plan.scale, run.name, directory)
        rebuild = remedies.training(run.name, plan.scale, directory)
        jobs.append(job(run.name, _training(csv, rebuild, partial(is_current, run))))
    return jobs + [job(f"{figure.name}.{step}") for step in ("aggregate", "plot")]


def _training(csv: Path, rebuild: str, is_current: Callable[[dict], bool]) -> tuple[str, dict, date | None]:
    """`sources`, `details` and `written` of the job that trains `csv`; `is_current` judges its details."""
    if not csv.exists():
        return "missing", {}, None
    details = results.read_details(csv, rebuild)
    told = results.provenance_json(csv)
    written = datetime.fromtimestamp(told.stat().st_mtime, UTC).date()
    with remedies.told_if_damaged(told, f"rebuild it with `{rebuild}`"):
        job = Job(csv.stem, math.nan, math.nan, "", details, written)
        _ = job.row, _cost("", [job]), _origins([job])  # all that the page takes from it
        return "current" if is_current(details) else "other", details, written


def _figure(name: str, plan: Plan, jobs: list[Job], claims: list[dict] | None, directory: Path) -> dict:
    """A figure as the page shows it; `remedy` is the command that makes it, "" if it is not in the plan."""
    png = _png(name, plan, directory)
    figure = plan.drawn.get(name)
    about = [claim for claim in claims or () if name in claim["figures"]]
    trainings = [job for job in jobs if job.sources]
    shown = {
        "name": name,
        "heading": _heading(name),
        "title": figure.title if figure else "",
        "remedy": f"make {name} SCALE={plan.scale}" if figure else "",
        "image": "",
        "claims": about,
        "jobs": [job.row for job in trainings],
        "other": sum(job.sources == "other" for job in trainings),
        "absent": sum(job.sources == "missing" for job in trainings),
    }
    if not figure or not png.exists():
        return shown
    states = f" and {name}/states.csv" if figure.shows_states else ""
    return shown | {
        **_image(png, shown["remedy"]),
        "caption": caption(ROOT / "figures" / "captions" / f"{name}.rst"),
        "drawn_from": f"{name}/curves.csv{states}",
        "has_curves": results.curves_csv(plan.scale, name, directory).exists(),
    }


def _png(name: str, plan: Plan, directory: Path) -> Path:
    return directory / plan.scale / name / f"{name}.png"


def _image(png: Path, remedy: str) -> dict:
    """The picture as a data URI, with its size in pixels."""
    content = png.read_bytes()
    if not content.startswith(_PNG) or len(content) < 24:
        raise UserError(f"{png} is damaged, expected a PNG picture: delete it and call `{remedy}`.")
    width, height = struct.unpack(">II", content[16:24])  # of the header, which comes first
    return {
        "image": f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}",
        "width": width,
        "height": height,
    }


def _claims(plan: Plan, stated: list[Claim], directory: Path) -> list[dict] | None:
    """The claims with the verdicts of claims.csv, None if that is not there."""
    csv = results.claims_csv(plan.scale, directory)
    if not csv.exists():
        return None
    card = scorecard.read_card(csv, stated, f"make claims SCALE={plan.scale}")
    verdicts = card[card["row"] == "claim"].set_index("claim")
    tests = card[card["row"] == "test"]
    return [
        {
            "number": claim.number,
            "text": claim.text,
            "place": claim.place,
            "figures": claim.figures,
            "verdict": row["verdict"],
            "words": scorecard.verdict_words(row),
            "effect": scorecard.effect_words(row),
            "note": row["note"],
            "tests": [scorecard.test_cells(test)[1:] for _, test in tests[tests["claim"] == row.name].iterrows()],
        }
        for claim, (_, row) in zip(stated, verdicts.iterrows(), strict=True)
    ]


def _cost(label: str, jobs: list[Job]) -> tuple[str, ...]:
    """What `jobs` cost together, below `COST_HEADINGS`."""
    measured = [job for job in jobs if not math.isnan(job.seconds)]
    clocks = [[job.details[clock] for job in jobs if clock in job.details] for clock in _CLOCKS]
    return (
        label,
        f"{len(measured)} of {len(jobs)}",
        _minutes(_sum(job.seconds for job in measured)),
        *(_minutes(_sum(seconds)) for seconds in clocks),
        _number(max((job.memory_mib for job in measured if not math.isnan(job.memory_mib)), default=math.nan)),
    )


def _origins(jobs: list[Job]) -> list[tuple[str, ...]]:
    """Which code, versions and machines made the results that are there, below `ORIGIN_HEADINGS`."""
    groups: dict[tuple[str, ...], list[date]] = {}
    for job in jobs:
        if job.details:
            versions = ", ".join(f"{name} {version}" for name, version in job.details.get("versions", {}).items())
            origin = (_commit(job.details), versions, job.details.get("cpu", ""))
            groups.setdefault(origin, []).append(job.written)
    return [(str(len(days)), *origin, _span(days)) for origin, days in sorted(groups.items())]


def _heading(name: str) -> str:
    number = name.removeprefix("figure_")
    return f"Beyond the paper: {name}" if number == name else f"Figure {number}"


def _commit(details: dict) -> str:
    """The commit in short; "+" marks changes that were not committed."""
    commit = details.get("git_commit")
    return f"{commit[:10]}{'+' * bool(details.get('git_dirty'))}" if commit else "unknown"


def _span(values: Iterable) -> str:
    """The smallest and the largest of seeds or days."""
    values = sorted(values)
    if not values:
        return ""
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _sum(numbers: Iterable[float]) -> float:
    """The sum, NaN of nothing at all."""
    numbers = list(numbers)
    return math.fsum(numbers) if numbers else math.nan


def _minutes(seconds: float) -> str:
    return "" if math.isnan(seconds) else f"{seconds / 60:,.1f}"


def _number(value: float) -> str:
    return "" if math.isnan(value) else f"{value:,.0f}"
