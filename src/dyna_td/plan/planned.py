"""The parts of a plan: panels, figures and all runs at one scale; `plans` reads them from `experiments/`.

A run with a swept learning rate is preceded by one run per rate, on selection seeds (see `Plan.selection_runs`). If
the scale says so, it takes the published choice instead.
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from zlib import crc32

from dyna_td.errors import UserError, require_choice
from dyna_td.records import published, results
from dyna_td.runs.registry import ROUNDABOUT, has_box_actions, is_supervised
from dyna_td.runs.run import Run
from dyna_td.settings import MAX_SEED

# Reported seeds are 0, 1, ...; selection seeds begin at 1000. Each sweep has a block of 100.
FIRST_SELECTION_SEED, SELECTION_BLOCK = 1000, 100


@dataclass(frozen=True)
class Panel:
    """One panel of a figure, as a YAML file declares it; all that draws, aggregates or judges takes it from the plan.

    Attributes:
      metric: what it shows.
      curves: the run of each curve, by the curve's key; a closed form has none.
      closed_form: a key of `CLOSED_FORMS`, if nothing is trained.
      states: the `source` (own, buffer, ...) and the `moment` (early, late) of sampled states, if it shows any.
      against: the x-axis, `step`, `train_seconds` or `driving_steps`.
      baselines: all curves are compared with these, seed by seed.
      seeds: it shows the first ones of its runs; None for a closed form.
      labels: what the figure calls a curve, by its key; others have their agent's name.
      key, title: its letter, and the words above it.
      axes: `x_scale`, `y_scale` and `y_limits`, where they are declared.
      table: the table on a page that shows it, if no picture does.
      is_drawn, is_smoothed: False where the YAML file says so.
    """

    metric: str
    curves: dict[str, Run]
    closed_form: str = ""
    states: dict[str, str] = field(default_factory=dict)
    against: str = "step"
    baselines: tuple[str, ...] = ()
    seeds: int | None = None
    labels: dict[str, str] = field(default_factory=dict, kw_only=True)
    key: str = field(default="", kw_only=True)
    title: str = field(default="", kw_only=True)
    axes: dict[str, Any] = field(default_factory=dict, kw_only=True)
    table: str = field(default="", kw_only=True)
    is_drawn: bool = field(default=True, kw_only=True)
    is_smoothed: bool = field(default=True, kw_only=True)

    @property
    def run(self) -> Run:
        """The run of the first curve, which names the panel's environment; a closed form has none."""
        return next(iter(self.curves.values()))


@dataclass(frozen=True)
class Figure:
    """A figure of the paper, or a study, as its YAML file declares it. A study may lack `shows`."""

    name: str
    title: str
    panels: dict[str, Panel]
    shows: str = ""  # the panels' contents, in words
    columns: int | None = None  # the picture's, if declared
    scene: str = ""  # the environment whose picture comes before the panels
    paper: Sequence[dict] = ()  # numbers in the paper's text: what it `says` of the `curve` "panel/key"

    @property
    def runs(self) -> list[Run]:
        """The runs that the figure shows, each once, in the order of its panels."""
        return list(dict.fromkeys(run for panel in self.panels.values() for run in panel.curves.values()))

    @property
    def runs_with_states(self) -> list[Run]:
        """The runs whose sampled states the figure shows, each once."""
        panels = [panel for panel in self.panels.values() if panel.states]
        return list(dict.fromkeys(run for panel in panels for run in panel.curves.values()))

    def as_plain_data(self) -> dict:
        """What the panels show, with the names and the last steps of their runs; words and axes do not matter."""
        drawn = {"labels", "key", "title", "axes", "table", "is_drawn", "is_smoothed"}
        return {
            key: {name: value for name, value in vars(panel).items() if name not in drawn}
            | {"curves": {curve: [run.name, run.steps] for curve, run in panel.curves.items()}}
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
      fewer_steps: steps of figures, studies and runs that are cut short, by name; in a run's name * is a wildcard.
    """

    name: str
    extents: dict[str, dict]
    published_rates: bool = False
    more_seeds: dict[str, int] = field(default_factory=dict)
    fewer_steps: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything that is to be run at one scale.

    Attributes:
      scope: the scale.
      figures: the available figures of the paper by name, in its order.
      studies: the available studies by name.
      refused: the mistake in each of one's own studies that cannot be planned, by the study's name.
    """

    scope: Scale
    figures: dict[str, Figure]
    studies: dict[str, Figure]
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def scale(self) -> str:
        """`smoke`, `quick` or `paper`."""
        return self.scope.name

    @property
    def drawn(self) -> dict[str, Figure]:
        """Everything that can be drawn, by name: the figures, then the studies."""
        return self.figures | self.studies

    @property
    def drawn_with_states(self) -> set[str]:
        """The names of the figures and studies that show sampled states."""
        return {name for name, figure in self.drawn.items() if figure.runs_with_states}

    def selection_runs(self, run: Run) -> list[Run]:
        """The runs that select the learning rate of `run`, one per rate; none if its rate is fixed.

        Each sweep has seeds of its own, so that one odd seed cannot decide several sweeps. A published one keeps its
        seeds, though it may have had another name.
        """
        count = self.scope.extents[kind_of(run.environment)]["selection_seeds"]
        there = published.read_details(run.name + results.SWEEP) if run.sweep else None
        return selection_runs(run, count, there["seeds"][0] if there else None)

    def jobs(self, figures: Iterable[Figure]) -> list[str]:
        """The names of the jobs that train for `figures`, each once: `<run>`, and `<run>.selection` for a sweep."""
        runs = dict.fromkeys(run for figure in figures for run in figure.runs)
        return list(dict.fromkeys(job for run in runs for job in results.jobs_of(run, self.is_swept(run))))

    def trained_by(self, job: str) -> list[Run]:
        """The runs that the job of this name trains: one, or those of a sweep."""
        run = self.runs[job.removesuffix(results.SWEEP)]
        return self.selection_runs(run) if job.endswith(results.SWEEP) else [run]

    def published_choice(self, run: Run) -> dict | None:
        """The published choice of a run's learning rate, if its sweep had the same settings and rates; else None."""
        if not (run.sweep and self.scope.published_rates):
            return None
        details = published.read_details(run.name + results.SWEEP)
        if details is None or {"settings", "sweep"} & {*results.differing(run, details)}:
            return None
        return details

    def is_swept(self, run: Run) -> bool:
        """Whether a sweep of this plan chooses the learning rate of `run`."""
        return bool(run.sweep) and self.published_choice(run) is None

    def trained(self, run: Run) -> Run:
        """`run` with the published choice of its learning rate, if there is one for it; otherwise unchanged."""
        choice = self.published_choice(run)
        return run.with_learning_rate(choice["learning_rate"]) if choice else run

    @cached_property
    def figure_runs(self) -> dict[str, Run]:
        """Every run that a figure of the paper shows, by name; as long as the longest curve that shows it."""
        return _longest(self.figures.values())

    @cached_property
    def runs(self) -> dict[str, Run]:
        """Every run that a figure or a study shows, by name; as long as the longest curve that shows it."""
        return _longest(self.drawn.values())

    @cached_property
    def sampled_runs(self) -> set[str]:
        """The names of the runs whose sampled states a figure shows."""
        return {run.name for figure in self.drawn.values() for run in figure.runs_with_states}

    def asked(self, run: str) -> dict:
        """The settings and the source digest of the run of this name; its result is outdated once they change."""
        return results.describe(self.trained(self.runs[run]))

    def sweep_asked(self, run: str) -> list[dict]:
        """`asked` of each run that selects this run's learning rate."""
        return [results.describe(candidate) for candidate in self.trained_by(run + results.SWEEP)]

    def learning_rate_file(self, run: str) -> list[Path]:
        """The file that names the selected learning rate of a run, if its rate is swept."""
        csv = results.run_csv(self.scale, run + results.SWEEP)
        return [results.beside(csv, "json")] if self.is_swept(self.runs[run]) else []

    def run_files(self, figure: str) -> list[Path]:
        """The results that a figure shows."""
        return [results.run_csv(self.scale, name) for name in {run.name: run for run in self.drawn[figure].runs}]

    def states_files(self, figure: str) -> list[Path]:
        """The sampled states that a figure shows."""
        csvs = [results.run_csv(self.scale, run.name) for run in self.drawn[figure].runs_with_states]
        return [results.beside(csv, "states.csv") for csv in csvs]

    def files(self, figure: str) -> list[Path]:
        """Pictures, curves and runs of a figure; Snakemake makes deleted ones again."""
        curves = results.curves_csv(self.scale, figure)
        csvs = [results.run_csv(self.scale, job) for job in self.jobs([self.drawn[figure]])]
        pictures = [curves.with_name(f"{figure}.{kind}") for kind in ("png", "pdf")]
        return [*pictures, curves, *csvs, *(results.beside(csv, "json") for csv in csvs)]

    def figure(self, name: str) -> Figure:
        """The figure or study called `name`; raises UserError if there is none, or for the mistake in it."""
        if name in self.refused:
            raise UserError(self.refused[name])
        return self.drawn[require_choice(name, self.drawn, "figure")]

    def run(self, name: str) -> Run:
        """The run called `name`; raises UserError if no figure shows it."""
        if name not in self.runs:
            nearest = difflib.get_close_matches(name, self.runs, n=1)
            hint = f"did you mean {nearest[0]}? " if nearest else ""
            refused = "".join(f" A study cannot be planned: {mistake}" for mistake in self.refused.values())
            raise UserError(
                f"no figure shows a run {name!r} at scale {self.scale}: {hint}see `python -m dyna_td list`.{refused}"
            )
        return self.runs[name]


def _longest(figures: Iterable[Figure]) -> dict[str, Run]:
    """The runs of `figures` by name; of a run and its beginnings the longest."""
    found: dict[str, Run] = {}
    for run in (run for figure in figures for run in figure.runs):
        found[run.name] = max(run, found.get(run.name, run), key=lambda each: each.steps)
    return found


def selection_runs(run: Run, count: int, first: int | None = None) -> list[Run]:
    """See `Plan.selection_runs`: with `count` seeds from `first` on, by default from one that the run's name sets."""
    blocks = (MAX_SEED + 1 - FIRST_SELECTION_SEED) // SELECTION_BLOCK
    drawn = FIRST_SELECTION_SEED + SELECTION_BLOCK * (crc32(run.name.encode()) % blocks)
    seeds = tuple(range(first or drawn, (first or drawn) + count))
    return [replace(run.with_learning_rate(rate), seeds=seeds) for rate in run.sweep]


def kind_of(environment: str) -> str:
    """The key of a scale's extents that bounds a run: supervised, control, continuous or roundabout."""
    if is_supervised(environment):
        return "supervised"
    if environment == ROUNDABOUT:
        return "roundabout"
    return "continuous" if has_box_actions(environment) else "control"
