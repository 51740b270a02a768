"""One pipeline at a time in a folder; one that was killed is in nobody's way."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dyna_td.publishing import handover

ROOT = Path(__file__).parents[2]
NEEDED = ("Makefile", "Snakefile", "environment.yaml", "envs", "experiments", "figures", "profiles", "src")
SENTENCE = "error: another pipeline is at work in this folder (process {} on "


@pytest.fixture
def project(tmp_path):
    """A copy of the project, in which a test starts pipelines."""
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def start(project):
    """Starts a command in the project; what it started is gone after the test."""
    started = []

    def start(*command):
        process = subprocess.Popen(
            command,
            cwd=project,
            env=handover.environment(project),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        process.stdout.close()


def make(figure):
    """The command with which a person draws a figure, with this Python instead of a new environment."""
    return ["make", "--old-file=setup", f"BIN={Path(sys.executable).parent}", figure, "SCALE=smoke"]


def snakemake(*arguments):
    return [sys.executable, "-m", "snakemake", *arguments, "--config", "scale=smoke"]


def changed_at(project):
    """Every file that a pipeline could change, and when it was changed."""
    files = [path for folder in ("results", ".snakemake") for path in (project / folder).rglob("*")]
    return {path: path.stat().st_mtime_ns for path in files if path.is_file() and path.parent.name != "log"}


def wait_for_the_lock(project, process):
    """The process that holds the lock, as soon as it has it."""
    lock = project / ".snakemake" / "pipeline.lock"
    while not (lock.exists() and lock.read_text()):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    return int(lock.read_text().split()[1])


@pytest.mark.slow(20)
def test_a_second_pipeline_is_refused_and_a_killed_one_goes_on_by_the_same_command(project, start):
    first = start(*make("figure_7"))
    holder = wait_for_the_lock(project, first)
    os.kill(holder, signal.SIGSTOP)  # at work for as long as the test needs
    time.sleep(2)  # the job that it had started ends
    before = changed_at(project)
    for command in (make("figure_7"), snakemake("figure_8")):
        second = start(*command)
        message = second.communicate()[0]
        assert second.returncode != 0 and message.count(SENTENCE.format(holder)) == 1 and "Traceback" not in message
    assert changed_at(project) == before
    os.kill(holder, signal.SIGKILL)
    assert first.wait() != 0
    again = start(*make("figure_7"))
    assert again.communicate()[0].count("3 of 3 steps (100%) done") == 1 and again.returncode == 0
    assert (project / "results" / "smoke" / "figure_7" / "figure_7.png").stat().st_size > 10_000
