"""A training that is killed several times ends with the same bytes as an undisturbed one."""

import json
import multiprocessing
import os
import signal
import time

import numpy as np
import pytest

from dyna_td import cli
from dyna_td.pipeline import snakefile

TRAIN = ["train", "--env", "sin", "--agent", "l2", "--examples", "200", "--seeds", "0-1", "--steps", "8000"]
TRAIN += ["--evaluate-every", "50", "--checkpoint-every", "0", "--output"]


def train(output):
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 2)
    os.environ["TF_XLA_FLAGS"] = snakefile.xla_flags(output.parent / "programs")  # as the pipeline does
    raise SystemExit(cli.main([*TRAIN, str(output)]))


def when_written(path):
    return path.stat().st_mtime_ns if path.exists() else None


@pytest.fixture
def start():
    """Starts a training from a process that has already imported TensorFlow, because the import is slow."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["dyna_td.training.trainer", "dyna_td.learning.regression"])

    def call(output):
        process = context.Process(target=train, args=(output,))
        process.start()
        return process

    return call


@pytest.mark.slow(30)
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.thorough)])
def test_kills_change_no_byte(tmp_path, start, kills):
    whole, killed = tmp_path / "whole.csv", tmp_path / "killed.csv"
    process = start(whole)
    process.join()
    assert process.exitcode == 0

    rng, checkpoint = np.random.default_rng(0), killed.with_suffix(".checkpoint")
    for _ in range(kills):
        before, process = when_written(checkpoint), start(killed)
        while process.is_alive() and when_written(checkpoint) == before:
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.01))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert process.exitcode == -signal.SIGKILL, "it ended before it was killed"
        assert not killed.exists()
    with np.load(checkpoint) as archive:
        kept = json.loads(archive["facts"].tobytes())["core_seconds"]  # core-seconds of the killed processes

    process = start(killed)
    process.join()
    assert process.exitcode == 0
    assert killed.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()
    assert json.loads(killed.with_suffix(".json").read_text())["core_seconds"] > kept
