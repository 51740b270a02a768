"""The lock of a folder's pipeline ends with the process that holds it, and with nothing else."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from dyna_td.errors import UserError
from dyna_td.pipeline import lock

SOURCES = Path(lock.__file__).parents[1]
HOLDER = """
import subprocess
from dyna_td.pipeline import lock

lock.hold()
job = subprocess.Popen(["sleep", "60"])
print(job.pid, flush=True)
job.wait()
"""


@pytest.fixture
def holder(tmp_path, monkeypatch):
    """A process that holds the lock of a folder, with a job that outlives it."""
    monkeypatch.chdir(tmp_path)
    environment = os.environ | {"PYTHONPATH": str(SOURCES)}
    process = subprocess.Popen([sys.executable, "-c", HOLDER], env=environment, stdout=subprocess.PIPE, text=True)
    job = int(process.stdout.readline())
    yield process
    process.kill()
    process.wait()
    process.stdout.close()
    os.kill(job, signal.SIGKILL)


@pytest.mark.parametrize("take", [lock.hold, lock.require_free])
def test_a_second_pipeline_is_told_who_is_at_work(holder, take):
    with pytest.raises(UserError, match=rf"^another pipeline is at work .*\(process {holder.pid} on .*\): .*\.$"):
        take()


def test_a_killed_process_leaves_no_lock_behind_even_if_its_job_lives_on(holder):
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    lock.require_free()
    lock.require_free()  # asking takes nothing


def test_a_file_system_without_locks_is_a_warning(tmp_path, monkeypatch, capsys):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    lock.hold(tmp_path / "pipeline.lock")
    assert "No locks available; start one pipeline at a time" in capsys.readouterr().err
