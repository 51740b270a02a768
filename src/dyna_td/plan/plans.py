"""From the YAML files of `experiments/` to runs: what each figure needs, at a scale.

A panel of a figure names its curves, each a run; or it is a closed form. Curves with equal settings share a run.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from fnmatch import fnmatchcase
from pathlib import Path

from dyna_td.errors import UserError, require_choice
from dyna_td.own_agents import require_agent
from dyna_td.plan.planned import Figure, Panel, Plan, Scale, kind_of
from dyna_td.plan.yaml_files import read_checked
from dyna_td.records import published
from dyna_td.records.files import ROOT
from dyna_td.records.metrics import STATES_METRICS, require_metric
from dyna_td.runs import registry
from dyna_td.runs.registry import AGENTS, FROZEN_AGENTS, SAMPLED_ENVIRONMENT, all_settings, has_twin, settings_type
from dyna_td.runs.run import Run
from dyna_td.settings import (
    FROZEN_SOURCES,
    MAX_INT,
    ControlSettings,
    SearchControlSettings,
    Settings,
    as_words,
    checked,
    is_whole,
)
from dyna_td.theory.hitting_times import CLOSED_FORMS

DIRECTORY = ROOT / "experiments"
FIGURES_OF_THE_PAPER = tuple(f"figure_{number}" for number in range(1, 15))
_NO_FIGURES = ("scales", "claims", "deviations", "findings", "readings")
# Studies: every other YAML file. They are planned and drawn like figures; all_figures leaves them out.
STUDIES = tuple(
    path.stem
    for path in sorted(DIRECTORY.glob("*.yaml"))
    if path.stem not in FIGURES_OF_THE_PAPER + _NO_FIGURES and path.is_file()  # an editor's lock is a broken link
)
RULES = ("all_", "select_", "train_", "aggregate_", "draw_", "refuse_")  # how rules of the Snakefile begin
MAX_RUN_NAME = 200  # characters; file systems allow 255 bytes, and suffixes need some of them


def load_plan(scale: str, directory: Path = DIRECTORY) -> Plan:
    """Reads each `figure_N.yaml` and each of `STUDIES` in `directory` at `scale`; raises UserError for any mistake.

    A mistake in a study that is not published refuses this study alone.
    """
    scales = read_checked(Path(directory) / "scales.yaml", "scales")
    declared = dict(scales[require_choice(scale, scales, "scale")])
    others = {each.name: declared.pop(each.name) for each in fields(Scale) if each.name in declared}
    # All other keys are extents, by kind of environment.
    scope = Scale(scale, declared, **others)

    refused = {path.stem: f"{path} ends in .yml: name it {path.stem}.yaml." for path in Path(directory).glob("*.yml")}

    def planned(names: Iterable[str]) -> dict[str, Figure]:
        found: dict[str, Figure] = {}
        for name, path in ((name, Path(directory) / f"{name}.yaml") for name in names):
            try:
                if not re.fullmatch("[a-z][a-z0-9_]*", name):
                    raise UserError(f"{path}: expected a name of small letters, digits and _: rename the file.")
                found |= {name: _read_figure(name, path, scope)} if path.exists() else {}
            except UserError as error:
                if name in FIGURES_OF_THE_PAPER or published.curves_csv(name).exists():
                    raise
                refused[name] = str(error)
        return found

    for name in STUDIES:
        if (begin := name[: name.find("_") + 1]) in RULES:
            raise UserError(
                f"{Path(directory) / name}.yaml: names with {begin} are those of rules in the Snakefile: rename it."
            )
    figures, studies = planned(FIGURES_OF_THE_PAPER), planned(STUDIES)
    _share_runs((figures | studies).values())
    if not refused and published.figures() <= {*figures, *studies}:
        with _at(f"{Path(directory) / 'scales.yaml'}: {scale}"):
            _require_runs(scope, figures | studies)
    for kind, extent in scope.extents.items():
        for setting in extent.get("settings", {}):
            with _at(f"{Path(directory) / 'scales.yaml'}: {scale}.{kind}.settings"):
                require_choice(setting, all_settings(), "setting")
    return Plan(scope, figures, studies, refused)


def _require_runs(scope: Scale, figures: dict[str, Figure]) -> None:
    """Raises UserError if the scale names a run that no figure has, so that a slip does not pass in silence.

    A published run may be missing: an edited figure asks for another one in its place.
    """
    runs = {*published.runs(), *(run.name for figure in figures.values() for run in figure.runs if not run.apart)}
    for name in scope.more_seeds:
        if name not in runs:
            raise UserError(f"more_seeds names {name!r}, which is no run: correct or remove it.")
    for name in scope.fewer_steps:
        if name not in figures and not any(fnmatchcase(run, name) for run in runs):
            raise UserError(f"fewer_steps names {name!r}, which is no figure, study or run: correct or remove it.")


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Puts `place` before the message of a UserError."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{place}: {error}") from error


def _read_figure(name: str, path: Path, scale: Scale) -> Figure:
    content = read_checked(path, "figure")
    max_steps = scale.fewer_steps.get(name, MAX_INT)
    panels = {}
    for key, panel in content["panels"].items():
        with _at(f"{path}: panels.{key}"):
            read = _closed_form(panel) if "closed_form" in panel else _trained(panel, scale, max_steps)
            shown = {"is_drawn": panel.get("drawn", "table" not in panel), "is_smoothed": panel.get("smoothed", True)}
            axes = {axis: panel[axis] for axis in ("x_scale", "y_scale", "y_limits") if axis in panel}
            low, high = axes.get("y_limits", (None, None))
            if None not in (low, high) and low >= high:
                raise UserError(f"y_limits are {low} and {high}, expected the lower one first.")
            title = _filled(panel.get("title", panel.get("environment", read.metric)), read.curves.values())
            panels[key] = replace(read, key=key, title=title, axes=axes, table=panel.get("table", ""), **shown)
    if not any(panel.is_drawn for panel in panels.values()):
        raise UserError(f"{path}: no panel is drawn: leave out the `drawn` or `table` of one of them.")
    for number in content.get("paper", ()):
        with _at(f"{path}: paper"):
            require_choice(
                number["curve"], [f"{key}/{curve}" for key in panels for curve in panels[key].curves], "curve"
            )
    words = {key: content[key] for key in ("shows", "columns", "scene", "paper") if key in content}
    if "scene" in content and "a" in panels:
        raise UserError(f"{path}: panels.a is the scene's place: name the panels b, c, ..., or leave `scene` out.")
    return Figure(name, content["title"], panels, **words)


def _filled(text: str, runs: Collection[Run]) -> str:
    """A title or label with what it names of `runs`: the environment or settings, as in "n = {planning_updates}"."""

    def value(named: re.Match) -> str:
        if named[1] == "environment":
            found = [registry.task(run.environment) for run in runs]
        else:
            of = [run for run in runs if not (run.sweep and named[1] == "learning_rate")]  # not known before the sweep
            values = [getattr(run.settings, named[1], None) for run in of]
            found = [as_words(int(each) if is_whole(each) else each) for each in values if each is not None]
        return ", ".join(dict.fromkeys(found)) or named[0]

    return re.sub(r"\{(\w+)\}", value, text)


def _closed_form(panel: dict) -> Panel:
    form = require_choice(panel["closed_form"], CLOSED_FORMS, "closed_form")
    metrics = CLOSED_FORMS[form]()["metric"].unique()
    return Panel(require_choice(panel["metric"], metrics, f"metric of {form}"), {}, form)


def _trained(panel: dict, scale: Scale, max_steps: int) -> Panel:
    environment = panel["environment"]
    extent = scale.extents[kind_of(environment)]
    curves = {}
    for key, curve in panel["curves"].items():
        with _at(f"curves.{key}"):
            run = _run(environment, key, curve or {}, panel, extent)
            if "label" not in (curve or {}):
                _require_own_name(key, run)
            shown = len(run.seeds)
            seeds = tuple(range(max(shown, scale.more_seeds.get(run.name, 0))))
            fewer = (steps for name, steps in scale.fewer_steps.items() if fnmatchcase(run.name, name))
            steps = min(max_steps, *fewer, run.steps)
            curves[key] = replace(run.beginning(steps), seeds=seeds)
    metric = require_metric(panel["metric"], environment, dict.fromkeys(run.agent for run in curves.values()))
    if metric in STATES_METRICS:
        raise UserError(f"metric {metric} counts sampled states, which claims alone do: name another metric.")
    against = panel.get("against", "step")
    if (against == "driving_steps") != (metric == "crashes"):
        raise UserError(f"metric {metric} is not drawn against {against}: crashes take driving_steps, others do not.")
    states = panel.get("states", {})
    if states and environment != SAMPLED_ENVIRONMENT:
        raise UserError(f"states are sampled on {SAMPLED_ENVIRONMENT} alone, not on {environment}: leave `states` out.")
    is_frozen = states and states["source"] in FROZEN_SOURCES  # long chains, which run at the end of training
    makers = all(AGENTS[run.agent].measures_last_q and run.settings.probe == "rules" for run in curves.values())
    if is_frozen and (states["moment"] != "late" or not makers):
        raise UserError(
            f"states of source {states['source']} exist only for {' and '.join(FROZEN_AGENTS)} with probe: rules, "
            "and only at the moment late."
        )
    baselines = tuple(require_choice(key, curves, "curve as baseline") for key in panel.get("baselines", ()))
    named = {key: curve["label"] for key, curve in panel["curves"].items() if curve and "label" in curve}
    labels = {key: _filled(label, [curves[key]]) for key, label in named.items()}
    for key, run in curves.items():  # without a true model, as on LunarLander, `dyna_td` has a learned one
        if key == run.agent and AGENTS[key].label and getattr(run.settings, "model", "") == "learned":
            labels.setdefault(key, AGENTS[key].label + registry.LEARNED)
    return Panel(metric, curves, states=states, against=against, baselines=baselines, seeds=shown, labels=labels)


def _require_own_name(key: str, run: Run) -> None:
    """Raises UserError for a key that would name a curve after another agent, or after a model that it has not."""
    named = AGENTS.get(key.removesuffix("_learned"))
    has_own_name = ":" in run.agent or AGENTS[run.agent].label  # an agent without a label is a form of another one
    if named and named.label and named != AGENTS[run.agent] and has_own_name:
        raise UserError(f"its key stands for another agent than {run.agent}: choose another key, or add a label.")
    if named and key.endswith("_learned") and getattr(run.settings, "model", "learned") != "learned":
        raise UserError("its key stands for a learned model: write `model: learned` into its settings, or add a label.")


def _run(environment: str, key: str, curve: dict, panel: dict, extent: dict) -> Run:
    """The run of the curve `key`: the panel's numbers, replaced by the curve's own, bounded by the scale."""
    agent = require_agent(curve.get("agent", key), environment)
    seeds, steps, evaluate_every = (
        min(panel[key], extent.get(key, panel[key])) for key in ("seeds", "steps", "evaluate_every")
    )
    kind = settings_type(environment, agent)
    known = {setting.name: setting for setting in fields(kind)}
    numbers = {**panel.get("settings", {}), **curve.get("settings", {})}
    bounds = {name: value for name, value in extent.get("settings", {}).items() if name in known}
    sweep: tuple[float, ...] = ()
    if isinstance(numbers.get("learning_rate"), list):
        sweep = make_sweep(kind, numbers.pop("learning_rate"))[: extent.get("learning_rates")]
    if len(sweep) == 1:
        numbers["learning_rate"], sweep = sweep[0], ()
    settings = make_settings(environment, agent, numbers)
    settings = replace(settings, **{name: checked(known[name], value) for name, value in bounds.items()})
    run = Run(environment, agent, settings, tuple(range(seeds)), steps, evaluate_every, sweep)
    if len(run.name) > MAX_RUN_NAME:
        raise UserError(
            f"the run's name has {len(run.name)} characters, more than {MAX_RUN_NAME}: leave more settings at defaults."
        )
    return run


def make_sweep(kind: type[Settings], rates: list) -> tuple[float, ...]:
    """The learning rates of a sweep; raises UserError for an invalid rate, for equal rates, and for a single one."""
    rates = [checked(kind.__dataclass_fields__["learning_rate"], rate) for rate in rates]
    if len(rates) < 2 or len(set(rates)) < len(rates):
        raise UserError(f"learning_rate is {rates}, expected one number, or two rates or more that differ.")
    return tuple(rates)


def make_settings(environment: str, agent: str, numbers: dict):
    """The settings of `agent` on `environment`, with `numbers` instead of defaults; raises UserError for others."""
    kind = settings_type(environment, agent)
    known = {setting.name: setting for setting in fields(kind)}
    for name in numbers:
        require_choice(name, known, f"setting of {agent} on {environment}")
    if "model" in known and not has_twin(environment):
        numbers = {"model": "learned", **numbers}
    settings = kind(**{name: checked(known[name], value) for name, value in numbers.items()})
    if getattr(settings, "model", "") == "true" and not has_twin(environment):
        raise UserError(f"model is true, but the dynamics of {environment} are not known: write learned.")
    if AGENTS[agent].measures_last_q and numbers.get("discount") == 1:
        raise UserError("discount is 1, but the bound that is measured on the last Q needs less: choose another.")
    if isinstance(settings, SearchControlSettings):
        _require_effect(agent, settings)
        start, stop = settings.model_start, settings.model_stop
        if 0 < stop <= start:
            raise UserError(f"model_stop is {stop:,}, expected 0, or more than model_start, {start:,}.")
    rewrites = getattr(settings, "warm_up_goal", "natural") != "natural"
    if rewrites and isinstance(settings, ControlSettings) and settings.buffer_capacity < settings.warm_up_steps:
        raise UserError(
            f"buffer_capacity is {settings.buffer_capacity:,}, less than warm_up_steps, {settings.warm_up_steps:,}: "
            "with a warm_up_goal the buffer has to hold the whole warm-up."
        )
    return settings


_OF_A_MODEL = ("model_hidden", "model_learning_rate", "model_batch_size", "model_start", "model_stop", "clip_to_box")
_OF_CHAINS = ("search_control", "chain_steps", "full_chains", "step_size", "chain_noise", "acceptance")


def _require_effect(agent: str, settings: SearchControlSettings) -> None:
    """Raises UserError for a setting that another one leaves without effect."""
    idle: dict[str, str] = {}
    if settings.model != "learned":
        idle |= dict.fromkeys((*_OF_A_MODEL, "termination"), "the true model")
    if not AGENTS[agent].has_chains:
        idle |= dict.fromkeys(_OF_CHAINS, f"{agent}, which has no chains")
    elif settings.search_control == "langevin":
        idle["acceptance"] = "search_control langevin"
    for setting in fields(settings):
        value, other = getattr(settings, setting.name), idle.get(setting.name)
        if other and value != setting.default:
            raise UserError(f"{setting.name} is {as_words(value)}, but has no effect with {other}: leave it out.")


def _share_runs(figures: Iterable[Figure]) -> None:
    """Lets curves with equal settings share the longest run that any of them asks for; others show its beginning.

    A published figure comes before others. So a study of one's own may lengthen a published run's beginning, and
    changes nothing else of it. A curve that the shared run does not contain gets a run of its own, whose name says why,
    such as `-steps100000`.
    """
    curves = [
        ((not published.curves_csv(figure.name).exists(), -run.length, -len(run.seeds), run.evaluate_every), panel, key)
        for figure in figures
        for panel in figure.panels.values()
        for key, run in panel.curves.items()
    ]
    curves.sort(key=lambda curve: curve[0])  # largest first: a shared run contains all that follow it
    shared: dict[str, Run] = {}
    for _, panel, key in curves:
        run = panel.curves[key]
        whole = shared.setdefault(run.name, run)
        while lacks := _lacks(whole, run, panel):
            run = replace(run, apart="-".join(filter(None, (run.apart, *lacks))))
            whole = shared.setdefault(run.name, run)
        panel.curves[key] = run
        if run.steps > whole.steps:  # the longer one of two beginnings
            shared[run.name] = whole.beginning(run.steps)
    for _, panel, key in curves:
        own = panel.curves[key]
        whole = shared[own.name]
        panel.curves[key] = whole if own.length == whole.length else whole.beginning(own.steps)


def _lacks(whole: Run, run: Run, panel: Panel) -> list[str]:
    """What `whole` lacks of what `panel` shows of `run`, which has the same settings: words for a run's name."""
    # States and measurements of the last step, and an agent that anneals, need a run of this length.
    agent = AGENTS[run.agent]
    needs_last = panel.states or agent.measures_last_q or agent.anneals
    is_beginning = run.length < whole.length and not run.steps % whole.evaluate_every and not needs_last
    lacks = {
        "rates" + "x".join(map(str, run.sweep)): run.sweep != whole.sweep,
        f"seeds{len(run.seeds)}": not {*run.seeds} <= {*whole.seeds},
        f"steps{run.length}": run.length != whole.length and not is_beginning,
        f"every{run.evaluate_every}": run.evaluate_every % whole.evaluate_every,
    }
    return [word for word, is_lacking in lacks.items() if is_lacking]
