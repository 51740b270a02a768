"""Each figure of the paper from its experiments/figure_N.yaml: train the runs, aggregate them, draw.

`snakemake figure_1` (scale quick), `snakemake figure_1 --config scale=paper`, `snakemake all_figures`; beyond the paper,
`snakemake what_to_use`, `when`, `goal`, `controls`, `sensitivity`, `rates`, `frozen`, `regression`.

A figure is drawn from aggregated curves, and curves come from runs. Some runs need a selected learning rate first.

Code is never an input: the digest of the sources behind a result is among the params, so a comment outdates no run.
PLAN reads experiments/ and knows all runs and figures.
"""

import os
import sys
from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

ROOT = Path(str(workflow.current_basedir))  # this file's folder, even if another workflow loads it as a module
sys.path.insert(0, f"{ROOT}/src")  # before any installed package

from dyna_td import __version__
from dyna_td.pipeline import snakefile
from dyna_td.pipeline.screen import Screen
from dyna_td.pipeline.snakefile import any_of, in_one_sentence
from dyna_td.plan import costs
from dyna_td.records import lock, sources
from dyna_td.records.sources import files_digest

os.environ.update(snakefile.environment())
PLAN = snakefile.plan_of(config)
SCALE = PLAN.scale
SCREEN = Screen.attach(PLAN, workflow)

DRAWING = [ROOT / "figures" / "draw.py", *sorted((ROOT / "figures" / "drawing").glob("*.py"))]  # all drawings share it


def published(figure):
    """The published curves, which a figure of another scale shows faintly."""
    return [] if SCALE == "paper" else ROOT.glob(f"reference/{figure}/curves.csv")


def drawn_from(figure):
    """Digests of a figure's YAML file, scripts and published curves, and of the code that the scripts import."""

    def digests(wildcards):
        scripts = [*ROOT.glob(f"figures/{figure}.py"), *DRAWING]
        imported = sources.digest(in_one_sentence(sources.imports, scripts), sources.PROJECT)
        return [files_digest([ROOT / f"experiments/{figure}.yaml", *scripts, *published(figure)]), imported]

    return digests


def marked(picture, caption):
    """The picture; once it and its caption exist, it is marked for `snakemake --report`."""
    is_shown = Path(picture).exists() and (ROOT / caption).exists()
    return report(picture, caption=caption, category=f"Scale {SCALE}") if is_shown else picture


# For --sdm apptainer; --config container=dyna_td.sif names another file or address.
container: config.get("container", f"docker-daemon:dyna_td:{__version__}")


onstart:
    in_one_sentence(snakefile.require_cores, workflow.cores)
    in_one_sentence(lock.hold)
    snakefile.remove_old_programs()
    SCREEN.start()


onsuccess:
    SCREEN.end()


onerror:
    SCREEN.stop()


wildcard_constraints:
    scale=SCALE,
    run=any_of(PLAN.runs),
    figure=any_of(PLAN.drawn),


rule all_figures:
    """Every figure of the paper."""
    default_target: True
    input:
        [PLAN.files(figure) for figure in PLAN.figures],


rule select_learning_rate:
    """Train each learning rate of a sweep on selection seeds, and choose one."""
    output:
        sweep="results/{scale}/runs/{run}.selection.csv",
        choice="results/{scale}/runs/{run}.selection.json",
    log:
        "results/{scale}/logs/{run}.selection.log",
    priority: lambda wildcards: costs.priority(PLAN, f"{wildcards.run}.selection")
    resources:
        mem_mb=lambda wildcards, attempt: costs.memory_mb(PLAN, f"{wildcards.run}.selection", attempt),
        runtime=lambda wildcards, attempt: costs.runtime(PLAN, f"{wildcards.run}.selection", attempt),
    params:
        runs=lambda wildcards: PLAN.sweep_asked(wildcards.run),
        rule=files_digest([ROOT / "src/dyna_td/plan/selection.py"]),
    shell:
        "exec python -m dyna_td select {wildcards.run} --scale {wildcards.scale} > {log} 2>&1"


rule train_run:
    """Train a run with its reported seeds."""
    input:
        learning_rate=lambda wildcards: PLAN.learning_rate_file(wildcards.run),
    output:
        records="results/{scale}/runs/{run}.csv",
        provenance="results/{scale}/runs/{run}.json",
    log:
        "results/{scale}/logs/{run}.log",
    wildcard_constraints:
        run=any_of(set(PLAN.runs) - PLAN.sampled_runs),
    priority: lambda wildcards: costs.priority(PLAN, wildcards.run)
    resources:
        mem_mb=lambda wildcards, attempt: costs.memory_mb(PLAN, wildcards.run, attempt),
        runtime=lambda wildcards, attempt: costs.runtime(PLAN, wildcards.run, attempt),
    params:
        run=lambda wildcards: PLAN.asked(wildcards.run),
    shell:
        "exec python -m dyna_td run {wildcards.run} --scale {wildcards.scale} > {log} 2>&1"


use rule train_run as train_sampled_run with:
    output:
        records="results/{scale}/runs/{run}.csv",
        provenance="results/{scale}/runs/{run}.json",
        states="results/{scale}/runs/{run}.states.csv",
    wildcard_constraints:
        run=any_of(PLAN.sampled_runs),


rule aggregate_figure:
    """Turn a figure's runs into curves: statistics over seeds at every evaluation."""
    input:
        runs=lambda wildcards: PLAN.run_files(wildcards.figure),
    output:
        curves="results/{scale}/{figure}/curves.csv",
        scores="results/{scale}/{figure}/scores.csv",
        repeats="results/{scale}/{figure}/repeats.csv",
    log:
        "results/{scale}/logs/{figure}.aggregate.log",
    wildcard_constraints:
        figure=any_of(set(PLAN.drawn) - PLAN.drawn_with_states),
    group:
        "drawing"
    params:
        panels=lambda wildcards: PLAN.drawn[wildcards.figure].as_plain_data(),
        code=lambda wildcards: sources.digest(["dyna_td.evidence.aggregate"], sources.PROJECT)
        + files_digest(published(wildcards.figure)),
    shell:
        "python -m dyna_td aggregate {wildcards.figure} --scale {wildcards.scale} > {log} 2>&1"


use rule aggregate_figure as aggregate_figure_with_states with:
    input:
        runs=lambda wildcards: PLAN.run_files(wildcards.figure),
        states=lambda wildcards: PLAN.states_files(wildcards.figure),
    output:
        curves="results/{scale}/{figure}/curves.csv",
        scores="results/{scale}/{figure}/scores.csv",
        repeats="results/{scale}/{figure}/repeats.csv",
        states="results/{scale}/{figure}/states.csv",
    wildcard_constraints:
        figure=any_of(PLAN.drawn_with_states),


# One's own study with a mistake stops only its own target.
for study, mistake in PLAN.refused.items():

    rule:
        name:
            study
        input:
            lambda wildcards, mistake=mistake: sys.exit(f"error: {mistake}"),


# For each figure and study, a target of its name and the rule that draws it.
for figure in PLAN.drawn:

    rule:
        name:
            figure
        input:
            PLAN.files(figure),

    rule:
        name:
            f"draw_{figure}"
        input:
            curves=f"results/{SCALE}/{figure}/curves.csv",
            repeats=f"results/{SCALE}/{figure}/repeats.csv",
            states=f"results/{SCALE}/{figure}/states.csv" if figure in PLAN.drawn_with_states else [],
        output:
            png=marked(f"results/{SCALE}/{figure}/{figure}.png", f"figures/captions/{figure}.rst"),
            pdf=f"results/{SCALE}/{figure}/{figure}.pdf",
        log:
            f"results/{SCALE}/logs/{figure}.plot.log",
        group:
            "drawing"
        params:
            script=lambda wildcards: f"{ROOT}/figures/draw.py",  # a function's text may have braces
            figure=figure,
            scale=SCALE,
            code=drawn_from(figure),
        shell:
            "python {params.script:q} {params.figure} --curves {input.curves} --scale {params.scale} --output {output.png} > {log} 2>&1"


rule refuse_target:
    """Catch an unknown figure or study, and end with one sentence."""
    input:
        lambda wildcards: in_one_sentence(PLAN.figure, wildcards.unknown),
    output:
        touch("{unknown}"),
    wildcard_constraints:
        unknown=r"\w+",
