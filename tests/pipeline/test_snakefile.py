"""The Snakefile plans every figure, refuses others in one sentence, and runs all of them at the smoke scale."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter

import pandas as pd
import pytest
import yaml
from files import python

from dyna_td.errors import UserError
from dyna_td.pipeline import snakefile
from dyna_td.plan.plans import load_plan
from dyna_td.records.files import ROOT
from dyna_td.records.results import beside, run_csv

PLAN = load_plan("smoke")


def planned_jobs(dry_run):
    """How many jobs of each rule a dry run would start."""
    assert dry_run.returncode == 0, dry_run.stderr
    table = re.findall(r"^(\w+) +(\d+)$", dry_run.stdout + dry_run.stderr, re.MULTILINE)
    return Counter({rule: int(count) for rule, count in table})


def test_a_cluster_trains_each_shared_run_once_with_the_memory_and_time_that_was_measured(snakemake, tmp_path):
    text = (ROOT / "profiles" / "slurm" / "config.yaml").read_text()
    profile, plan = yaml.safe_load(text), load_plan("paper")
    assert profile.pop("executor") == "slurm"  # its plugin may not be installed
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(profile))
    words = ("--profile", str(tmp_path), "--resources", "mem_mb=100000", "--config", "scale=paper")
    dry_run = snakemake("--dry-run", "all_figures", *words)
    jobs = planned_jobs(dry_run)
    states = sum(bool(figure.runs_with_states) for figure in plan.figures.values())
    assert jobs["train_run"] + jobs["train_sampled_run"] == len(plan.figure_runs)
    assert jobs["train_sampled_run"] == len(plan.sampled_runs & set(plan.figure_runs))
    assert jobs["select_learning_rate"] == sum(bool(run.sweep) for run in plan.figure_runs.values())
    assert (jobs["aggregate_figure_with_states"], jobs["aggregate_figure"]) == (states, 14 - states)
    resources = re.findall(r"resources: .*mem_mb=(\d+).*runtime=(\d+)", dry_run.stdout)
    assert len(resources) == jobs["total"] and len(set(resources)) > 50
    memory, minutes = (max(map(int, each)) for each in zip(*resources, strict=True))
    assert 3000 < memory < 9000
    assert 100 < minutes < 1000  # without a measurement a job would get 1,470 minutes
    assert "threads:" not in dry_run.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["contrlos"], r"^error: unknown figure 'contrlos': did you mean 'controls'?.*\.$"),
        (["figure_99"], r"^error: unknown figure 'figure_99': .*choose one of figure_1, .*\.$"),
        (["figure_8", "--cores", "0", "--config", "scale=smoke"], r"^error: --cores is 0, .*\.$"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_sentence(snakemake, arguments, sentence):
    refused = snakemake(*arguments)
    assert refused.returncode != 0
    lines = [line for line in refused.stderr.splitlines() if "error" in line.lower()]
    assert len(lines) == 1 and re.match(sentence, lines[0])
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("place", ["results/quick/runs", "results/quick/figure_8"])
def test_a_file_in_the_place_of_a_folder_of_results_is_refused(tmp_path, place):
    plan = load_plan("quick")
    snakefile.require_folders(tmp_path / "results", plan)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).touch()
    with pytest.raises(UserError, match=f"{place} is a file"):
        snakefile.require_folders(tmp_path / "results", plan)


def test_each_start_of_a_machine_has_a_folder_of_programs_and_a_persons_flags_stay(tmp_path, monkeypatch):
    monkeypatch.delenv("XLA_FLAGS", raising=False)
    option, folder, boot = "--tf_xla_persistent_cache_directory=", tmp_path / "programs", tmp_path / "boot_id"
    monkeypatch.setattr(snakefile, "_BOOT", boot)
    cases = [("1", ""), ("2", ""), ("1", f"{option}{folder}/elsewhere"), ("1", "--debug"), ("1", f"{option}/my/own")]
    found = []
    for boot_id, given in cases:
        boot.write_text(boot_id)
        monkeypatch.setenv("TF_XLA_FLAGS", given)
        found.append(snakefile.xla_flags(folder))
    first, second, moved, debugging, own = found
    assert first.startswith(f"{option}{folder}/") and second != first == moved
    assert debugging.startswith(f"--debug {option}{folder}/") and own == f"{option}/my/own"


def test_programs_are_kept_for_a_week_and_a_file_among_them_is_no_mistake(tmp_path, monkeypatch):
    monkeypatch.setattr(snakefile, "PROGRAMS", tmp_path)
    for name in ("old/1", "used/1", "used/2", "file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    for name in ("old/1", "used/1"):
        os.utime(tmp_path / name, (0, 0))
    snakefile.remove_old_programs()
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} == {"used", "used/2", "file"}


@pytest.mark.slow(10)
def test_in_a_folder_with_odd_signs_a_second_pipeline_is_refused_and_a_killed_one_goes_on_by_its_command(tmp_path):
    clone = tmp_path / "a {clone}"
    clone.mkdir()
    for name in ("Snakefile", "src", "envs", "experiments", "figures", "profiles"):
        (clone / name).symlink_to(ROOT / name)
    command = ("-m", "snakemake", "figure_7", "--config", "scale=smoke")
    options = {"cwd": clone, "env": {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}}
    first = subprocess.Popen([sys.executable, *command], **options, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        lock = clone / ".snakemake" / "pipeline.lock"
        while not (lock.exists() and lock.read_text()):
            assert first.poll() is None
            time.sleep(0.02)
        os.kill(first.pid, signal.SIGSTOP)  # keeps it at work as long as the test needs
        refused = python(*command, **options)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()
    said = refused.stdout + refused.stderr
    sentence = f"another pipeline is at work in this folder (process {first.pid} on "
    assert refused.returncode and said.count(sentence) == 1 and "Traceback" not in said
    drawn = python(*command, **options)
    assert drawn.returncode == 0, drawn.stderr
    assert (clone / "results" / "smoke" / "figure_7" / "figure_7.png").exists()


# A run with a sweep, a run with states and a figure of closed forms reach most rules; `make smoke` draws all figures.
SWEPT = PLAN.figures["figure_9"].panels["a"].curves["l2"]
SAMPLED = PLAN.figures["figure_2"].panels["b"].curves["prioritized_er"]


@pytest.mark.slow(60)
@pytest.mark.timeout(1800)
def test_the_smoke_scale_makes_runs_and_a_figure_and_makes_anew_what_is_lost_and_nothing_else(snakemake, tmp_path):
    csvs = [run_csv("smoke", run.name) for run in (SWEPT, SAMPLED)]
    targets = ("figure_7", *map(str, csvs), "--config", "scale=smoke")
    done = snakemake(*targets)
    assert done.returncode == 0, done.stderr[-3000:]
    for run, csv in zip((SWEPT, SAMPLED), csvs, strict=True):
        records = pd.read_csv(tmp_path / csv)
        assert set(records["seed"]) == set(run.seeds) and records["step"].max() == run.steps
    assert set(pd.read_csv(tmp_path / beside(csvs[1], "states.csv"))["source"]) == {"own", "buffer"}
    details = json.loads((tmp_path / csvs[0]).with_suffix(".json").read_text())
    assert details["settings"]["learning_rate"] == details["learning_rate_selection"]["learning_rate"]
    assert 1 < details["core_seconds"] < 600

    picture = tmp_path / "results" / "smoke" / "figure_7" / "figure_7.pdf"
    assert picture.stat().st_size > 5_000
    picture.unlink()
    (tmp_path / csvs[0]).unlink()
    jobs = planned_jobs(snakemake("--dry-run", *targets))
    assert jobs == {"draw_figure_7": 1, "figure_7": 1, "train_run": 1, "total": 3}
