"""The commands `train`, `run` and `select`, which train."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd

from dyna_td import own_agents
from dyna_td.commands import arguments
from dyna_td.errors import UserError
from dyna_td.plan import finished, plans
from dyna_td.plan.planned import Plan, selection_runs
from dyna_td.records import beginnings, outputs, results
from dyna_td.records.files import IS_CHECKOUT, ROOT
from dyna_td.records.metrics import diverged_seeds
from dyna_td.runs import registry
from dyna_td.runs.run import Run
from dyna_td.training import job
from dyna_td.training.checkpoint import INTERVAL


def add_commands(add: Callable, scaled: argparse.ArgumentParser) -> None:
    """Adds the commands by `add(name, function, text)`; `scaled` has the option --scale, see `cli`."""
    kept = argparse.ArgumentParser(add_help=False)
    text = f"seconds between checkpoints; a killed training continues from the last one (default: {INTERVAL:.0f})"
    kept.add_argument(
        "--checkpoint-every", type=arguments.between(0, 1e9), default=INTERVAL, metavar="SECONDS", help=text
    )
    _add_train_options(add("train", _train, "train one agent by hand", parents=[kept]))
    for name, function, text in (
        ("run", _run, "train a run of the plan with its reported seeds"),
        ("select", _select, "try a run's learning rates on selection seeds and choose one"),
    ):
        command = add(name, function, text, parents=[scaled, kept])
        command.add_argument("name", help="the run's name, as `list figure_4` shows it")


def _add_train_options(train: argparse.ArgumentParser) -> None:
    train.usage = "%(prog)s --env ID --agent NAME --output CSV [--seeds SEEDS] [--steps N] [--setting X ...]"
    train.formatter_class = argparse.RawDescriptionHelpFormatter
    train.epilog = (
        "HC-Dyna: Algorithm 1. B_er: replay buffer. B_sc: queue of states. h: what chains climb. m: states a fill.\n"
        f"p*: the ideal distribution, in proportion to the absolute TD error.\n\nagents:\n{arguments.agents()}\n\n"
        "examples:\n"
        "  python -m dyna_td train --env GridWorld --agent dyna_td --seeds 0-4 --steps 20000 --output td.csv\n"
        "  python -m dyna_td train --env LunarLander-v3 --agent er --learning-rate 1e-4 --output lander.csv"
    )
    environments = f"{', '.join(registry.ENVIRONMENTS)}, any other that Gymnasium can make, or module:id"
    train.add_argument("--env", required=True, metavar="ID", help=environments)
    train.add_argument("--agent", required=True, metavar="NAME", help="one of those below, or module:Class")
    train.add_argument("--output", required=True, type=Path, metavar="CSV", help="the results, a .csv file")
    train.add_argument("--seeds", type=arguments.seeds, default=(0,), help="0-19 or 0,3,7 (default: 0)")
    steps = "environment steps, or mini-batch updates of the supervised task (default: 50000)"
    train.add_argument("--steps", type=arguments.positive_integer, default=50_000, metavar="N", help=steps)
    every = "steps between two evaluations (default: 500)"
    train.add_argument("--evaluate-every", type=arguments.positive_integer, default=500, metavar="N", help=every)
    text = "also write evaluations for TensorBoard during training; the extra `tensorboard` installs its program"
    train.add_argument("--tensorboard", type=Path, metavar="DIR", help=text)
    arguments.add_settings(train)


def _train(options: argparse.Namespace) -> None:
    environment, agent = options.env, own_agents.require_agent(options.agent, options.env)
    if options.output.suffix != ".csv":
        raise UserError(f"--output is {str(options.output)!r}, expected a name that ends in .csv.")
    sweep = arguments.sweep(environment, agent, options)  # removes the rates from the options
    run = Run(
        environment=environment,
        agent=agent,
        settings=arguments.settings(environment, agent, options),
        seeds=options.seeds,
        steps=options.steps,
        evaluate_every=options.evaluate_every,
        sweep=sweep,
    )
    events = outputs.events_of(options.tensorboard, options.output) if options.tensorboard else None
    facts = {}
    if run.sweep:
        facts["learning_rate_selection"] = choice = _choose_learning_rate(run, options)
        run = run.with_learning_rate(choice["learning_rate"])
    if outputs.require_own(options.output, run):
        done = f"{options.output} holds this training, finished; delete it to train again"
    else:
        job.train(run, options.output, facts, options.checkpoint_every, events)
        done = f"wrote {options.output}"
    picture = options.output.with_suffix(".png")
    script = os.path.relpath(ROOT / "figures" / "runs.py")
    command = shlex.join(["python", script, str(options.output), "--output", str(picture)])
    draw = f"; next: {command}" if IS_CHECKOUT else ""
    print(f"{done}{draw}")


def _choose_learning_rate(run: Run, options: argparse.Namespace) -> dict:
    """Sweeps the rates of `train` on as many seeds as are reported; returns the choice. Reads a finished sweep."""
    candidates = selection_runs(run, len(run.seeds))
    tried = replace(run, seeds=candidates[0].seeds)
    if set(tried.seeds) & set(run.seeds):
        raise UserError(
            f"seeds {tried.seeds[0]} to {tried.seeds[-1]} choose the learning rate: report others by --seeds."
        )
    csv = options.output.with_name(f"{options.output.stem}{results.SWEEP}.csv")
    is_there = outputs.require_own(csv, tried, candidates)
    refused = []  # checked before the sweep, because it takes long
    for rate in run.sweep:
        try:
            outputs.require_own(options.output, run.with_learning_rate(rate))
        except UserError as error:
            refused.append(error)
    if len(refused) == len(run.sweep):
        raise refused[0]
    if not is_there:
        job.sweep(tried, candidates, csv, options.checkpoint_every)
    details = _print_choice(csv)
    return {key: details[key] for key in _CHOICE}


def _run(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    run = plan.run(options.name)
    selection = _selection_of(plan, run) if run.sweep else None
    trained = run.with_learning_rate(selection["learning_rate"]) if selection else run
    csv = results.run_csv(plan.scale, run.name)
    facts = {"run": run.name, "learning_rate_selection": selection}
    job.train(trained, csv, facts, options.checkpoint_every)
    try:
        print(beginnings.read_and_repeat(plan.scale, run))
    except (UserError, OSError) as error:  # the results are whole: Snakemake would delete them if this failed
        print(f"warning: not compared with the published run: {error}", file=sys.stderr)


_CHOICE = ("learning_rate", "scores", "metric", "rule", "seeds")  # a run's JSON file keeps these of its sweep


def _selection_of(plan: Plan, run: Run) -> dict:
    """The choice of a swept learning rate, published or from the sweep of this plan."""
    if choice := plan.published_choice(run):
        return {**{key: choice.get(key) for key in _CHOICE}, "source": "the published sweep"}
    details = finished.read_sweep(plan, run)
    return {key: details[key] for key in _CHOICE}


def _select(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    run = plan.run(options.name)
    candidates = plan.selection_runs(run)
    if not candidates:
        raise UserError(f"{run.name} has one learning rate: there is nothing to select.")
    csv = results.run_csv(plan.scale, run.name + results.SWEEP)
    job.sweep(replace(run, seeds=candidates[0].seeds), candidates, csv, options.checkpoint_every)
    _print_choice(csv)


def _print_choice(csv: Path) -> dict:
    """Prints a sweep's choice, with the score of each rate; returns the JSON file's contents."""
    sweep, details = results.read(csv, "the same command, once it is deleted")
    for line in choice_in_words(details, sweep):
        print(f"  {line}")
    return details


def choice_in_words(details: dict, sweep: pd.DataFrame) -> list[str]:
    """A line for each rate of a sweep with `details`: its score, its diverged seeds, and whether it is chosen."""
    scores = {float(rate): score for rate, score in details["scores"].items()}
    diverged = {rate: len(diverged_seeds(rows)) for rate, rows in sweep.groupby("learning_rate")}
    lines = []
    for name, (rate, score) in zip(details["scores"], scores.items(), strict=True):
        words = "not finite" if score is None else f"{score:.4g}"
        if count := diverged[rate]:
            words += f", {count} seed{'s' if count > 1 else ''} diverged"
        if rate == details["learning_rate"]:
            equals = [other for other in scores if scores[other] == score and bool(diverged[other]) == bool(count)]
            words += " (chosen, the largest of equals)" if len(equals) > 1 else " (chosen)"
        lines.append(f"learning rate {name}: mean {details['metric']} {words}")
    return lines
