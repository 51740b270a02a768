"""The Slurm profile: its resources reach every rule, and a real Slurm makes the same bytes as this machine alone."""

import importlib.util
import os
import re
import subprocess
import sys

import pytest
import single_node_slurm
import yaml

from dyna_td.pipeline.files import ROOT

PROFILE = ROOT / "profiles" / "slurm"
FIGURES = ("figure_7", "figure_9")  # closed forms, and sweeps with runs
# The test's Slurm keeps no accounts, so that its queue is what tells a job's state, and a short job is soon over.
WITHOUT_ACCOUNTS = ("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2")


def reason_to_skip():
    if lacking := single_node_slurm.missing():
        return f"Slurm is not installed ({', '.join(lacking)}): apt-get install munge slurm-wlm"
    if not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        return "snakemake-executor-plugin-slurm is not installed: pip install the extra `cluster`"
    return ""


def snakemake(folder, *arguments, environment=os.environ):
    """The finished Snakemake of this project with results in `folder`."""
    folder.mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *arguments]
    command += ["--config", "scale=smoke"]
    return subprocess.run(command, cwd=folder, env={**environment, "PYTHONPATH": path}, capture_output=True, text=True)


def tables(folder):
    """The bytes of every CSV of the results, by its place in them."""
    results = folder / "results"
    return {str(path.relative_to(results)): path.read_bytes() for path in results.rglob("*.csv")}


def test_every_job_on_a_cluster_has_one_core_memory_and_an_end(tmp_path):
    profile = yaml.safe_load((PROFILE / "config.yaml").read_text())
    assert profile.pop("executor") == "slurm"  # whose plugin is not installed everywhere
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(profile))
    dry_run = snakemake(tmp_path, "--dry-run", "--profile", str(tmp_path), "figure_5", "figure_9")
    assert dry_run.returncode == 0, dry_run.stderr
    jobs = re.findall(r"^ *rule (\w+):\n(?: +.*\n)*? +resources: (.*)$", dry_run.stdout, re.MULTILINE)
    rules = {rule for rule, found in jobs if "mem_mb=" in found and "runtime=" in found}
    assert rules >= {"select_learning_rate", "train_run", "train_sampled_run", "aggregate_figure", "draw_figure_9"}
    assert "threads:" not in dry_run.stdout and "exclusive" not in (PROFILE / "config.yaml").read_text()


@pytest.mark.thorough
@pytest.mark.slow(60)
@pytest.mark.timeout(1800)
@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip())
def test_a_real_slurm_makes_the_bytes_that_this_machine_makes_alone(tmp_path):
    alone = snakemake(tmp_path / "alone", *FIGURES)
    assert alone.returncode == 0, alone.stderr[-3000:]
    with single_node_slurm.running() as environment:
        arguments = ("--profile", str(PROFILE), *FIGURES, *WITHOUT_ACCOUNTS)
        through_slurm = snakemake(tmp_path / "slurm", *arguments, environment=environment)
    assert through_slurm.returncode == 0, through_slurm.stderr[-3000:]
    expected = tables(tmp_path / "alone")
    assert tables(tmp_path / "slurm") == expected and len(expected) == 2 + 6 + 6  # curves, runs, sweeps
    jobs = through_slurm.stderr.count("has been submitted with SLURM jobid")
    assert jobs == 2 + 6 + 6  # aggregating and drawing a figure are one job
