"""Each figure of the paper from its experiments/figure_N.yaml: train the runs, aggregate them, draw.

`snakemake figure_1` (scale quick), `snakemake figure_1 --config scale=paper`, `snakemake all_figures`; beyond the paper,
`snakemake controls`, `sensitivity`, `rates` and `frozen`, which are no part of all_figures.
What is run stands in experiments/, how in src/dyna_td/. Code is never an input: a digest of the code that can change a
result is among the params instead, so a comment or another agent's file makes nothing outdated.
"""

import hashlib
import os
import re
import sys
from pathlib import Path

sys.path[:0] = [f"{workflow.basedir}/src", f"{workflow.basedir}"]  # whatever else is installed

from dyna_td import __version__, registry
from dyna_td.errors import UserError
from dyna_td.pipeline import code_digest, lock, plans, program_cache, results

ROOT = Path(workflow.basedir)
SCALE = str(config.get("scale", "quick"))
# Jobs use this very Python and this very code, whatever the shell that Snakemake was called from, and each other's
# compiled programs.
os.environ.update(
    PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.getenv('PATH')}",
    PYTHONPATH=f"{ROOT / 'src'}{os.pathsep}{ROOT}",
    TF_XLA_FLAGS=program_cache.flags(),
)


def in_one_sentence(function, *arguments):
    """What `function` returns; a mistake that it finds ends Snakemake with the sentence that tells it."""
    try:
        return function(*arguments)
    except UserError as error:
        sys.exit(f"error: {error}")


PLAN = in_one_sentence(plans.load_plan, SCALE, ROOT / "experiments")


def run_of(wildcards):
    """What a run is asked to do, and the digest of the code that does it."""
    return results.describe(PLAN.all_runs[wildcards.run])


def candidates_of(wildcards):
    """What the runs of a sweep are asked to do: one for each learning rate, on selection seeds."""
    return [results.describe(run) for run in PLAN.selection_runs(PLAN.all_runs[wildcards.run])]


def learning_rate_of(wildcards):
    """The file that names a run's learning rate, if its rate is swept."""
    csv = results.selection_csv(SCALE, wildcards.run)
    return results.provenance_json(csv) if PLAN.all_runs[wildcards.run].sweep else []


def longest_first(wildcards):
    """A job's priority: a long one that starts last would leave the other cores idle."""
    return registry.work(PLAN.all_runs[wildcards.run])


def runs_of(wildcards):
    """The results that a figure shows."""
    return [results.run_csv(SCALE, run.name) for run in PLAN.drawn[wildcards.figure].runs]


def states_of(wildcards):
    """The sampled states that a figure shows."""
    return [results.states_csv(results.run_csv(SCALE, run.name)) for run in PLAN.drawn[wildcards.figure].sampled_runs]


def files_of(figure):
    """All that a figure leaves behind, so that a file that was deleted is made again."""
    runs = PLAN.drawn[figure].runs
    csvs = [results.run_csv(SCALE, run.name) for run in runs]
    csvs += [results.selection_csv(SCALE, run.name) for run in runs if run.sweep]
    pictures = [f"results/{SCALE}/{figure}/{figure}.{kind}" for kind in ("png", "pdf")]
    return [*pictures, results.curves_csv(SCALE, figure), *csvs, *map(results.provenance_json, csvs)]


def what_is_there(wildcards):
    """A digest of what is asked and what there is of it. No run is an input: nothing is trained for a verdict."""
    asked = {name: results.describe(run) for name, run in PLAN.all_runs.items()}
    files = {name: results.provenance_json(results.run_csv(SCALE, name)) for name in asked}
    there = {name: file.read_text() for name, file in files.items() if file.exists()}
    return hashlib.sha256(repr((asked, there)).encode()).hexdigest()


def any_of(names):
    """A wildcard's pattern: one of `names`, or nothing at all if there are none."""
    return "|".join(map(re.escape, names)) or "(?!)"


def refuse(wildcards):
    """Says in one sentence why a figure cannot be drawn."""
    in_one_sentence(PLAN.figure, f"figure_{wildcards.unknown}")


DRAWING = sorted(path for path in (ROOT / "figures").glob("*.py") if path.stem not in PLAN.drawn)
DRAWING += [ROOT / "envs" / "grid_world.py", ROOT / "envs" / "roundabout.py"]  # what drawings show


def drawing_of(figure):
    """The files that a figure's picture depends on, beside its tables."""
    own = [ROOT / "figures" / f"{figure}.py", ROOT / "experiments" / f"{figure}.yaml"]
    return [path for path in own if path.exists()] + DRAWING


CLAIMS = [ROOT / "experiments" / f"{name}.yaml" for name in ("claims", "readings")]
SHOWING_STATES = {name for name, figure in PLAN.drawn.items() if figure.shows_states}


container: f"docker-daemon:dyna_td:{__version__}"  # built from the Dockerfile; used with --sdm apptainer


def tell_estimate():
    """Says in one line what the jobs that are about to start will take, if that can be told."""
    from dyna_td.pipeline import costs
    from dyna_td.pipeline import estimate# with SciPy's solver, which jobs and dry runs need not wait for

    files = {Path(str(job.benchmark)) for job in workflow.dag.needrun_jobs() if job.benchmark}
    jobs = [str(file.relative_to(f"results/{SCALE}/benchmarks").with_suffix("")) for file in files]
    try:
        line = estimate.announcement(PLAN, jobs, estimate.CostModel(costs.read_table()))
    except UserError as error:
        line = f"no estimate: {error}"
    if line:
        print(line, file=sys.stderr)


onstart:
    in_one_sentence(lock.hold)
    program_cache.remove_old()
    tell_estimate()


wildcard_constraints:
    scale=SCALE,
    run=any_of(PLAN.all_runs),
    figure=any_of(PLAN.drawn),


rule all_figures:
    """Every figure of the paper."""
    default_target: True
    input:
        [files_of(figure) for figure in PLAN.figures],


rule select_learning_rate:
    """Train each learning rate of a sweep on selection seeds, and choose one."""
    output:
        sweep="results/{scale}/runs/{run}.selection.csv",
        choice="results/{scale}/runs/{run}.selection.json",
    log:
        "results/{scale}/logs/{run}.selection.log",
    benchmark:
        "results/{scale}/benchmarks/{run}.selection.tsv"
    priority: longest_first
    params:
        runs=candidates_of,
        rule=code_digest.code_digest(("dyna_td.pipeline.selection:select_learning_rate",)),
    conda:
        "environment.yaml"
    shell:
        "python -m dyna_td select {wildcards.run} --scale {wildcards.scale} > {log} 2>&1"


rule train_run:
    """Train a run with its reported seeds."""
    wildcard_constraints:
        run=any_of(set(PLAN.all_runs) - PLAN.sampled_runs),
    input:
        learning_rate=learning_rate_of,
    output:
        records="results/{scale}/runs/{run}.csv",
        provenance="results/{scale}/runs/{run}.json",
    log:
        "results/{scale}/logs/{run}.log",
    benchmark:
        "results/{scale}/benchmarks/{run}.tsv"
    priority: longest_first
    params:
        run=run_of,
    conda:
        "environment.yaml"
    shell:
        "python -m dyna_td run {wildcards.run} --scale {wildcards.scale} > {log} 2>&1"


use rule train_run as train_sampled_run with:
    wildcard_constraints:
        run=any_of(PLAN.sampled_runs),
    output:
        records="results/{scale}/runs/{run}.csv",
        provenance="results/{scale}/runs/{run}.json",
        states="results/{scale}/runs/{run}.states.csv",


rule aggregate_figure:
    """Turn a figure's runs into curves: statistics over seeds at every evaluation."""
    wildcard_constraints:
        figure=any_of(set(PLAN.drawn) - SHOWING_STATES),
    input:
        runs=runs_of,
    output:
        curves="results/{scale}/{figure}/curves.csv",
    log:
        "results/{scale}/logs/{figure}.aggregate.log",
    benchmark:
        "results/{scale}/benchmarks/{figure}.aggregate.tsv"
    params:
        panels=lambda wildcards: PLAN.drawn[wildcards.figure].as_plain_data(),
        code=code_digest.code_digest(("dyna_td.pipeline.aggregate:curves_text", "dyna_td.pipeline.aggregate:states_text")),
    group:
        "drawing"
    conda:
        "environment.yaml"
    shell:
        "python -m dyna_td aggregate {wildcards.figure} --scale {wildcards.scale} > {log} 2>&1"


use rule aggregate_figure as aggregate_figure_with_states with:
    wildcard_constraints:
        figure=any_of(SHOWING_STATES),
    input:
        runs=runs_of,
        states=states_of,
    output:
        curves="results/{scale}/{figure}/curves.csv",
        states="results/{scale}/{figure}/states.csv",


rule claims:
    """Judge the paper's claims by the results that are there; what is missing is not run, and not trained."""
    output:
        table=f"results/{SCALE}/claims.csv",
        readings=f"results/{SCALE}/readings.csv",
        text=f"results/{SCALE}/claims.md",
    log:
        f"results/{SCALE}/logs/claims.log",
    benchmark:
        f"results/{SCALE}/benchmarks/claims.tsv"
    params:
        scale=SCALE,
        results=what_is_there,
        # One that is missing is told of by the command, and keeps no figure from being drawn.
        claims=[hashlib.sha256(path.read_bytes()).hexdigest() for path in CLAIMS if path.exists()],
        code=code_digest.code_digest(("dyna_td.evidence.readings:judged", "dyna_td.evidence.scorecard:scorecard")),
    conda:
        "environment.yaml"
    shell:
        "python -m dyna_td claims --scale {params.scale} > {log} 2>&1"


# The targets that people name, figures and studies, and what draws each of them.
for figure in PLAN.drawn:

    rule:
        name:
            figure
        input:
            files_of(figure),

    rule:
        name:
            f"draw_{figure}"
        input:
            curves=f"results/{SCALE}/{figure}/curves.csv",
            states=f"results/{SCALE}/{figure}/states.csv" if figure in SHOWING_STATES else [],
        output:
            png=report(
                f"results/{SCALE}/{figure}/{figure}.png",
                caption=f"figures/captions/{figure}.rst",
                category=f"Scale {SCALE}",
            ),
            pdf=f"results/{SCALE}/{figure}/{figure}.pdf",
        log:
            f"results/{SCALE}/logs/{figure}.plot.log",
        benchmark:
            f"results/{SCALE}/benchmarks/{figure}.plot.tsv"
        params:
            script=f"{ROOT}/figures/draw.py",
            figure=figure,
            scale=SCALE,
            code=code_digest.files_digest(drawing_of(figure)),
        group:
            "drawing"
        conda:
            "environment.yaml"
        shell:
            "python {params.script:q} {params.figure} --curves {input.curves} --scale {params.scale} --output {output.png} > {log} 2>&1"


rule refuse_figure:
    """Any other name of a figure is refused in one sentence."""
    input:
        refuse,
    output:
        touch("figure_{unknown}"),
