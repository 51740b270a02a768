"""A training that does not fit into memory is refused before it begins."""

import pytest
from helpers import run_of

from dyna_td.errors import UserError
from dyna_td.training import memory


@pytest.mark.parametrize(
    ("environment", "steps", "numbers"),
    [
        ("GridWorld", 60_000_000, {"buffer_capacity": 10**9}),
        ("Pendulum-v1", 60_000_000, {"buffer_capacity": 10**9}),
        ("GridWorld", 100, {"batch_size": 10**8}),
        ("GridWorld", 100, {"hidden": (10_000,) * 8}),
    ],
)
def test_arrays_that_cannot_fit_are_refused_and_smaller_ones_are_not(environment, steps, numbers):
    with pytest.raises(UserError, match="GiB are free"):
        memory.require_memory(run_of(environment, "er", (0,), steps, **numbers), 2_000)
    memory.require_memory(run_of(environment, "er", (0,), 1_000_000, buffer_capacity=50_000), 20)
