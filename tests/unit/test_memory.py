"""A training that does not fit into memory is refused before it begins."""

import pytest
from helpers import run_of

from dyna_td.errors import UserError
from dyna_td.training import memory


def test_arrays_that_cannot_fit_are_refused_and_smaller_ones_are_not():
    for numbers in {"buffer_capacity": 10**9}, {"batch_size": 10**8}, {"hidden": (10_000,) * 8}:
        with pytest.raises(UserError, match="GiB are free"):
            memory.require_memory(run_of("Pendulum-v1", "er", (0,), 60_000_000, **numbers), 2_000)
    memory.require_memory(run_of("Pendulum-v1", "er", (0,), 1_000_000, buffer_capacity=50_000), 20)


def test_too_few_addresses_are_refused(monkeypatch):
    monkeypatch.setattr(memory.resource, "getrlimit", lambda kind: (2 * 2**30, 2**40))
    with pytest.raises(UserError, match=r"`ulimit -v` leaves 2\.0 GiB"):
        memory.require_memory(run_of("CartPole-v1", "er"), 2)
