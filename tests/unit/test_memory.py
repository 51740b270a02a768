"""A training that does not fit into memory is refused before it begins."""

import pytest
from helpers import run_of

from dyna_td.errors import UserError
from dyna_td.training import memory


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
