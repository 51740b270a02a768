"""One maker a result at a time, and nothing left of one that was killed."""

import tempfile

import pytest
from helpers import run_of

from dyna_td.errors import UserError
from dyna_td.pipeline import memory
from dyna_td.pipeline.workplace import workplace


def test_temporary_files_are_beside_the_result_and_go_with_its_maker(tmp_path):
    csv, elsewhere = tmp_path / "x.csv", tempfile.gettempdir()
    left = tmp_path / ".x.csv.work" / "left by a killed process"
    left.parent.mkdir()
    left.write_text("")
    with workplace(csv):
        assert not left.exists()
        with tempfile.NamedTemporaryFile(delete=False) as generated:
            assert generated.name.startswith(str(left.parent))
        with pytest.raises(UserError, match=r"another process is making .*x\.csv"), workplace(csv):
            pass
        with workplace(tmp_path / "y.csv"):
            pass
    assert not list(tmp_path.iterdir()) and tempfile.gettempdir() == elsewhere


@pytest.mark.parametrize("environment", ["GridWorld", "Pendulum-v1"])
def test_buffers_that_cannot_fit_are_refused_and_smaller_ones_are_not(environment):
    run = run_of(environment, "er", (0,), 60_000_000, buffer_capacity=10**9)
    with pytest.raises(UserError, match="GiB are free"):
        memory.require_memory(run, 2_000)
    memory.require_memory(run_of(environment, "er", (0,), 1_000_000, buffer_capacity=50_000), 20)


@pytest.mark.parametrize("numbers", [{"batch_size": 10**8}, {"hidden": (10_000,) * 8}])
def test_mini_batches_and_networks_that_cannot_fit_are_refused(numbers):
    with pytest.raises(UserError, match="GiB are free"):
        memory.require_memory(run_of("GridWorld", "er", (0,), 100, **numbers), 20)
