"""The commands around the published results: reference, restore, gallery, readme, compare and restamp."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dyna_td.errors import UserError, require_choice
from dyna_td.evidence import claims, findings, readings, scorecard
from dyna_td.evidence.scorecard import EVIDENCE_SCALE
from dyna_td.pipeline import finished, lock, plans, provenance, remedies, results
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.publishing import comparison, gallery, marked_text, reference, restamp, store


def add_commands(add: Callable, plan: argparse.ArgumentParser) -> None:
    """Adds these commands by `add(name, function, text, parents=...)`; see `cli`."""
    place = argparse.ArgumentParser(add_help=False)
    place.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all that are there)")
    place.add_argument("--reference", type=Path, default=reference.DIRECTORY, help="folder of the published results")
    text = "publish finished figures, after checking all of them, and store the finished runs of the others"
    add("reference", _reference, text, parents=[plan, place])
    text = "bring published and stored runs back to the results, so that nothing finished is trained again"
    back = add("restore", _restore, text, parents=[plan])
    back.add_argument("--reference", type=Path, default=reference.DIRECTORY, help="folder of the published results")
    back.add_argument(
        "--outdated", action="store_true", help="those too that other sources made, for restamp to look at"
    )
    text = "draw the published pictures from the published tables"
    drawn = add("gallery", _gallery, text, parents=[place])
    drawn.add_argument("--output", type=Path, help="folder for the pictures (default: where they are published)")
    text = "show the published figures and the claims judged by them as tables in Markdown"
    told = add("readme", _readme, text)
    told.add_argument("--reference", type=Path, default=reference.DIRECTORY, help="folder of the published results")
    told.add_argument("--experiments", type=Path, default=plans.DIRECTORY, help="folder of the YAML files")
    told.add_argument("--write", type=Path, metavar="FILE", help="put them between the file's marks")
    add("compare", _compare, "hold fresh curves against the published ones", parents=[plan, place])
    text = "show that changed code makes the same numbers, and keep the finished runs"
    stamped = add("restamp", _restamp, text)
    stamped.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    stamped.add_argument("--results", type=Path, default=results.DIRECTORY, help="folder of the results")
    stamped.add_argument("--every-run", action="store_true", help="compare each run, not one of those that are alike")
    text = "folder of a checkout of the sources that made the runs: where numbers differ, it is asked for its own"
    stamped.add_argument("--against", type=Path, metavar="CHECKOUT", help=text)
    stamped.add_argument("--cores", type=_cores, metavar="N", help="trainings at a time (default: all cores)")


def _cores(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 1000:
        raise argparse.ArgumentTypeError(f"expected a number of cores such as 2, not {text!r}")
    return int(text)


def _reference(options: argparse.Namespace) -> None:
    plan = _published_plan(options)
    reference.require_committed()
    figures = [plan.figure(name) for name in options.figures] or _complete_figures(plan, options)
    for figure in figures:
        reference.publish(plan, figure, options.results, options.reference)
        print(gallery.draw(figure.name, options.reference, options.reference).parent)
    runs = [run for figure in figures for run in figure.runs] if options.figures else plan.all_runs.values()
    kept = store.keep(plan, dict.fromkeys(runs), options.results, options.reference)
    print(f"{len(kept)} finished runs are stored, which `make restore` brings back.")


def _restore(options: argparse.Namespace) -> None:
    plan = _published_plan(options)
    home = restamp.require_pipelines_folder(options.results)
    lock.require_free()
    back = store.restore(plan, options.reference, options.results, options.outdated)
    for name in back.outdated:
        print(f"left out: {name} was made by other sources than those that are here.")
    for sentence in back.left_out:
        print(f"left out: {sentence}")
    elsewhere = "" if home == Path.cwd() else f", for `snakemake --directory {home}`"
    print(f"{len(back.runs)} runs are back in {options.results / plan.scale}{elsewhere}.")
    if back.outdated:
        print(
            "those of other sources come back with --outdated; `make restamp SCALE=paper` then keeps what still holds."
        )
    for sentence in back.damaged:
        print(f"error: {sentence}", file=sys.stderr)
    if back.damaged:
        raise UserError(f"{len(back.damaged)} of the stored runs are damaged and did not come back.")


def _published_plan(options: argparse.Namespace) -> plans.Plan:
    """The plan of the scale whose results are published, if it is the one that is asked for."""
    if options.scale != EVIDENCE_SCALE:
        raise UserError(
            f"scale is {options.scale}, but only results of scale {EVIDENCE_SCALE} are published: "
            f"add --scale {EVIDENCE_SCALE}."
        )
    return plans.load_plan(options.scale, options.experiments)


def _complete_figures(plan: plans.Plan, options: argparse.Namespace) -> list[plans.Figure]:
    """The figures of which every run, or without runs every curve, is there; of the others it says what is missing."""
    complete = []
    for figure in plan.drawn.values():
        lacks = [run for run in figure.runs if not results.run_csv(plan.scale, run.name, options.results).exists()]
        rebuild = f"make {figure.name} SCALE={plan.scale}"
        if lacks:
            print(f"{figure.name} lacks {len(lacks)} of {len(figure.runs)} runs, which `{rebuild}` trains.")
        elif not figure.runs and not results.curves_csv(plan.scale, figure.name, options.results).exists():
            print(f"{figure.name} is not drawn yet, which `{rebuild}` does.")
        else:
            complete.append(figure)
    return complete


def _gallery(options: argparse.Namespace) -> None:
    there = reference.require_published(options.reference)
    figures = [require_choice(name, there, "published figure") for name in options.figures] or there
    for png in gallery.draw_all(figures, options.reference, options.output):
        print(png)


def _readme(options: argparse.Namespace) -> None:
    from dyna_td.publishing import readme

    plan = plans.load_plan(EVIDENCE_SCALE, options.experiments)
    stated = claims.load_claims(plan, options.experiments)
    found = findings.load_findings([claim.number for claim in stated], options.experiments)
    judged = reference.claims_csv(options.reference)
    card = scorecard.read_card(judged, stated, "make readme")
    others = readings.load_readings(plan, stated, options.experiments)
    table = readings.read_table(readings.beside(judged), others, "make readme")
    parts = {
        readme.GALLERY: readme.gallery(plan, stated, card, options.reference),
        readme.CLAIMS: readme.judged_claims(plan, stated, card, found, options.reference),
        readme.READINGS: readme.other_readings(card, table),
    }
    if options.write:
        marked_text.replace(options.write, parts)
        for sentence in readme.open_findings(card, found):
            print(sentence)
    else:
        print("\n".join(parts.values()), end="")


def _compare(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale, options.experiments)
    figures = [plan.figure(name).name for name in options.figures]
    if not figures:
        there = [name for name in plan.drawn if results.curves_csv(plan.scale, name, options.results).exists()]
        figures = [name for name in there if name in reference.published(options.reference)]
    if not figures:
        raise UserError(
            f"no figure of {options.results / plan.scale} is published in {options.reference}: "
            f"make one first, for example `make figure_1 SCALE={plan.scale}`."
        )
    table = comparison.compare(plan, figures, options.results, options.reference)
    output = results.compare_csv(plan.scale, options.results)
    with write_whole(output) as file:
        table.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
    print(comparison.as_text(table))
    counts = ", ".join(f"{count} {verdict}" for verdict, count in table["verdict"].value_counts().items())
    print(f"{output}: {counts}")


def _restamp(options: argparse.Namespace) -> None:
    restamp.require_pipelines_folder(options.results)
    lock.require_free()
    if options.against and not (options.against / "src" / "dyna_td").is_dir():
        raise UserError(
            f"--against is {options.against}, expected a checkout of this project: make one, for example with "
            f"`git worktree add {options.against} COMMIT`."
        )
    plan = plans.load_plan(options.scale)
    found = restamp.survey(plan, options.results)
    if not (found.current or found.outdated or found.left_out):
        raise remedies.nothing_there("runs", plan.scale, options.results)
    for sentence in found.left_out:
        print(f"left out: {sentence}")
    witness_of = restamp.sample(found.outdated)
    if options.every_run:
        witness_of = {made.run.name: made for made in found.outdated}
    witnesses = list({made.run.name: made for made in witness_of.values()}.values())
    quietly = partial(import_quietly, "dyna_td.training.trainer")
    differing, older = [], None
    for made, difference in restamp.first_differences(witnesses, quietly, options.cores):
        if difference and not options.against:
            raise UserError(f"{difference}; nothing is stamped{_other_machine(made.table.details)}.")
        if difference:
            differing.append(made)
        print(_compared(made, "other" if difference else "the same"), flush=True)
    if differing:
        older = restamp.Older(options.against.absolute(), plan.scale, options.results)
        compared = restamp.first_differences(differing, quietly, options.cores, older.first_difference)
        for made, difference in compared:
            if difference:
                raise UserError(f"{difference}; nothing is stamped.")
            print(f"{_compared(made, 'the same')} as {options.against} makes here", flush=True)
    commit_of = {made.run.name: provenance.commit(older.checkout) for made in differing}
    for made in found.outdated:
        witness = witness_of[made.run.name].run
        restamp.stamp(made, witness, commit_of.get(witness.name))
    restamp.tell_snakemake(plan.scale, [*found.current, *found.outdated], options.results)
    print(f"{len(found.outdated)} runs stamped after comparing {len(witnesses)}, {len(found.current)} were current.")


def _compared(made: finished.Finished, numbers: str) -> str:
    return f"{made.run.name}: {numbers} numbers up to step {restamp.last_step(made.run):,}"


def _other_machine(details: dict) -> str:
    """What differs between the machine of a result and this one, to be told where numbers differ."""
    here = provenance.machine()
    facts = {"cpu": (details.get("cpu"), here["cpu"])}
    facts |= {name: (version, here["versions"].get(name)) for name, version in details.get("versions", {}).items()}
    differing = [f"{name} {there} there, {mine} here" for name, (there, mine) in facts.items() if there != mine]
    return f" ({'; '.join(differing)}: that alone can change them)" if differing else ""
