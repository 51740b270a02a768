"""`make setup` rebuilds the environment when its requirements change, but never while something runs in it."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dyna_td.records import lock
from dyna_td.records.files import IMPORTS, ROOT

# Replaces Python: notes each environment that is made or cleared, and installs nothing.
PYTHON = f"""#!/bin/sh
case "$*" in
  "-m venv "*) echo made >> made; mkdir -p .venv/bin; cp "$0" .venv/bin/python;;
  "-m pip "*) ;;
  *) exec {sys.executable} "$@";;
esac
"""


@pytest.fixture
def setup(tmp_path, monkeypatch):
    """Runs `make setup` in a folder of its own; gives the exit status, standard error and how often it installed."""
    monkeypatch.chdir(tmp_path)
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copy(ROOT / name, name)
    Path("experiments").mkdir()
    Path("experiments/mine.yaml").write_text("panels:\n")
    Path("python").write_text(PYTHON)
    Path("python").chmod(0o755)

    def run():
        env = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
        done = subprocess.run(["make", "setup", "PYTHON=./python"], env=env, capture_output=True, text=True)
        return done.returncode, done.stderr, Path("made").read_text().count("made") if Path("made").exists() else 0

    return run


def test_setup_goes_by_contents_not_by_times_and_repeats_an_installation_that_broke_off(setup):
    assert setup() == (0, "", 1)
    for name in ("requirements.lock", "pyproject.toml"):
        os.utime(name, (time.time() + 100, time.time() + 100))
    assert setup() == (0, "", 1)
    for count, name in enumerate(("requirements.lock", "pyproject.toml"), start=2):
        with open(name, "a") as file:
            file.write("# another\n")
        os.utime(name, (0, 0))
        assert setup() == (0, "", count)
    Path(".venv/.installed").unlink()
    assert setup() == (0, "", 4)


def test_setup_clears_nothing_under_a_pipeline(setup):
    setup()
    Path("requirements.lock").write_text("")
    held = "from dyna_td.records import lock; lock.hold(); print(flush=True); input()"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": os.environ | IMPORTS}
    with subprocess.Popen([sys.executable, "-c", held], **pipes) as pipeline:
        pipeline.stdout.readline()
        status, said, count = setup()
        assert status == 2 and count == 1 and "error: another pipeline is at work in this folder" in said
        pipeline.communicate(b"\n")
    assert lock.PATH.exists() and setup() == (0, "", 2)


def test_setup_clears_nothing_behind_a_link(setup):
    Path("shared").mkdir()
    Path("shared/precious").touch()
    Path(".venv").symlink_to("shared")
    status, said, count = setup()
    assert status == 2 and count == 0 and "error: .venv is a link to shared" in said
    assert Path("shared/precious").exists()
