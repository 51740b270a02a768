"""The command line, `python -m dyna_td`: trains and plays agents, and makes each file of the pipeline's plan.

A mistake of the user is one sentence on standard error and exit status 2; Ctrl-C and other signals are 128 and more.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from dyna_td import registry
from dyna_td.commands import arguments, play, publish, train
from dyna_td.errors import UserError
from dyna_td.evidence import aggregate, claims, comparison, readings, scorecard
from dyna_td.evidence.scores import published_reader, reader
from dyna_td.plan import costs, plans
from dyna_td.plan.planned import Plan
from dyna_td.records import beginnings, metrics, published, results
from dyna_td.records.files import IMPORTS, IS_CHECKOUT, ROOT, write_whole
from dyna_td.training import interruption

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
        place = " ".join(getattr(signal, "__notes__", [])) or "the beginning"
        print(f"stopped at {place}; the same command goes on there.", file=sys.stderr)
        return getattr(signal, "status", 130)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = arguments.Parser(
        prog="python -m dyna_td",
        description=(__doc__ or "").partition("\n")[0],  # `python -OO` has none
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)

    def add(name: str, function: Callable, text: str, **kwargs) -> argparse.ArgumentParser:
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text, description=description, allow_abbrev=False, **kwargs)
        command.set_defaults(command=function, name_of_command=name)
        return command

    scaled = argparse.ArgumentParser(add_help=False)
    scaled.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    train.add_commands(add, scaled)  # train, run and select
    _add_commands(add, scaled)
    play.add_commands(add)
    publish.add_commands(add)
    return parser


def _add_commands(add: Callable, scaled: argparse.ArgumentParser) -> None:
    curves = add("aggregate", _aggregate, "make a figure's curves.csv from its runs", parents=[scaled])
    curves.add_argument("figure", help=f"figure_1, ..., {', '.join(plans.STUDIES)}")
    text = "compare two trainings; or finished runs with the published numbers, digit by digit"
    compared = add("compare", _compare, text, parents=[scaled])
    text = "two CSVs of trainings; or figures, figure_1, ... (default: all figures that are there)"
    compared.add_argument("names", nargs="*", metavar="CSV or FIGURE", help=text)
    text = "the picture of two trainings (default: their names joined, in this folder)"
    compared.add_argument("--output", type=Path, metavar="PNG", help=text)
    listed = add("list", _list, "list figures with their runs, agents, environments and metrics", parents=[scaled])
    listed.add_argument(
        "words", nargs="*", metavar="WORD", help="all lines with these words, also runs and the meaning of metrics"
    )
    text = "tell what figures take, in measured core-hours and memory"
    estimated = add("estimate", _estimate, text, parents=[scaled])
    estimated.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all of the paper)")
    text = "cores to share the jobs among (default: 2)"
    estimated.add_argument("--cores", type=arguments.positive_integer, default=2, metavar="N", help=text)
    judged = add(
        "claims", _claims, "judge the paper's claims by the runs that are there; trains nothing", parents=[scaled]
    )
    text = "judge by the published runs, all of the paper's scale"
    judged.add_argument("--reference", action="store_true", help=text)
    add("report", _report, "put figures, verdicts, costs and sources that are there on one page", parents=[scaled])


def _aggregate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figure = plan.figure(options.figure)
    _write_texts(aggregate.tables(figure, plan.scale))


def _write_texts(texts: dict[Path, str]) -> None:
    for path, text in texts.items():
        with write_whole(path) as file:
            file.write(text)


def _claims(options: argparse.Namespace) -> None:
    scale = published.SCALE if options.reference else options.scale
    plan = plans.load_plan(scale)
    stated = claims.load_claims(plan)
    if options.reference:
        table, read = published.HERE / "claims.csv", published_reader()
    else:
        table, read = results.DIRECTORY / scale / "claims.csv", reader(scale)
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
    from dyna_td.pages import report  # with the libraries that only a page needs

    plan = plans.load_plan(options.scale)
    page = results.DIRECTORY / plan.scale / "report.html"
    made = report.report(plan)
    _write_texts({page: made.html})
    ending = "; missing in it:" if made.missing else ": complete. Next: open it in a browser."
    print(f"wrote {page}{_evidence(plan)}{ending}")
    for what, command in made.missing:
        print(f"  {what}: {command}")


def _compare(options: argparse.Namespace) -> None:
    csvs = [Path(name) for name in options.names if name.endswith(comparison.ENDINGS)]
    if csvs and not len(csvs) == len(options.names) == 2:
        raise UserError(f"`compare {' '.join(options.names)}`: expected two CSVs of trainings, or figures alone.")
    if csvs:
        _compare_trainings(csvs, options.output)
        return
    plan = plans.load_plan(options.scale)
    figures = [plan.figure(name) for name in dict.fromkeys(options.names)] or plan.drawn.values()
    seen = 0
    for figure in figures:
        there = [run for run in figure.runs if results.run_csv(plan.scale, run.name).exists()]
        if repeats := [beginnings.read_and_repeat(plan.scale, run) for run in there]:
            print("\n".join(beginnings.lines(figure.name, repeats, in_full=True)))
        seen += len(there)
    if not seen:
        remedy = f"make some, for example with `make figure_1 SCALE={plan.scale}`"
        raise UserError(f"{results.DIRECTORY / plan.scale} holds no finished runs: {remedy}.")


def _compare_trainings(csvs: list[Path], picture: Path | None) -> None:
    lines = comparison.compare(csvs)
    print("\n".join(lines))
    picture = picture or Path(f"{'-'.join(csv.name.partition('.csv')[0] for csv in csvs)}.png")
    script, paths = str(ROOT / "figures" / "runs.py"), map(str, csvs)
    command = [sys.executable, script, *paths, "--title", f"{lines[0]} {lines[-1]}", "--output", str(picture)]
    done = subprocess.run(command, env=os.environ | IMPORTS, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise UserError(done.stderr.strip().removeprefix("error: "))
    print(f"wrote {picture}")


def _evidence(plan: Plan) -> str:
    return "" if plan.scale == published.SCALE else f" (scale {plan.scale}: no evidence)"


def _list(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    heading = f"figures at scale {plan.scale}; `list figure_4` has its runs, `list return` explains metrics:"
    lines, details = [], []
    for figure in plan.drawn.values():
        lines.append(f"  {figure.name}: {figure.title} (runs: {len(figure.runs)})")
        details += [f"  {figure.name} {run.name} ({len(run.seeds)} seeds, {run.steps:,} steps)" for run in figure.runs]
    details += [f"  {name} [{metric.unit}]: {metric.meaning}" for name, metric in metrics.METRICS.items()]
    lines.append(f"environments: {', '.join(registry.ENVIRONMENTS)}; by hand any that Gymnasium can make")
    lines.append(f"agents: {', '.join(registry.AGENTS)}")
    lines.append(f"agents on {registry.SUPERVISED_TASK}: {', '.join(registry.LEARNERS)}")
    lines.append(f"metrics: {', '.join(metrics.METRICS)}")
    if not options.words:
        print("\n".join([heading, *lines]))
        return
    found = [line for line in lines + details if all(word.lower() in line.lower() for word in options.words)]
    if not found:
        raise UserError(f"no line has the words {' '.join(options.words)}: call `list` alone for an overview.")
    print("\n".join(found))


def _estimate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figures = [plan.figure(name) for name in dict.fromkeys(options.figures)] or list(plan.figures.values())
    print(f"scale {plan.scale}, as measured or, from published runs, estimated:")
    print(costs.as_text(plan, figures, options.cores))
