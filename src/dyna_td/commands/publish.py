"""The commands around the published results: `restore` for users, the others for maintainers."""

import argparse
import sys
from collections.abc import Callable

from dyna_td.commands.judge import judge
from dyna_td.errors import UserError, require_choice
from dyna_td.evidence.scorecard import as_csv
from dyna_td.pages.facts import Facts
from dyna_td.plan import plans
from dyna_td.publishing import store
from dyna_td.records import lock, published, results
from dyna_td.records.files import ROOT, import_figure, write


def add_commands(add: Callable) -> None:
    """Adds these commands by `add(name, function, text, parents=...)`; see `cli`."""
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all)")
    add("restore", _restore, "copy published runs back into the results, so that they are not trained again")
    text = "for maintainers: check and publish finished figures, and store the other finished runs"
    add("reference", _reference, text, parents=[named])
    add("gallery", _gallery, "for maintainers: draw the published pictures from the published tables", parents=[named])
    text = "for maintainers: judge the published runs, and write the generated parts of README.md and docs/"
    add("readme", _readme, text)


def _reference(options: argparse.Namespace) -> None:
    plan = plans.load_plan(published.SCALE)
    store.require_committed()
    for figure in [plan.figure(name) for name in options.figures] or plan.drawn.values():
        csvs = [results.run_csv(plan.scale, run.name) for run in figure.runs]
        lacks = sum(not csv.exists() for csv in csvs)
        if lacks and not options.figures:
            rebuild = f"make {figure.name} SCALE={plan.scale}"
            print(f"{figure.name} lacks {lacks} of {len(csvs)} runs, which `{rebuild}` trains.")
            continue
        store.publish(plan, figure, results.DIRECTORY, published.HERE)
        print(store.draw(plan, figure.name, published.HERE, published.HERE).parent)
    if not options.figures:
        kept, refused = store.keep(plan, plan.runs.values(), results.DIRECTORY, published.HERE)
        for sentence in refused:
            print(f"left out: {sentence}")
        print(f"{len(kept)} finished runs are stored, which `make restore` brings back.")


def _restore(options: argparse.Namespace) -> None:
    plan = plans.load_plan(published.SCALE)
    lock.require_free()
    back = store.restore(plan, published.HERE, results.DIRECTORY)
    for sentence in back.left_out:
        print(f"left out: {sentence}")
    if back.aside:
        print(f"{len(back.aside)} files that differed are replaced and kept, for example {back.aside[0]}.")
    print(f"{len(back.runs)} runs are back in {results.DIRECTORY / plan.scale}.")
    print(f"next: make report SCALE={plan.scale}, or make all-figures SCALE={plan.scale}; neither trains them again.")
    print("Does this CPU repeat them? make figure_2 trains beginnings of two, and compares.")
    for sentence in back.damaged:
        print(f"error: {sentence}", file=sys.stderr)
    if back.damaged:
        raise UserError(f"{len(back.damaged)} of the stored runs are damaged and did not come back.")


def _gallery(options: argparse.Namespace) -> None:
    published.require_published()
    plan = plans.load_plan(published.SCALE)
    there = [name for name in plan.drawn if name in published.figures(published.HERE)]
    for figure in [require_choice(name, there, "published figure") for name in options.figures] or there:
        print(store.draw(plan, figure, published.HERE, published.HERE))


def _readme(options: argparse.Namespace) -> None:
    from dyna_td.pages import markdown  # imported here: only pages need its libraries
    from dyna_td.publishing import summary

    facts = Facts()
    judge(facts)
    for picture in ("scorecard", "benchmarks", "dials"):
        import_figure(picture).draw(facts, published.HERE / f"{picture}.png")
    markdown.fill(facts)
    write(ROOT / "reference" / "summary.csv", as_csv(summary.summary(facts, list(facts.plan.drawn.values()))))
    for number, verdict in facts.verdicts.items():
        finding = facts.findings.get(number)
        if finding and finding["verdict"] != verdict:
            print(f"claim {number} is {verdict}, but its finding explains {finding['verdict']}: the pages omit it.")
        elif not finding and verdict in ("contradicted", "undecided"):
            print(f"claim {number} is {verdict}: explain it by a finding in experiments/findings.yaml.")
