"""The commands around the published results: `compare` and `restore` for users, the others for maintainers."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from dyna_td.errors import UserError, require_choice
from dyna_td.evidence.scorecard import EVIDENCE_SCALE, as_csv
from dyna_td.pipeline import arguments, lock, plans, remedies, results
from dyna_td.pipeline.files import ROOT, write_whole
from dyna_td.publishing import comparison, gallery, handover, reference, restamp, store

MAINTAINERS = {  # these commands, for a group of their own in `--help`
    "reference": "publish finished figures, after checking all of them, and store the finished runs of the others",
    "restamp": "show that changed code makes the same numbers, and keep the finished runs",
    "gallery": "draw the published pictures from the published tables",
    "readme": "write the generated parts of README.md and docs/ from the published results",
}


def add_commands(add: Callable, plan: argparse.ArgumentParser) -> None:
    """Adds these commands by `add(name, function, text, parents=...)`; see `cli`."""
    named = argparse.ArgumentParser(add_help=False)
    named.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all that are there)")

    def maintain(name: str, function: Callable, *parents: argparse.ArgumentParser) -> argparse.ArgumentParser:
        return add(name, function, MAINTAINERS[name], parents=list(parents))

    add("compare", _compare, "hold fresh curves against the published ones", parents=[plan, named])
    maintain("reference", _reference, named)
    text = "bring published runs back to the results, so that nothing finished is trained again"
    back = add("restore", _restore, text)
    text = "those too that other sources made, for restamp to look at"
    back.add_argument("--outdated", action="store_true", help=text)
    maintain("gallery", _gallery, named)
    maintain("readme", _readme)
    stamped = maintain("restamp", _restamp, plan)
    stamped.add_argument("--every-run", action="store_true", help="compare each run, not one of each kind")
    text = "trainings at a time (default: all cores)"
    stamped.add_argument("--cores", type=arguments.positive_integer, metavar="N", help=text)


def _reference(options: argparse.Namespace) -> None:
    plan = plans.load_plan(EVIDENCE_SCALE)
    store.require_committed()
    for figure in [plan.figure(name) for name in options.figures] or plan.drawn.values():
        csvs = [results.run_csv(plan.scale, run.name) for run in figure.runs]
        lacks = sum(not csv.exists() for csv in csvs)
        if lacks and not options.figures:
            rebuild = f"make {figure.name} SCALE={plan.scale}"
            print(f"{figure.name} lacks {lacks} of {len(csvs)} runs, which `{rebuild}` trains.")
            continue
        store.publish(plan, figure, results.DIRECTORY, reference.DIRECTORY)
        print(gallery.draw(figure.name, reference.DIRECTORY, reference.DIRECTORY).parent)
    if not options.figures:
        kept = store.keep(plan, plan.all_runs.values(), results.DIRECTORY, reference.DIRECTORY)
        print(f"{len(kept)} finished runs are stored, which `make restore` brings back.")


def _restore(options: argparse.Namespace) -> None:
    plan = plans.load_plan(EVIDENCE_SCALE)
    lock.require_free()
    back = store.restore(plan, reference.DIRECTORY, results.DIRECTORY, options.outdated)
    for sentence in (*back.outdated, *back.left_out):
        print(f"left out: {sentence}")
    print(f"{len(back.runs)} runs are back in {results.DIRECTORY / plan.scale}.")
    print(f"next: make report SCALE={plan.scale}, or make all-figures SCALE={plan.scale}; neither trains them again.")
    if back.outdated:
        print("those come back with --outdated; `make restamp SCALE=paper` then keeps the ones that still hold.")
    for sentence in back.damaged:
        print(f"error: {sentence}", file=sys.stderr)
    if back.damaged:
        raise UserError(f"{len(back.damaged)} of the stored runs are damaged and did not come back.")


def _gallery(options: argparse.Namespace) -> None:
    there = reference.require_published()
    figures = [require_choice(name, there, "published figure") for name in options.figures] or there
    for png in gallery.draw_all(figures):
        print(png)


def _readme(options: argparse.Namespace) -> None:
    from dyna_td.publishing import pages, report, summary  # with the libraries that only pages need
    from dyna_td.publishing.facts import Facts

    pages.fill()
    facts = Facts()
    texts = {
        report.PAGE: report.published(facts.plan),
        Path("reference") / "summary.csv": as_csv(summary.summary(list(facts.plan.drawn.values()), ROOT / "reference")),
    }
    for path, text in texts.items():
        with write_whole(ROOT / path) as file:
            file.write(text)
    for number, verdict in facts.verdicts.items():
        finding = facts.findings.get(number)
        if finding and finding.verdict != verdict:
            print(f"claim {number} is {verdict}, but its finding explains {finding.verdict}: it is left out.")
        elif not finding and verdict in ("contradicted", "undecided"):
            print(f"claim {number} is {verdict}: a finding in experiments/findings.yaml would explain it.")


def _compare(options: argparse.Namespace) -> None:
    plan, paper = (plans.load_plan(scale) for scale in (options.scale, EVIDENCE_SCALE))
    published = reference.require_published()
    figures = [require_choice(plan.figure(name).name, published, "published figure") for name in options.figures]
    if not figures:
        figures = [name for name in published if results.curves_csv(plan.scale, name).exists()]
    if not figures:
        raise UserError(
            f"no figure of {results.DIRECTORY / plan.scale} is published in {reference.DIRECTORY}: "
            f"make one first, for example `make figure_1 SCALE={plan.scale}`."
        )
    table = comparison.compare(plan, paper, figures, results.DIRECTORY, reference.DIRECTORY)
    output = results.DIRECTORY / plan.scale / "compare.csv"
    with write_whole(output) as file:
        file.write(as_csv(table))
    print(comparison.as_text(table))
    others = comparison.other_machines(plan, figures, results.DIRECTORY, reference.DIRECTORY)
    if others:
        print(f"the published runs had {others}: that alone can change last digits, and so what comes after them.")
    counts = ", ".join(f"{count} {verdict}" for verdict, count in table["verdict"].value_counts().items())
    print(f"{output}: {counts}")


def _restamp(options: argparse.Namespace) -> None:
    lock.require_free()
    plan = plans.load_plan(options.scale)
    current, outdated, left_out = restamp.survey(plan, results.DIRECTORY)
    if not (current or outdated or left_out):
        raise remedies.nothing_there("runs", plan.scale)
    for sentence in left_out:
        print(f"left out: {sentence}")
    witness_of = restamp.sample(outdated)
    if options.every_run:
        witness_of = {made.run.name: made for made in outdated}
    witnesses = list({made.run.name: made for made in witness_of.values()}.values())
    stamped = []
    try:
        for witness, fact in restamp.confirm(witnesses, options.cores):
            print(f"{witness.run.name}: the same numbers up to step {fact['last_step']:,}", flush=True)
            kind = [made for made in outdated if witness_of[made.run.name].run.name == witness.run.name]
            for made in kind:
                restamp.stamp(made, fact)
            stamped += kind
    finally:  # what is stamped stays so, and the next restamp goes on with the others
        handover.tell_snakemake(plan.scale, [*current, *stamped], results.DIRECTORY)
    print(f"{len(stamped)} runs stamped after comparing {len(witnesses)}, {len(current)} were current.")
