"""A training that does not fit into memory is refused before it begins."""

import os
import re
import resource
import subprocess
import sys

import pytest
from helpers import run_of

from dyna_td.errors import UserError
from dyna_td.learning import memory as learning_memory
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.records.files import IMPORTS
from dyna_td.training import memory


def test_arrays_that_cannot_fit_are_refused_and_smaller_ones_are_not():
    for numbers in {"buffer_capacity": 10**9}, {"batch_size": 10**8}, {"hidden": (10_000,) * 8}:
        with pytest.raises(UserError, match="GiB are free"):
            memory.require_memory(run_of("Pendulum-v1", "er", (0,), 60_000_000, **numbers), 2_000)
    memory.require_memory(run_of("Pendulum-v1", "er", (0,), 1_000_000, buffer_capacity=50_000), 20)


@pytest.mark.parametrize(
    "line, file, grants",
    [
        ("0::/user/job", "user/memory.max", "1000\n"),  # of a group around it
        ("0::/", "memory.max", "1000\n"),  # as a container sees it
        ("4:memory:/docker/job", "memory/memory.limit_in_bytes", "1000\n"),
        ("0::/user/job", "user/memory.max", "max\n"),
    ],
)
def test_a_control_group_limits_what_is_free(tmp_path, line, file, grants):
    for path, text in {"proc/meminfo": "MemAvailable: 2 kB", "proc/self/cgroup": f"7:cpu:/x\n{line}\n"}.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "sys/fs/cgroup" / file).parent.mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup" / file).write_text(grants)
    assert learning_memory.free(tmp_path) == (2048 if grants == "max\n" else 1000)


def test_a_small_container_is_refused_before_tensorflow_is_imported(monkeypatch):
    monkeypatch.setattr(learning_memory, "free", lambda: 2**29)
    with pytest.raises(UserError, match=r"0\.50 GiB of memory are free"):
        import_tensorflow()


@pytest.mark.parametrize("limit", [120, 2500])  # MiB: pandas or TensorFlow's compiler does not fit
def test_too_few_addresses_are_one_sentence(tmp_path, limit):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit * 2**20,) * 2)

    words = ["train", "--env", "GridWorld", "--agent", "er", "--steps", "20", "--output", str(tmp_path / "x.csv")]
    command = [sys.executable, "-m", "dyna_td", *words]
    done = subprocess.run(command, env=os.environ | IMPORTS, preexec_fn=limited, capture_output=True, text=True)
    assert done.returncode == 2 and not any(tmp_path.iterdir())
    assert re.fullmatch(r"error: .*ulimit -v.*\n", done.stderr.splitlines(keepends=True)[-1])
    assert "Traceback" not in done.stderr
