"""From the YAML files of `experiments/` to runs: what each figure needs, at a scale.

A panel of a figure names its curves, each a run; or it is a closed form. Figures that declare the same run share it.
A run whose learning rate is swept is preceded by one run per rate, on selection seeds (see `selection_runs`). Or it
takes the published choice, where the scale says so.
"""

import difflib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from zlib import crc32

from dyna_td.errors import UserError, require_choice
from dyna_td.pipeline import published, results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.metrics import require_metric
from dyna_td.pipeline.yaml_files import read_checked
from dyna_td.registry import (
    FROZEN_AGENTS,
    FROZEN_SOURCES,
    ROUNDABOUT,
    SAMPLED_ENVIRONMENT,
    all_settings,
    has_box_actions,
    has_twin,
    is_supervised,
    require_agent,
    require_environment,
    settings_type,
)
from dyna_td.settings import LARGEST, ControlSettings, Run, Settings, checked

DIRECTORY = ROOT / "experiments"
FIGURES_OF_THE_PAPER = tuple(f"figure_{number}" for number in range(1, 15))
_NO_FIGURES = ("scales", "claims", "deviations", "findings", "readings")
# Studies: every other YAML file. They are planned and drawn like figures; all_figures leaves them out.
STUDIES = tuple(
    path.stem
    for path in sorted(DIRECTORY.glob("*.yaml"))
    if path.stem not in FIGURES_OF_THE_PAPER + _NO_FIGURES and path.is_file()  # no link of an editor's
)
LONGEST_RUN_NAME = 200  # of a run: file systems end at 255 bytes, of which suffixes and temporary files take some
# Reported seeds are 0, 1, ...; selection seeds begin at 1000, in blocks of 100, one for each sweep.
FIRST_SELECTION_SEED, SELECTION_BLOCK, LAST_SELECTION_SEED = 1000, 100, 999_999


@dataclass(frozen=True)
class Panel:
    """One panel of a figure: `curves` maps a curve's key to its run; a closed form has none.

    `states` names the `source` (own, buffer, ...) and the `moment` (early, late) of sampled states; `against` the
    x-axis: `step`, `train_seconds` or `driving_steps`. All curves are compared with `baselines`, seed by seed.
    Runs may have more seeds than the first `seeds`, which the panel shows; None shows all.
    """

    metric: str
    curves: dict[str, Run]
    closed_form: str = ""
    states: dict[str, str] = field(default_factory=dict)
    against: str = "step"
    baselines: tuple[str, ...] = ()
    seeds: int | None = None


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or a study, as its YAML file declares it.

    A study may have no `shows`.
    """

    name: str
    title: str
    source: Path  # the YAML file
    panels: dict[str, Panel]
    shows: str = ""  # what is in the panels

    @property
    def runs(self) -> list[Run]:
        """The runs that the figure shows, each once, in the order of its panels."""
        return list(dict.fromkeys(run for panel in self.panels.values() for run in panel.curves.values()))

    @property
    def shows_states(self) -> bool:
        """Whether a panel shows sampled states, which are then aggregated too."""
        return bool(self.sampled_runs)

    @property
    def sampled_runs(self) -> list[Run]:
        """The runs whose sampled states the figure shows, each once."""
        panels = [panel for panel in self.panels.values() if panel.states]
        return list(dict.fromkeys(run for panel in panels for run in panel.curves.values()))

    def as_plain_data(self) -> dict:
        """The panels as they are drawn: metric, what is not the default, and curves by their runs' names."""
        return {
            key: {
                "metric": panel.metric,
                **({"states": panel.states} if panel.states else {}),
                **({"against": panel.against} if panel.against != "step" else {}),
                **({"baselines": list(panel.baselines)} if panel.baselines else {}),
                "curves": panel.closed_form or {curve: run.name for curve, run in panel.curves.items()},
            }
            for key, panel in self.panels.items()
        }


@dataclass(frozen=True)
class Scale:
    """How much of each experiment runs, see `scales.yaml`.

    Attributes:
      name: `smoke`, `quick` or `paper`.
      extents: bounds and replaced settings by kind of environment, see `kind_of`.
      published_rates: whether a swept learning rate is the published choice, where there is one.
      more_seeds: seeds of runs that train more than their figures show, by name.
      fewer_steps: steps of figures, studies and runs that are cut short, by name.
      first_selection_seeds: of sweeps whose seeds do not follow from the run's name.
    """

    name: str
    extents: dict[str, dict]
    published_rates: bool = False
    more_seeds: dict[str, int] = field(default_factory=dict)
    fewer_steps: dict[str, int] = field(default_factory=dict)
    first_selection_seeds: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that is to be run at one scale.

    Attributes:
      scale: `smoke`, `quick` or `paper`.
      figures: the available figures of the paper by name, in its order.
      selection_seeds: how many seeds select a learning rate, by environment kind (see `scales.yaml`).
      studies: the available studies by name.
      published_rates: see `Scale`.
      first_selection_seeds: the first of these seeds by a run's name, where it does not follow from the name.
    """

    scale: str
    figures: dict[str, Figure]
    selection_seeds: dict[str, int]
    studies: dict[str, Figure]
    published_rates: bool = False
    first_selection_seeds: dict[str, int] = field(default_factory=dict)

    @property
    def drawn(self) -> dict[str, Figure]:
        """Everything that can be drawn, by name: the figures, then the studies."""
        return self.figures | self.studies

    @property
    def drawn_with_states(self) -> set[str]:
        """The names of those that show sampled states."""
        return {name for name, figure in self.drawn.items() if figure.shows_states}

    def selection_runs(self, run: Run) -> list[Run]:
        """The runs that select the learning rate of `run`, one per rate; none if its rate is fixed.

        Each sweep has seeds of its own, so that one odd seed cannot decide several sweeps.
        """
        blocks = (LAST_SELECTION_SEED + 1 - FIRST_SELECTION_SEED) // SELECTION_BLOCK
        drawn = FIRST_SELECTION_SEED + SELECTION_BLOCK * (crc32(run.name.encode()) % blocks)
        first = self.first_selection_seeds.get(run.name, drawn)
        seeds = tuple(range(first, first + self.selection_seeds[kind_of(run.environment)]))
        return [replace(run.with_learning_rate(rate), seeds=seeds) for rate in run.sweep]

    def published_choice(self, run: Run) -> dict | None:
        """The published choice of a run's swept learning rate, from a sweep of the same settings and rates; or None."""
        if not (run.sweep and self.published_rates):
            return None
        details = published.read_details(run.name + results.SWEEP)
        asked = json.loads(json.dumps(asdict(run.settings)))
        if details is None or {**asked, **details["settings"]} != asked or details["sweep"] != list(run.sweep):
            return None
        return details

    def is_swept(self, run: Run) -> bool:
        """Whether a sweep of this plan chooses the learning rate of `run`."""
        return bool(run.sweep) and self.published_choice(run) is None

    def trained(self, run: Run) -> Run:
        """`run` with the published choice of its learning rate, if it takes that; otherwise as it is."""
        choice = self.published_choice(run)
        return run.with_learning_rate(choice["learning_rate"]) if choice else run

    @cached_property
    def runs(self) -> dict[str, Run]:
        """Every run that a figure of the paper shows, by name."""
        return {run.name: run for figure in self.figures.values() for run in figure.runs}

    @cached_property
    def all_runs(self) -> dict[str, Run]:
        """Every run that a figure or a study shows, by name."""
        return self.runs | {run.name: run for study in self.studies.values() for run in study.runs}

    @cached_property
    def sampled_runs(self) -> set[str]:
        """The names of the runs whose sampled states a figure shows."""
        return {run.name for figure in self.drawn.values() for run in figure.sampled_runs}

    def asked(self, run: str) -> dict:
        """The settings and the digest of a run, by its name: what outdates its result."""
        return results.asked(self.trained(self.all_runs[run]))

    def sweep_asked(self, run: str) -> list[dict]:
        """The same of the runs that select its learning rate."""
        return [results.asked(candidate) for candidate in self.selection_runs(self.all_runs[run])]

    def learning_rate_file(self, run: str) -> list[Path]:
        """The file that names the selected learning rate of a run, if its rate is swept."""
        csv = results.run_csv(self.scale, run + results.SWEEP)
        return [results.provenance_json(csv)] if self.is_swept(self.all_runs[run]) else []

    def run_files(self, figure: str) -> list[Path]:
        """The results that a figure shows."""
        return [results.run_csv(self.scale, run.name) for run in self.drawn[figure].runs]

    def states_files(self, figure: str) -> list[Path]:
        """The sampled states that a figure shows."""
        return [results.states_csv(results.run_csv(self.scale, run.name)) for run in self.drawn[figure].sampled_runs]

    def files(self, figure: str) -> list[Path]:
        """Pictures, curves and runs of a figure: a deleted one is made again."""
        curves = results.curves_csv(self.scale, figure)
        csvs = self.run_files(figure)
        csvs += [
            results.run_csv(self.scale, run.name + results.SWEEP)
            for run in self.drawn[figure].runs
            if self.is_swept(run)
        ]
        pictures = [curves.with_name(f"{figure}.{kind}") for kind in ("png", "pdf")]
        return [*pictures, curves, *csvs, *map(results.provenance_json, csvs)]

    def figure(self, name: str) -> Figure:
        """The figure or study called `name`; raises UserError if there is none."""
        return self.drawn[require_choice(name, self.drawn, "figure")]

    def run(self, name: str) -> Run:
        """The run called `name`; raises UserError if no figure shows it."""
        if name not in self.all_runs:
            nearest = difflib.get_close_matches(name, self.all_runs, n=1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            raise UserError(
                f"no figure shows a run {name!r} at scale {self.scale}: {hint}see `python -m dyna_td list`."
            )
        return self.all_runs[name]


def load_plan(scale: str, directory: Path = DIRECTORY) -> Plan:
    """Reads each `figure_N.yaml` and each of `STUDIES` in `directory` at `scale`; raises UserError for any mistake."""
    scales = read_checked(Path(directory) / "scales.yaml", "scales")
    declared = dict(scales[require_choice(scale, scales, "scale")])
    others = {each.name: declared.pop(each.name) for each in fields(Scale)[2:] if each.name in declared}
    scope = Scale(scale, declared, **others)

    def read(names: Iterable[str]) -> dict[str, Figure]:
        paths = {name: Path(directory) / f"{name}.yaml" for name in names}
        return {name: _read_figure(name, path, scope) for name, path in paths.items() if path.exists()}

    figures, studies = read(FIGURES_OF_THE_PAPER), read(STUDIES)
    _lengthen_shared_runs((figures | studies).values())
    _refuse_conflicts((figures | studies).values())
    for kind, extent in scope.extents.items():
        for setting in extent.get("settings", {}):
            with _at(f"{Path(directory) / 'scales.yaml'}: {scale}.{kind}.settings"):
                require_choice(setting, all_settings(), "setting")
    selection_seeds = {kind: extent["selection_seeds"] for kind, extent in scope.extents.items()}
    return Plan(scale, figures, selection_seeds, studies, scope.published_rates, scope.first_selection_seeds)


def kind_of(environment: str) -> str:
    """The one of a scale's extents that bounds a run: supervised, control, continuous or roundabout."""
    if is_supervised(environment):
        return "supervised"
    if environment == ROUNDABOUT:
        return "roundabout"
    return "continuous" if has_box_actions(environment) else "control"


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Says in front of a mistake where it is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from error


def _read_figure(name: str, path: Path, scale: Scale) -> Figure:
    content = read_checked(path, "figure")
    most_steps = scale.fewer_steps.get(name, LARGEST)
    panels = {}
    for key, panel in content["panels"].items():
        with _at(f"{path}: panels.{key}"):
            panels[key] = _closed_form(panel) if "closed_form" in panel else _trained(panel, scale, most_steps)
    return Figure(name, content["title"], path, panels, content.get("shows", ""))


def _closed_form(panel: dict) -> Panel:
    from dyna_td.measures.hitting_times import CLOSED_FORMS

    form = require_choice(panel["closed_form"], CLOSED_FORMS, "closed_form")
    metrics = CLOSED_FORMS[form]()["metric"].unique()
    return Panel(require_choice(panel["metric"], metrics, f"metric of {form}"), {}, form)


def _trained(panel: dict, scale: Scale, most_steps: int) -> Panel:
    environment = require_environment(panel["environment"])
    extent = scale.extents[kind_of(environment)]
    curves = {}
    for key, curve in panel["curves"].items():
        with _at(f"curves.{key}"):
            run = _run(environment, key, curve or {}, panel, extent)
            shown = len(run.seeds)
            seeds = tuple(range(max(shown, scale.more_seeds.get(run.name, 0))))
            steps = min(most_steps, scale.fewer_steps.get(run.name, LARGEST))
            curves[key] = replace(run.beginning(steps), seeds=seeds)
    metric = require_metric(panel["metric"], environment, dict.fromkeys(run.agent for run in curves.values()))
    against = panel.get("against", "step")
    if (against == "driving_steps") != (metric == "crashes"):
        raise UserError(f"metric {metric} is not drawn against {against}: crashes are, against driving_steps, alone.")
    states = panel.get("states", {})
    if states and environment != SAMPLED_ENVIRONMENT:
        raise UserError(f"states are sampled on {SAMPLED_ENVIRONMENT} alone, not on {environment}: leave `states` out.")
    is_frozen = states and states["source"] in FROZEN_SOURCES  # long chains, which are made in the end
    if is_frozen and (states["moment"] != "late" or not {run.agent for run in curves.values()} <= {*FROZEN_AGENTS}):
        makers = " and ".join(FROZEN_AGENTS)
        raise UserError(f"states of source {states['source']} are those of {makers} at the moment late alone.")
    baselines = tuple(require_choice(key, curves, "curve as baseline") for key in panel.get("baselines", ()))
    return Panel(metric, curves, states=states, against=against, baselines=baselines, seeds=shown)


def _run(environment: str, key: str, curve: dict, panel: dict, extent: dict) -> Run:
    """The run of the curve `key`: the panel's numbers, the curve's own instead of them, bounded by the scale."""
    agent = require_agent(curve.get("agent", key), environment)
    seeds, steps, evaluate_every = (
        min(panel[key], extent.get(key, panel[key])) for key in ("seeds", "steps", "evaluate_every")
    )
    kind = settings_type(environment, agent)
    bounds = {name: value for name, value in extent.get("settings", {}).items() if hasattr(kind, name)}
    numbers = {**panel.get("settings", {}), **curve.get("settings", {}), **bounds}
    sweep = _sweep(kind, numbers.pop("learning_rate"), extent) if isinstance(numbers.get("learning_rate"), list) else ()
    if len(sweep) == 1:
        numbers["learning_rate"], sweep = sweep[0], ()
    settings = make_settings(environment, agent, numbers)
    run = Run(environment, agent, settings, tuple(range(seeds)), steps, evaluate_every, sweep)
    if len(run.name) > LONGEST_RUN_NAME:
        raise UserError(f"the run's name has {len(run.name)} characters: leave more settings at their defaults.")
    return run


def _sweep(kind: type[Settings], rates: list, extent: dict) -> tuple[float, ...]:
    """The learning rates of a sweep, as many as the scale tries."""
    rates = [checked(kind.__dataclass_fields__["learning_rate"], rate) for rate in rates]
    if len(rates) < 2 or len(set(rates)) < len(rates):
        raise UserError(f"learning_rate is {rates}, expected one number, or two rates or more that differ.")
    return tuple(rates[: extent.get("learning_rates")])


def make_settings(environment: str, agent: str, numbers: dict):
    """The settings of `agent` on `environment`, with `numbers` instead of defaults; raises UserError for others."""
    kind = settings_type(environment, agent)
    known = {setting.name: setting for setting in fields(kind)}
    for name in numbers:
        require_choice(name, known, f"setting of {agent} on {environment}")
    if "model" in known and not has_twin(environment):
        numbers = {"model": "learned", **numbers}
        if numbers["model"] == "true":
            raise UserError(f"model is true, but the dynamics of {environment} are not known: write learned.")
    settings = kind(**{name: checked(known[name], value) for name, value in numbers.items()})
    rewrites = getattr(settings, "warm_up_goal", "natural") != "natural"
    if rewrites and isinstance(settings, ControlSettings) and settings.buffer_capacity < settings.warm_up_steps:
        raise UserError(
            f"buffer_capacity is {settings.buffer_capacity:,}, less than warm_up_steps, {settings.warm_up_steps:,}: "
            "with a warm_up_goal the buffer has to hold the whole warm-up."
        )
    return settings


def _lengthen_shared_runs(figures: Iterable[Figure]) -> None:
    """Makes a beginning that several panels show as long as the longest of them asks."""
    curves = [panel.curves for figure in figures for panel in figure.panels.values()]
    longest: dict[str, int] = {}
    for run in (run for runs in curves for run in runs.values()):
        longest[run.name] = max(run.steps, longest.get(run.name, 0))
    for runs in curves:
        for key, run in runs.items():
            runs[key] = run.beginning(longest[run.name])


def _refuse_conflicts(figures: Iterable[Figure]) -> None:
    """Refuses two different runs under one name: their results would overwrite each other."""
    seen: dict[str, tuple[Run, str]] = {}
    for figure in figures:
        for panel_key, panel in figure.panels.items():
            for curve, run in panel.curves.items():
                place = f"{figure.source}: panels.{panel_key}.curves.{curve}"
                other, other_place = seen.setdefault(run.name, (run, place))
                differing = [
                    field.name for field in fields(Run) if getattr(run, field.name) != getattr(other, field.name)
                ]
                if differing:
                    raise UserError(
                        f"{place} declares run {run.name} with other {', '.join(differing)} than {other_place}: "
                        f"make them equal, or change a setting that is part of the name."
                    )
