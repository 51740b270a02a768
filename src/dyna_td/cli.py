"""The command line, `python -m dyna_td`: train by hand, or make one file of the pipeline's plan.

A mistake of the user is one sentence on standard error and exit status 2; Ctrl-C and other signals are 128 and more.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.evidence import claims, readings, scorecard
from dyna_td.pipeline import (
    aggregate,
    arguments,
    costs,
    interruption,
    metrics,
    plans,
    provenance,
    remedies,
    results,
    verify,
)
from dyna_td.pipeline.files import IS_CHECKOUT, ROOT, require_writable, write_whole
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.pipeline.scores import reader
from dyna_td.pipeline.selection import select_learning_rate
from dyna_td.pipeline.workplace import workplace
from dyna_td.playing import commands as playing
from dyna_td.playing.policy import Policy, path_beside
from dyna_td.publishing import commands as publishing
from dyna_td.publishing import reference
from dyna_td.settings import Run
from dyna_td.training.checkpoint import INTERVAL, Checkpoint
from dyna_td.training.progress import progress

ANYWHERE = ("train", "play")  # commands that an installed wheel has, without experiments/ and figures/


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command, by default that of this process, and returns its exit status."""
    words = sys.argv[1:] if words is None else words
    interruption.listen()
    try:
        arguments.adopt_own_agent(words)
        options = _parser().parse_args(words)
        if options.name_of_command not in ANYWHERE and not IS_CHECKOUT:
            raise UserError(
                f"`{options.name_of_command}` needs the project's checkout: clone its repository and install from "
                f"there; {' and '.join(ANYWHERE)} work anywhere."
            )
        options.command(options)
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader of the output has had enough, as `head` has
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that flushing it at the exit is silent, too
        return 141
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}; what was not finished is not written.", file=sys.stderr)
        return 2
    except KeyboardInterrupt as signal:
        print(
            "interrupted: what was not finished is not written; training goes on from its checkpoint.",
            file=sys.stderr,
        )
        return getattr(signal, "status", 130)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = arguments.Parser(
        prog="python -m dyna_td",
        description=__doc__.splitlines()[0],
        epilog="for maintainers, around the published results:",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)

    def add(name: str, function: Callable, text: str, **kwargs) -> argparse.ArgumentParser:
        if name in publishing.MAINTAINERS:  # argparse knows one group of commands
            parser.epilog += f"\n    {name:9} {text}"
        else:
            kwargs["help"] = text
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, description=description, allow_abbrev=False, **kwargs)
        command.set_defaults(command=function, name_of_command=name)
        return command

    plan = argparse.ArgumentParser(add_help=False)
    plan.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    plan.add_argument("--results", type=Path, default=results.DIRECTORY, help="folder that results are written to")
    _add_making_commands(add, plan)
    _add_telling_commands(add, plan)
    playing.add_commands(add)
    publishing.add_commands(add, plan)
    return parser


def _add_making_commands(add: Callable, plan: argparse.ArgumentParser) -> None:
    kept = argparse.ArgumentParser(add_help=False)
    text = f"seconds between checkpoints, from which a killed training goes on (default: {INTERVAL:.0f})"
    kept.add_argument("--checkpoint-every", type=arguments.seconds, default=INTERVAL, metavar="SECONDS", help=text)
    _add_train_options(add("train", _train, "train one agent by hand", parents=[kept]))
    run = add("run", _run, "train a run of the plan with its reported seeds", parents=[plan, kept])
    run.add_argument("name", help="the run's name, see `list`")
    text = "try a run's learning rates on selection seeds and choose one"
    select = add("select", _select, text, parents=[plan, kept])
    select.add_argument("name", help="the run's name, see `list`")
    curves = add("aggregate", _aggregate, "make a figure's curves.csv from its runs", parents=[plan])
    curves.add_argument("figure", help=f"figure_1, ..., {', '.join(plans.STUDIES)}")


def _add_telling_commands(add: Callable, plan: argparse.ArgumentParser) -> None:
    listed = add("list", _list, "list figures with their runs, agents, environments and metrics", parents=[plan])
    listed.add_argument("words", nargs="*", metavar="WORD", help="only lines with all of these words")
    text = "tell what figures take, in measured core-hours and memory"
    estimated = add("estimate", _estimate, text, parents=[plan])
    estimated.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all of the paper)")
    text = "cores to share the jobs among (default: 2)"
    estimated.add_argument("--cores", type=arguments.positive_integer, default=2, metavar="N", help=text)
    judged = add(
        "claims", _claims, "judge the paper's claims by the runs that are there; trains nothing", parents=[plan]
    )
    text = "judge by the published runs, all of the paper's scale"
    judged.add_argument("--reference", action="store_true", help=text)
    add("report", _report, "put figures, verdicts, costs and sources that are there on one page", parents=[plan])
    add("verify", _verify, "check finished results against their checksums and their runs", parents=[plan])


def _add_train_options(train: argparse.ArgumentParser) -> None:
    train.usage = "%(prog)s --env ID --agent NAME --output CSV [--seeds SEEDS] [--steps N] [--setting X ...]"
    train.formatter_class = argparse.RawDescriptionHelpFormatter
    train.epilog = (
        "examples:\n"
        "  python -m dyna_td train --env GridWorld --agent dyna_td --seeds 0-4 --steps 20000 --output td.csv\n"
        "  python -m dyna_td train --env LunarLander-v3 --agent er --learning-rate 1e-4 --output lander.csv"
    )
    environments = f"{', '.join(registry.ENVIRONMENTS)}, any other that Gymnasium can make, or module:id"
    train.add_argument("--env", required=True, metavar="ID", help=environments)
    agents = f"{', '.join(registry.AGENTS)}, or module:Class; "
    agents += f"on {registry.SUPERVISED_TASK}: {', '.join(registry.LEARNERS)}"
    train.add_argument("--agent", required=True, metavar="NAME", help=agents)
    train.add_argument("--output", required=True, type=Path, metavar="CSV", help="the results, a .csv file")
    train.add_argument("--seeds", type=arguments.seeds, default=(0,), help="0-19 or 0,3,7 (default: 0)")
    steps = "environment steps, or mini-batch updates of the supervised task (default: 50000)"
    train.add_argument("--steps", type=arguments.positive_integer, default=50_000, metavar="N", help=steps)
    every = "steps between two evaluations (default: 500)"
    train.add_argument("--evaluate-every", type=arguments.positive_integer, default=500, metavar="N", help=every)
    text = "write evaluations for TensorBoard, too, as they come; `pip install tensorboard` shows them"
    train.add_argument("--tensorboard", type=Path, metavar="DIR", help=text)
    arguments.add_settings(train)


def _train(options: argparse.Namespace) -> None:
    environment = registry.require_environment(options.env)
    agent = registry.require_agent(options.agent, environment)
    if options.output.suffix != ".csv":
        raise UserError(f"--output is {str(options.output)!r}, expected a name that ends in .csv.")
    run = Run(
        environment=environment,
        agent=agent,
        settings=arguments.settings(environment, agent, options),
        seeds=options.seeds,
        steps=options.steps,
        evaluate_every=options.evaluate_every,
    )
    _require_no_other_result(options.output, run)
    _train_and_write(run, options.output, {}, options)
    picture = options.output.with_suffix(".png")
    script = os.path.relpath(ROOT / "figures" / "runs.py")
    draw = f"; next: python {script} {options.output} --output {picture}" if IS_CHECKOUT else ""
    print(f"wrote {options.output}{draw}")


def _require_no_other_result(csv: Path, run: Run) -> None:
    """Refuses to overwrite a file that is not an earlier result of `run`."""
    if not csv.exists() or csv.with_suffix(".checkpoint").exists():  # a kill may leave a CSV before its JSON file
        return
    try:
        found = results.read_details(csv, "")
    except UserError:
        found = {}
    if any(found.get(key) != value for key, value in json.loads(json.dumps(asdict(run))).items()):
        what = found.get("run", "which is no training's")
        raise UserError(f"{csv} holds other results, {what}: name another --output, or delete it first.")


def _run(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    run = plan.run(options.name)
    selection = _read_selection(plan, run, options) if run.sweep else None
    trained = run.with_learning_rate(selection["learning_rate"]) if selection else run
    csv = results.run_csv(plan.scale, run.name, options.results)
    _train_and_write(trained, csv, {"run": run.name, "learning_rate_selection": selection}, options)


def _read_selection(plan: plans.Plan, run: Run, options: argparse.Namespace) -> dict:
    csv = results.selection_csv(plan.scale, run.name, options.results)
    rebuild = remedies.training(run.name, plan.scale, options.results, "select")
    _, details = results.read(csv, rebuild)
    selection = {key: details.get(key) for key in ("learning_rate", "scores", "metric", "rule", "seeds")}
    asked = list(plan.selection_runs(run)[0].seeds)
    if selection["learning_rate"] not in run.sweep or selection["seeds"] != asked:
        raise UserError(f"{csv} is not the sweep that the plan asks for; rebuild it with `{rebuild}`.")
    return selection


def _train_and_write(run: Run, csv: Path, facts: dict, options: argparse.Namespace) -> None:
    """Trains `run` and writes `csv`, with `facts` in its JSON file; says on standard error which seeds diverged."""
    for path in (csv, path_beside(csv)):
        require_writable(path)
    # Before the training: what is edited or committed meanwhile did not make these numbers.
    details = {**results.describe(run), **facts, **provenance.machine()}
    checkpoint = _checkpoint(csv, [run], details, options)
    trainer = import_quietly("dyna_td.training.trainer")
    events = None
    if folder := getattr(options, "tensorboard", None):
        events = import_quietly("dyna_td.training.tensorboard").Events(folder / csv.stem)

    with workplace(csv), progress(run.name) as show:

        def watch(records: pd.DataFrame) -> None:
            show.watch(records)
            if events:
                events.add(records)

        outcome = trainer.execute(run, show, checkpoint, watch)
    for seed, step in outcome.cost["diverged_seeds"].items():
        print(f"warning: seed {seed} diverged, first seen at step {step}; the others go on.", file=sys.stderr)
    remarks = list(outcome.cost["remarks"].values())
    if remarks:
        others = f" (and other seeds: {len(remarks) - 1})" if len(remarks) > 1 else ""
        print(f"warning: {remarks[0]}{others}; training went on.", file=sys.stderr)
    trained = Policy(details, outcome.weights) if outcome.weights else None
    results.write(csv, outcome.records, {**details, **outcome.cost}, outcome.states, trained)
    checkpoint.remove()


def _select(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    run = plan.run(options.name)
    candidates = plan.selection_runs(run)
    if not candidates:
        raise UserError(f"{run.name} has one learning rate, there is nothing to select.")
    csv = results.selection_csv(plan.scale, run.name, options.results)
    require_writable(csv)
    machine = provenance.machine()
    checkpoint = _checkpoint(csv, candidates, machine, options)
    trainer = import_quietly("dyna_td.training.trainer")
    with workplace(csv), progress(run.name) as show:
        outcomes = trainer.execute_sweep(candidates, show, checkpoint)
    sweep = pd.concat(
        outcome.records.assign(learning_rate=candidate.settings.learning_rate)
        for candidate, outcome in zip(candidates, outcomes, strict=True)
    )
    details = {**results.describe(run), "seeds": candidates[0].seeds, **select_learning_rate(run, sweep)}
    trainings = [outcome.cost for outcome in outcomes]
    numbers = [key for key, value in trainings[0].items() if isinstance(value, int | float)]
    cost = {key: sum(training[key] for training in trainings) for key in numbers}
    cost["peak_memory_mib"] = max(training["peak_memory_mib"] for training in trainings)
    results.write(csv, sweep, {**details, **cost, **machine})
    checkpoint.remove()


def _checkpoint(csv: Path, runs: list[Run], machine: dict, options: argparse.Namespace) -> Checkpoint:
    """The file from which the training of `csv` goes on; it belongs to these runs, this code, versions and CPU."""
    described = [results.describe(run) for run in runs]
    identity = {
        "settings": [{**run, "source_digest": None} for run in described],
        "source": described[0]["source_digest"],
        "versions": machine["versions"],
        "cpu": machine["cpu"],
        "format": 2,  # of its arrays: since 2, stacks have companions
    }
    return Checkpoint(csv.with_suffix(".checkpoint"), identity, options.checkpoint_every)


def _aggregate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figure = plan.figure(options.figure)
    output = results.curves_csv(plan.scale, figure.name, options.results)
    require_writable(output)

    def place(run: Run) -> tuple[Path, str]:
        rebuild = remedies.training(run.name, plan.scale, options.results)
        return results.run_csv(plan.scale, run.name, options.results), rebuild

    def read(run: Run) -> tuple[pd.DataFrame, dict]:
        csv, rebuild = place(run)
        return results.read_run(csv, run, rebuild)

    texts = {output: aggregate.curves_text(figure, read)}
    if figure.shows_states:
        texts[results.states_csv(output)] = aggregate.states_text(figure, lambda run: results.read_states(*place(run)))
    _write_texts(texts)


def _write_texts(texts: dict[Path, str]) -> None:
    for path, text in texts.items():
        with write_whole(path) as file:
            file.write(text)


def _verify(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    checked, faults = verify.faults(plan, options.results)
    if not checked:
        raise remedies.nothing_there("results", plan.scale, options.results)
    for fault in faults:
        print(f"error: {fault}", file=sys.stderr)
    if faults:
        raise UserError(f"{len(faults)} of the results at scale {plan.scale} are not what was written, or asked for.")
    print(f"files checked at scale {plan.scale}: {checked}, all as they were written.")


def _claims(options: argparse.Namespace) -> None:
    scale = scorecard.EVIDENCE_SCALE if options.reference else options.scale
    plan = plans.load_plan(scale)
    stated = claims.load_claims(plan)
    if options.reference:
        table, read = reference.claims_csv(), reference.reader()
    elif not (options.results / scale).is_dir():
        raise remedies.nothing_there("results", scale, options.results)
    else:
        table, read = results.claims_csv(scale, options.results), reader(scale, options.results)
    require_writable(table)
    card = scorecard.scorecard(stated, plan, read)
    others = readings.judged(readings.load_readings(plan, stated), plan, read)
    _write_texts({table: scorecard.as_csv(card), readings.beside(table): scorecard.as_csv(others)})
    for line in scorecard.lines(card, stated):
        print(line)
    print(f"{table}{_evidence(plan)}: {scorecard.count_words(card)}")
    steps = scorecard.next_steps(card, plan)
    if options.reference and steps:
        steps.append("then publish the finished figures: make reference")
    for line in steps:
        print(f"  {line}")


def _report(options: argparse.Namespace) -> None:
    from dyna_td.publishing import report  # with the libraries that only a page needs

    plan = plans.load_plan(options.scale)
    stated = claims.load_claims(plan)
    page = results.report_html(plan.scale, options.results)
    require_writable(page)
    content = report.collect(plan, stated, options.results)
    _write_texts({page: report.render(content)})
    ending = "; missing in it:" if content["missing"] else ": complete. Next: open it in a browser."
    print(f"wrote {page}{_evidence(plan)}{ending}")
    for what, command in content["missing"]:
        print(f"  {what}: {command or 'not available yet'}")


def _evidence(plan: plans.Plan) -> str:
    return "" if plan.scale == scorecard.EVIDENCE_SCALE else f" (scale {plan.scale}: no evidence)"


def _list(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    lines = [f"figures at scale {plan.scale}:"]
    for figure in plan.drawn.values():
        lines.append(f"  {figure.name}: {figure.title}")
        lines += [f"    {run.name} ({len(run.seeds)} seeds, {run.steps:,} steps)" for run in figure.runs]
    lines.append(f"environments: {', '.join(registry.ENVIRONMENTS)}; by hand any that Gymnasium can make")
    agents, learners = ", ".join(registry.AGENTS), ", ".join(registry.LEARNERS)
    lines += [f"agents: {agents}; on {registry.SUPERVISED_TASK}: {learners}", "metrics:"]
    lines += [f"  {name} [{metric.unit}]: {metric.meaning}" for name, metric in metrics.METRICS.items()]
    shown = [line for line in lines if all(word.lower() in line.lower() for word in options.words)]
    if not shown:
        raise UserError(f"no line has the words {' '.join(options.words)}: call `list` alone to see all of them.")
    print("\n".join(shown))


def _estimate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figures = [plan.figure(name) for name in dict.fromkeys(options.figures)] or list(plan.figures.values())
    print(f"scale {plan.scale}, as measured where each run was trained:")
    print(costs.as_text(plan, figures, options.cores, options.results))
