"""The Snakefile plans every figure, refuses others in one sentence, and runs all of them at the smoke scale."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from dyna_td.experiments import FIGURES_OF_THE_PAPER, load_plan

ROOT = Path(__file__).parents[2]
PLAN = load_plan("smoke")


@pytest.mark.parametrize("figure", PLAN.figures)
def test_every_figure_dry_runs(snakemake, figure):
    planned = snakemake("--dry-run", figure)
    assert planned.returncode == 0, planned.stderr
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", planned.stdout + planned.stderr, re.MULTILINE))
    runs = PLAN.figures[figure].runs
    assert int(jobs.get("train_run", 0)) == len(runs)
    assert int(jobs.get("select_learning_rate", 0)) == sum(bool(run.sweep) for run in runs)
    assert (jobs["aggregate_figure"], jobs[figure]) == ("1", "1")


def test_all_figures_train_a_shared_run_once(snakemake):
    planned = snakemake("--dry-run", "all_figures", "--config", "scale=paper")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", planned.stdout + planned.stderr, re.MULTILINE))
    assert int(jobs["train_run"]) == len(load_plan("paper").runs) == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["figure_3"], r"^error: figure_3 is not available yet: its agents are not built; available: figure_1, .*\.$"),
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


def test_a_refusal_does_not_lock_the_folder(snakemake):
    snakemake("figure_3")
    assert snakemake("figure_7", "--config", "scale=smoke").returncode == 0


def test_the_snakefile_passes_the_linter(snakemake):
    lint = snakemake("--lint")
    assert lint.returncode == 0, lint.stderr


def test_every_figure_of_the_plan_has_a_script_and_a_caption():
    assert set(PLAN.figures) <= set(FIGURES_OF_THE_PAPER)
    for figure in PLAN.figures:
        assert (ROOT / "figures" / f"{figure}.py").exists()
        assert (ROOT / "figures" / "captions" / f"{figure}.rst").exists()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_smoke_scale_draws_every_figure_and_then_has_nothing_to_do(snakemake, tmp_path):
    drawn = snakemake("all_figures", "--config", "scale=smoke")
    assert drawn.returncode == 0, drawn.stderr[-3000:]
    results = tmp_path / "results" / "smoke"
    for figure, declared in PLAN.figures.items():
        assert (results / figure / f"{figure}.png").stat().st_size > 10_000
        assert (results / figure / f"{figure}.pdf").stat().st_size > 5_000
        curves = pd.read_csv(results / figure / "curves.csv")
        shown = {(panel, curve) for panel, content in declared.panels.items() for curve in content.curves}
        assert shown <= set(zip(curves["panel"], curves["curve"], strict=True))
    for name, run in PLAN.runs.items():
        details = json.loads((results / "runs" / f"{name}.json").read_text())
        records = pd.read_csv(results / "runs" / f"{name}.csv")
        assert set(records["seed"]) == set(run.seeds) and records["step"].max() == run.steps
        assert details["settings"]["learning_rate"] == details["learning_rate_selection"]["learning_rate"]
        assert details["settings"]["learning_rate"] in run.sweep
        sweep = pd.read_csv(results / "runs" / f"{name}.selection.csv")
        assert set(sweep["learning_rate"]) == set(run.sweep) and not set(sweep["seed"]) & set(run.seeds)
    again = snakemake("--dry-run", "all_figures", "--config", "scale=smoke")
    assert "Nothing to be done" in again.stdout + again.stderr
    lost = results / "runs" / f"{name}.csv"
    lost.unlink()
    resumed = snakemake("--dry-run", str(lost.relative_to(tmp_path)), "--config", "scale=smoke")
    jobs = dict(re.findall(r"^(\w+) +(\d+)$", resumed.stdout + resumed.stderr, re.MULTILINE))
    assert jobs["train_run"] == "1" and "select_learning_rate" not in jobs
