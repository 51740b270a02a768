"""The Snakefile plans every figure, refuses others in one sentence, and runs all of them at the smoke scale."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from dyna_td.pipeline.plans import FIGURES_OF_THE_PAPER, load_plan

ROOT = Path(__file__).parents[2]
PLAN = load_plan("smoke")


def planned_jobs(dry_run):
    """How many jobs of each rule a dry run would start."""
    assert dry_run.returncode == 0, dry_run.stderr
    table = re.findall(r"^(\w+) +(\d+)$", dry_run.stdout + dry_run.stderr, re.MULTILINE)
    return Counter({rule: int(count) for rule, count in table})


@pytest.mark.parametrize("figure", PLAN.figures)
def test_every_figure_dry_runs(snakemake, figure):
    jobs = planned_jobs(snakemake("--dry-run", figure, "--config", "scale=paper"))
    plan = load_plan("paper")
    declared = plan.figures[figure]
    assert jobs["train_run"] + jobs["train_sampled_run"] == len(declared.runs)
    assert jobs["train_sampled_run"] == sum(run.name in plan.sampled_runs for run in declared.runs)
    assert jobs["select_learning_rate"] == sum(bool(run.sweep) for run in declared.runs)
    aggregation = "aggregate_figure_with_states" if declared.shows_states else "aggregate_figure"
    assert (jobs[aggregation], jobs[figure]) == (1, 1)


def test_all_figures_train_a_shared_run_once(snakemake):
    jobs = planned_jobs(snakemake("--dry-run", "all_figures", "--config", "scale=paper"))
    assert jobs["train_run"] + jobs["train_sampled_run"] == len(load_plan("paper").runs) == 104


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure_99"], r"^error: unknown figure 'figure_99': .*choose one of figure_1, .*\.$"),
        (["figure_1", "--config", "scale=papr"], r"^error: unknown scale 'papr': did you mean 'paper'\? .*\.$"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(snakemake, arguments, sentence):
    refused = snakemake(*arguments)
    assert refused.returncode != 0
    lines = [line for line in refused.stderr.splitlines() if "error" in line.lower()]
    assert len(lines) == 1 and re.match(sentence, lines[0])
    assert "Traceback" not in refused.stderr


def test_a_refusal_does_not_lock_the_folder_and_a_start_tells_what_it_will_take(snakemake):
    assert "estimate:" not in snakemake("figure_99").stderr
    drawn = snakemake("figure_7", "--config", "scale=smoke")
    assert drawn.returncode == 0
    told = re.findall(r"^estimate: about .* in 2 jobs, .*: figure_7\.(?:plot|aggregate)$", drawn.stderr, re.MULTILINE)
    assert len(told) == 1


@pytest.mark.slow(5)
def test_a_clone_in_a_folder_with_a_space_draws_and_uses_its_own_code(tmp_path):
    clone = tmp_path / "a clone"
    clone.mkdir()
    for name in ("Snakefile", "environment.yaml", "src", "envs", "experiments", "figures", "profiles"):
        (clone / name).symlink_to(ROOT / name)
    command = [sys.executable, "-m", "snakemake", "figure_7", "--config", "scale=smoke"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    drawn = subprocess.run(command, cwd=clone, env=environment, capture_output=True, text=True)
    assert drawn.returncode == 0, drawn.stderr
    assert (clone / "results" / "smoke" / "figure_7" / "figure_7.png").exists()


@pytest.mark.slow(5)
def test_without_its_claims_a_clone_draws_all_the_same(tmp_path, experiments_copy):
    (experiments_copy / "claims.yaml").unlink()
    for name in ("environment.yaml", "src", "envs", "figures", "profiles"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "Snakefile", tmp_path)
    command = [sys.executable, "-m", "snakemake", "--dry-run", "figure_7", "--config", "scale=smoke"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    planned = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert planned.returncode == 0, planned.stderr


@pytest.mark.parametrize("lost", ["curves.csv", "figure_7.pdf"])
def test_a_file_of_a_figure_that_was_deleted_is_made_again(snakemake, tmp_path, lost):
    assert snakemake("figure_7", "--config", "scale=smoke").returncode == 0
    path = tmp_path / "results" / "smoke" / "figure_7" / lost
    path.unlink()
    assert snakemake("figure_7", "--config", "scale=smoke").returncode == 0
    assert path.stat().st_size > 1_000


def test_the_snakefile_passes_the_linter(snakemake):
    lint = snakemake("--lint")
    assert lint.returncode == 0, lint.stderr


def test_every_figure_of_the_plan_has_a_caption():
    assert set(PLAN.figures) <= set(FIGURES_OF_THE_PAPER)
    for figure in PLAN.figures:
        assert (ROOT / "figures" / "captions" / f"{figure}.rst").exists()


# Figures whose smoke scale reaches every rule and every kind of run; `make smoke` draws the others too.
SMOKE = ("figure_2", "figure_3", "figure_7", "figure_11")


@pytest.mark.slow(120)
@pytest.mark.timeout(1800)
def test_the_smoke_scale_draws_figures_and_then_has_nothing_to_do(snakemake, tmp_path):
    drawn = snakemake(*SMOKE, "--config", "scale=smoke")
    assert drawn.returncode == 0, drawn.stderr[-3000:]
    results = tmp_path / "results" / "smoke"
    for figure in SMOKE:
        declared = PLAN.figures[figure]
        assert (results / figure / f"{figure}.png").stat().st_size > 10_000
        assert (results / figure / f"{figure}.pdf").stat().st_size > 5_000
        curves = pd.read_csv(results / figure / "curves.csv")
        shown = {(panel, curve) for panel, content in declared.panels.items() for curve in content.curves}
        assert shown <= set(zip(curves["panel"], curves["curve"], strict=True))
        assert (results / figure / "states.csv").exists() == declared.shows_states
    for name, run in {run.name: run for figure in SMOKE for run in PLAN.figures[figure].runs}.items():
        details = json.loads((results / "runs" / f"{name}.json").read_text())
        records = pd.read_csv(results / "runs" / f"{name}.csv")
        assert set(records["seed"]) == set(run.seeds) and records["step"].max() == run.steps
        if run.sweep:
            assert details["settings"]["learning_rate"] == details["learning_rate_selection"]["learning_rate"]
            assert details["settings"]["learning_rate"] in run.sweep
            sweep = pd.read_csv(results / "runs" / f"{name}.selection.csv")
            assert set(sweep["learning_rate"]) == set(run.sweep) and not set(sweep["seed"]) & set(run.seeds)
    again = snakemake("--dry-run", *SMOKE, "--config", "scale=smoke")
    assert "Nothing to be done" in again.stdout + again.stderr
    lost = results / "runs" / f"{name}.csv"
    assert run.sweep
    lost.unlink()
    jobs = planned_jobs(snakemake("--dry-run", str(lost.relative_to(tmp_path)), "--config", "scale=smoke"))
    assert jobs["train_run"] == 1 and not jobs["select_learning_rate"]
