"""The commands `aggregate`, `claims`, `report` and `compare`, which read the results of training."""

import argparse
from collections.abc import Callable
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence import aggregate, comparison, readings, scorecard
from dyna_td.evidence.labels import DIFFERENCES
from dyna_td.pages.facts import Facts
from dyna_td.plan import plans
from dyna_td.plan.planned import Plan
from dyna_td.records import beginnings, published, results
from dyna_td.records.files import import_figure, write

OWN_PICTURE = b"figures/runs.py"  # a PNG of this script names it as its source


def add_commands(add: Callable, scaled: argparse.ArgumentParser) -> None:
    """Adds the commands by `add(name, function, text)`; `scaled` has the option --scale, see `cli`."""
    curves = add("aggregate", _aggregate, "make a figure's curves.csv from its runs", parents=[scaled])
    curves.add_argument("figure", help=f"figure_1, ..., {', '.join(plans.STUDIES)}")
    text = "judge the paper's claims by the finished runs; trains nothing"
    command = add("claims", _claims, text, parents=[scaled])
    text = "judge by the published runs, all of the paper's scale"
    command.add_argument("--reference", action="store_true", help=text)
    add("report", _report, "judge, and put figures, verdicts, costs and sources on one page", parents=[scaled])
    text = "compare two trainings; or finished runs with the published numbers, digit by digit"
    compared = add("compare", _compare, text, parents=[scaled])
    text = "two CSVs of trainings; or figures, figure_1, ... (default: all finished figures)"
    compared.add_argument("names", nargs="*", metavar="CSV or FIGURE", help=text)
    text = (
        "where the picture of two trainings goes (default: both names joined, beside the first that is not published)"
    )
    compared.add_argument("--output", type=Path, metavar="PNG", help=text)


def _aggregate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    for path, text in aggregate.finished_tables(plan.figure(options.figure), plan.scale).items():
        write(path, text)


def _claims(options: argparse.Namespace) -> None:
    if options.reference:
        published.require_published()
    judge(Facts() if options.reference else Facts(options.scale))


def judge(facts: Facts) -> None:
    """Writes claims.csv, readings.csv and the picture of the benchmarks' comparisons, and prints the verdicts."""
    folder = results.DIRECTORY / facts.scale if facts.scale else published.HERE
    plan, verdicts = facts.judged_plan, list(facts.judged.values())
    table, others = folder / "claims.csv", readings.as_table(facts.readings)
    write(table, scorecard.as_csv(scorecard.as_table(verdicts)))
    write(folder / "readings.csv", scorecard.as_csv(others))
    import_figure(DIFFERENCES).draw(facts, folder / f"{DIFFERENCES}.png")
    for line in scorecard.lines(verdicts):
        print(line)
    print(f"{table}{_evidence(plan)}: {scorecard.count_words(verdicts)}")
    steps = scorecard.next_steps(verdicts, plan)
    if steps and not facts.scale:
        steps.append("then publish the finished figures: make reference")
    for line in steps:
        print(f"  {line}")


def _report(options: argparse.Namespace) -> None:
    from dyna_td.pages import report  # imported here: only pages need its libraries

    facts = Facts(options.scale)
    judge(facts)
    page = results.DIRECTORY / facts.scale / "report.html"
    made = report.report(facts)
    write(page, made.html)
    ending = "; missing in it:" if made.missing else ": complete. Next: open it in a browser."
    print(f"wrote {page}{_evidence(facts.judged_plan)}{ending}")
    for what, command in made.missing:
        print(f"  {what}: {command}")


def _compare(options: argparse.Namespace) -> None:
    csvs = [Path(name) for name in options.names if name.endswith(comparison.ENDINGS)]
    if csvs and not len(csvs) == len(options.names) == 2:
        raise UserError(f"`compare {' '.join(options.names)}`: expected two CSVs of trainings, or figures alone.")
    if csvs:
        _compare_trainings(csvs, options.output)
        return
    if options.output:
        raise UserError("--output names the picture of two trainings: name two CSVs, or leave it out.")
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
    if not picture:
        own = [csv.parent for csv in csvs if published.DIRECTORY not in csv.resolve().parents]
        names = [*map(results.stem, csvs)]
        if len({*names}) < len(names):  # published runs of two agents with the same settings
            names = [csv.parent.name for csv in csvs]
        picture = next(iter(own), results.DIRECTORY) / f"{'-'.join(names)}.png"
        picture.parent.mkdir(parents=True, exist_ok=True)
        taken = [path for path in (picture, picture.with_suffix(".pdf")) if path.exists()]
        if taken and not (picture.exists() and OWN_PICTURE in picture.read_bytes()):
            raise UserError(f"{taken[0]} is there, and no picture of `compare`: name the picture by --output.")
    import_figure("runs").draw_runs(csvs, picture, title=f"{lines[0]} {lines[-1]}")
    print("\n".join([*lines, f"wrote {picture}"]))


def _evidence(plan: Plan) -> str:
    return "" if plan.scale == published.SCALE else f" (scale {plan.scale}: no evidence)"
