"""The command line, `python -m dyna_td`: train by hand, or make one file of the pipeline's plan.

A mistake of the user is one sentence on standard error and exit status 2; Ctrl-C is status 130.
"""

import argparse
import math
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path

import pandas as pd

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.evidence import claims, readings, scorecard
from dyna_td.evidence.scores import reader
from dyna_td.pipeline import aggregate, costs, lock, metrics, plans, provenance, remedies, results, verify
from dyna_td.pipeline.arguments import Parser, require_output
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.pipeline.selection import select_learning_rate
from dyna_td.pipeline.yaml_files import check
from dyna_td.publishing import commands as publishing
from dyna_td.publishing import marked_text, reference
from dyna_td.settings import DDPGDynaSettings, DynaSettings, RegressionSettings, Run
from dyna_td.training.checkpoint import INTERVAL, Checkpoint
from dyna_td.training.progress import progress

MOST_SEEDS = 1_000  # in one job
MOST_STEPS = 60_000_000  # the random streams tell apart a few more


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status."""
    try:
        options, rest = _parser().parse_known_args(arguments)
        if rest and options.command is not _benchmark:
            raise UserError(f"unknown argument {rest[0]!r}; see `python -m dyna_td {options.name_of_command} --help`.")
        options.rest = rest
        options.command(options)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads what is printed has had enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that flushing it at the exit is silent, too
        return 141
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}; what was not finished is not written.", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: what was not finished is not written.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="python -m dyna_td", description=__doc__.splitlines()[0], allow_abbrev=False)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, function: Callable, text: str, **kwargs) -> argparse.ArgumentParser:
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text, description=description, allow_abbrev=False, **kwargs)
        command.set_defaults(command=function, name_of_command=name)
        return command

    plan = argparse.ArgumentParser(add_help=False)
    plan.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    plan.add_argument("--experiments", type=Path, default=plans.DIRECTORY, help="folder of the YAML files")
    plan.add_argument("--results", type=Path, default=results.DIRECTORY, help="folder that results are written to")

    kept = argparse.ArgumentParser(add_help=False)
    kept_help = f"seconds between checkpoints, from which a killed training goes on (default: {INTERVAL:.0f})"
    kept.add_argument("--checkpoint-every", type=_seconds, default=INTERVAL, metavar="SECONDS", help=kept_help)

    _add_train_options(add("train", _train, "train one agent by hand", parents=[kept]))
    run = add("run", _run, "train a run of the plan with its reported seeds", parents=[plan, kept])
    run.add_argument("name", help="the run's name, see `list`")
    text = "try a run's learning rates on selection seeds and choose one"
    select = add("select", _select, text, parents=[plan, kept])
    select.add_argument("name", help="the run's name, see `list`")
    studies = f"{', '.join(plans.STUDIES[:-1])} or {plans.STUDIES[-1]}"
    curves = add("aggregate", _aggregate, "make a figure's curves.csv from its runs", parents=[plan])
    curves.add_argument("figure", help=f"figure_1, ..., {studies}")
    text = "judge the paper's claims by the runs that are there; trains nothing"
    judged = add("claims", _claims, text, parents=[plan])
    published_help = f"judge by the published runs, all of the paper's scale, in DIR (default: {reference.DIRECTORY})"
    place = {"nargs": "?", "const": reference.DIRECTORY, "metavar": "DIR", "type": Path}
    judged.add_argument("--reference", **place, help=published_help)
    add("report", _report, "put figures, verdicts, costs and sources that are there on one page", parents=[plan])
    add("verify", _verify, "check finished results against their checksums and their runs", parents=[plan])
    publishing.add_commands(add, plan)
    add("list", _list, "list figures with their runs, agents, environments and metrics", parents=[plan])
    target = add("check", _check, "refuse an unknown figure or scale, or a second pipeline, in one sentence")
    target.add_argument("figure", help=f"figure_1, ..., all_figures, {studies}")
    target.add_argument("scale", help="smoke, quick or paper")
    target.add_argument("--experiments", type=Path, default=plans.DIRECTORY, help="folder of the YAML files")
    _add_cost_options(add, plan)
    add("benchmark", _benchmark, "measure the speed of training", add_help=False)
    return parser


def _add_cost_options(add: Callable, plan: argparse.ArgumentParser) -> None:
    table = argparse.ArgumentParser(add_help=False)
    table.add_argument("--costs", type=Path, default=costs.TABLE, metavar="CSV", help="the table of measured jobs")
    estimated = add("estimate", _estimate, "tell what figures will cost, from measured jobs", parents=[plan, table])
    estimated.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all)")
    cores_help = "cores to share the jobs among (default: 2)"
    estimated.add_argument("--cores", type=_positive_integer, default=2, metavar="N", help=cores_help)
    fit_help = "first add the finished jobs of these folders, such as results/quick, to the table"
    estimated.add_argument("--fit", type=Path, nargs="+", default=[], metavar="DIR", help=fit_help)
    shown = add("costs", _costs, "show each figure's cost as a table in Markdown", parents=[plan, table])
    shown.add_argument("--write", type=Path, metavar="FILE", help="put it between the file's marks of this scale")


def _add_train_options(train: argparse.ArgumentParser) -> None:
    environments = f"{', '.join(registry.ENVIRONMENTS)}, any other that Gymnasium can make, or module:id"
    train.add_argument("--env", required=True, metavar="ID", help=environments)
    agents = f"{', '.join(registry.AGENTS)}; on {registry.SUPERVISED_TASK}: {', '.join(registry.LEARNERS)}"
    train.add_argument("--agent", required=True, metavar="NAME", help=agents)
    train.add_argument("--output", required=True, type=Path, metavar="CSV", help="the results, a .csv file")
    train.add_argument("--seeds", type=_seeds, default=(0,), help="0-19 or 0,3,7 (default: 0)")
    steps = "environment steps, or mini-batch updates of the supervised task (default: 50000)"
    train.add_argument("--steps", type=_positive_integer, default=50_000, metavar="N", help=steps)
    every = "steps between two evaluations (default: 500)"
    train.add_argument("--evaluate-every", type=_positive_integer, default=500, metavar="N", help=every)
    for name, meaning in registry.all_settings().items():
        train.add_argument(_option(name), metavar="X", help=f"{meaning} ({_defaults_text(name)})")


def _option(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _defaults_text(setting: str) -> str:
    """The default of `setting` on each kind of environment that has it, and of the agents that have another."""
    kinds = {
        f"on {registry.SUPERVISED_TASK}": RegressionSettings(),
        "on discrete actions": DynaSettings(),
        "on action vectors": DDPGDynaSettings(),
    }
    texts = {
        kind: _setting_text(value) for kind, has in kinds.items() if (value := getattr(has, setting, None)) is not None
    }
    discrete = texts.get("on discrete actions")
    if len(set(texts.values())) == 1:
        texts = {"": texts.popitem()[1]}
    for agent in registry.AGENTS:
        value = getattr(registry.settings_type("GridWorld", agent), setting, None)
        if value is not None and (text := _setting_text(value)) != discrete:
            texts[f"of {agent}"] = text
    return f"default: {', '.join(f'{text} {kind}'.rstrip() for kind, text in texts.items())}"


def _setting_text(value: object) -> str:
    return "x".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _positive_integer(text: str) -> int:
    if not re.fullmatch(r"\d{1,10}", text) or not 0 < int(text) <= MOST_STEPS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {MOST_STEPS}, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise argparse.ArgumentTypeError(f"expected a number of seconds such as 60, not {text!r}")
    return seconds


def _seeds(text: str) -> tuple[int, ...]:
    """`0-19`, `0,3,7` or a mixture, each seed once."""
    seeds = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d{1,6})(?:-(\d{1,6}))?", part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        seeds += range(first, last + 1) if 0 <= last - first < MOST_SEEDS else [None]
    if not seeds or None in seeds or len(set(seeds)) < len(seeds):
        raise argparse.ArgumentTypeError(
            f"expected seeds such as 0-19 or 0,3,7, each once and at most {MOST_SEEDS:,}, not {text!r}"
        )
    return tuple(sorted(seeds))


def _train(options: argparse.Namespace) -> None:
    environment = registry.require_environment(options.env)
    agent = registry.require_agent(options.agent, environment)
    if options.output.suffix != ".csv":
        raise UserError(f"--output is {str(options.output)!r}, expected a name that ends in .csv.")
    run = Run(
        environment=environment,
        agent=agent,
        settings=_settings_by_hand(environment, agent, options),
        seeds=options.seeds,
        steps=options.steps,
        evaluate_every=options.evaluate_every,
    )
    require_output(options.output)
    details = {**results.describe(run), **provenance.machine()}
    checkpoint = _checkpoint(options.output, [run], details, options)
    outcome = _execute(run, checkpoint)
    results.write(options.output, outcome.records, {**details, **outcome.cost}, outcome.states)
    checkpoint.remove()


def _settings_by_hand(environment: str, agent: str, options: argparse.Namespace):
    """The settings that the options ask for; those that are not given keep the paper's values."""
    given = {name: text for name in registry.all_settings() if (text := getattr(options, name)) is not None}
    defaults = {setting.name: setting.default for setting in fields(registry.settings_type(environment, agent))}
    numbers = {}
    for name, text in given.items():
        if name not in defaults:
            raise UserError(f"{_option(name)} does not apply to {agent} on {environment}: leave it out.")
        try:
            numbers[name] = _number(text, defaults[name])
        except ValueError as error:
            example = _setting_text(defaults[name])
            raise UserError(f"{_option(name)} is {text!r}, expected a number such as {example}.") from error
    check(numbers, "settings", "train")
    return plans.make_settings(environment, agent, numbers)


def _number(text: str, default: object) -> int | float | list[int]:
    if isinstance(default, tuple):
        return [int(part) for part in text.split("x")]
    if isinstance(default, bool):
        return {"True": True, "False": False}.get(text, text)  # the schema refuses any other text
    if isinstance(default, float) and not math.isfinite(float(text)):
        raise ValueError(text)
    return type(default)(text)


def _run(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    run = plan.run(options.name)
    csv = results.run_csv(plan.scale, run.name, options.results)
    results.require_writable(csv)
    trained, selection = run, None
    if run.sweep:
        selection = _read_selection(plan, run, options)
        trained = run.with_learning_rate(selection["learning_rate"])
    # Before the training: what is edited or committed meanwhile did not make these numbers.
    details = {**results.describe(trained), "run": run.name, "learning_rate_selection": selection}
    details |= provenance.machine()
    checkpoint = _checkpoint(csv, [trained], details, options)
    outcome = _execute(trained, checkpoint)
    results.write(csv, outcome.records, {**details, **outcome.cost}, outcome.states)
    checkpoint.remove()


def _read_selection(plan: plans.Plan, run: Run, options: argparse.Namespace) -> dict:
    csv = results.selection_csv(plan.scale, run.name, options.results)
    rebuild = remedies.training(run.name, plan.scale, options.results, "select")
    _, details = results.read(csv, rebuild)
    selection = {key: details.get(key) for key in ("learning_rate", "scores", "metric", "rule", "seeds")}
    asked = list(plan.selection_runs(run)[0].seeds)
    if selection["learning_rate"] not in run.sweep or selection["seeds"] != asked:
        raise UserError(f"{csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return selection


def _select(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    run = plan.run(options.name)
    candidates = plan.selection_runs(run)
    if not candidates:
        raise UserError(f"{run.name} has one learning rate, there is nothing to select.")
    csv = results.selection_csv(plan.scale, run.name, options.results)
    results.require_writable(csv)
    machine = provenance.machine()
    training = import_quietly("dyna_td.training.trainer")
    checkpoint = _checkpoint(csv, candidates, machine, options)
    with progress(run.name) as show:
        outcomes = training.execute_sweep(candidates, show, checkpoint)
    sweep = pd.concat(
        outcome.records.assign(learning_rate=candidate.settings.learning_rate)
        for candidate, outcome in zip(candidates, outcomes, strict=True)
    )
    details = {**results.describe(run), "seeds": candidates[0].seeds, **select_learning_rate(run, sweep)}
    cost = _total([outcome.cost for outcome in outcomes])
    results.write(csv, sweep, {**details, **cost, **machine})
    checkpoint.remove()


def _total(costs: list[dict]) -> dict:
    """What several trainings in one process cost together."""
    numbers = [key for key, value in costs[0].items() if isinstance(value, int | float)]
    return {key: (max if key == "peak_memory_mib" else sum)(cost[key] for cost in costs) for key in numbers}


def _checkpoint(csv: Path, runs: list[Run], machine: dict, options: argparse.Namespace) -> Checkpoint:
    """Where the training of `csv` goes on from; it belongs to these runs, this code, these versions and this CPU."""
    described = [results.describe(run) for run in runs]
    identity = {
        "settings": [{**run, "source_digest": None} for run in described],
        "source": described[0]["source_digest"],
        "versions": machine["versions"],
        "cpu": machine["cpu"],
    }
    return Checkpoint(results.checkpoint_of(csv), identity, options.checkpoint_every)


def _execute(run: Run, checkpoint: Checkpoint):
    """Trains `run` and returns its `training.Outcome`; tells on standard error which seeds diverged."""
    trainer = import_quietly("dyna_td.training.trainer")
    with progress(run.name) as show:
        outcome = trainer.execute(run, show, checkpoint)
    for seed, step in outcome.cost["diverged_seeds"].items():
        print(f"warning: seed {seed} diverged, first seen at step {step}; the others go on.", file=sys.stderr)
    remarks = list(outcome.cost["remarks"].values())
    if remarks:
        others = f" (and other seeds: {len(remarks) - 1})" if len(remarks) > 1 else ""
        print(f"warning: {remarks[0]}{others}; training went on.", file=sys.stderr)
    return outcome


def _aggregate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    figure = plan.figure(options.figure)
    output = results.curves_csv(plan.scale, figure.name, options.results)
    results.require_writable(output)

    def place(run: Run) -> tuple[Path, str]:
        rebuild = remedies.training(run.name, plan.scale, options.results)
        return results.run_csv(plan.scale, run.name, options.results), rebuild

    def read(run: Run) -> tuple[pd.DataFrame, dict]:
        csv, rebuild = place(run)
        return results.read_run(csv, run, rebuild)

    def read_states(run: Run) -> pd.DataFrame:
        return results.read_states(*place(run))

    texts = {output: aggregate.curves_text(figure, read)}
    if figure.shows_states:
        texts[results.states_csv(output)] = aggregate.states_text(figure, read_states)
    for path, text in texts.items():
        with write_whole(path) as file:
            file.write(text)


def _verify(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    checked, faults = verify.findings(plan, options.results)
    if not checked:
        raise remedies.nothing_there("results", plan.scale, options.results)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        raise UserError(f"{len(faults)} of the results at scale {plan.scale} are not what was written, or asked for.")
    print(f"files checked at scale {plan.scale}: {checked}, all as they were written.")


def _claims(options: argparse.Namespace) -> None:
    scale = scorecard.EVIDENCE_SCALE if options.reference else options.scale
    plan = plans.load_plan(scale, options.experiments)
    stated = claims.load_claims(plan, options.experiments)
    if options.reference:
        table, read = reference.claims_csv(options.reference), reference.reader(options.reference)
    else:
        table, read = results.claims_csv(scale, options.results), reader(scale, options.results)
    results.require_writable(table)
    card = scorecard.scorecard(stated, plan, read)
    others = readings.judged(readings.load_readings(plan, stated, options.experiments), plan, read)
    for path, text in {
        table: scorecard.as_csv(card),
        readings.beside(table): scorecard.as_csv(others),
        table.with_suffix(".md"): scorecard.as_markdown(card, stated, plan) + readings.as_markdown(others),
    }.items():
        with write_whole(path) as file:
            file.write(text)
    print(f"{table} and {table.with_suffix('.md').name}{_evidence(plan)}: {scorecard.count_words(card)}")
    steps = scorecard.next_steps(card, plan)
    if options.reference and steps:
        steps.append("then publish the finished figures: make reference")
    for line in steps:
        print(f"  {line}")


def _report(options: argparse.Namespace) -> None:
    from dyna_td.publishing import report  # with the libraries that only a page needs

    plan = plans.load_plan(options.scale, options.experiments)
    stated = claims.load_claims(plan, options.experiments)
    page = results.report_html(plan.scale, options.results)
    results.require_writable(page)
    content = report.collect(plan, stated, options.results)
    with write_whole(page) as file:
        file.write(report.render(content))
    print(f"{page}{_evidence(plan)}{'; missing in it:' if content['missing'] else ': complete.'}")
    for what, command in content["missing"]:
        print(f"  {what}: {command or 'not available yet'}")


def _evidence(plan: plans.Plan) -> str:
    return "" if plan.scale == scorecard.EVIDENCE_SCALE else f" (scale {plan.scale}: no evidence)"


def _check(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    if options.figure != "all_figures":
        plan.figure(options.figure)
    lock.require_free()


def _list(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    print(f"figures at scale {plan.scale}:")
    for figure in plan.drawn.values():
        print(f"  {figure.name}: {figure.title}")
        for run in figure.runs:
            print(f"    {run.name} ({len(run.seeds)} seeds, {run.steps:,} steps)")
    print(f"environments: {', '.join(registry.ENVIRONMENTS)}; by hand any that Gymnasium can make")
    print(f"agents: {', '.join(registry.AGENTS)}; on {registry.SUPERVISED_TASK}: {', '.join(registry.LEARNERS)}")
    print("metrics:")
    for name, metric in metrics.METRICS.items():
        print(f"  {name} [{metric.unit}]: {metric.meaning}")


def _estimate(options: argparse.Namespace) -> None:
    from dyna_td.pipeline import estimate  # with SciPy's solver, which the other commands need not wait for

    plan = plans.load_plan(options.scale, options.experiments)
    names = list(dict.fromkeys(options.figures)) or list(plan.figures)
    for name in names:
        plan.figure(name)
    measured = [costs.measure(directory) for directory in options.fit]
    if measured:
        costs.write_table(options.costs, pd.concat(measured))
    model = estimate.CostModel(costs.read_table(options.costs))
    print(f"scale {plan.scale}, core time as on {model.machine}:")
    print(estimate.as_text(estimate.lines(plan, names, model, options.cores), options.cores))
    print(estimate.accuracy_text(model))


def _costs(options: argparse.Namespace) -> None:
    from dyna_td.pipeline import cost_table

    plan = plans.load_plan(options.scale, options.experiments)
    text = cost_table.markdown(plan, costs.read_table(options.costs))
    if options.write:
        marked_text.replace(options.write, {cost_table.part(plan.scale): text})
    else:
        print(text, end="")


def _benchmark(options: argparse.Namespace) -> None:
    import_quietly("dyna_td.benchmark").main(options.rest)
