"""A seed has the same bytes beside any others, and on every CPU.

The thorough tier compares every environment with every kind of agent (benchmarks/bits.py), the quick tier one.
"""

import json
import os
from dataclasses import replace
from pathlib import Path

import bits
import numpy as np
import pandas as pd
import pytest
from files import python

from dyna_td.programs.program import make_program
from dyna_td.programs.stacks import MAX_STACK, stacks_of
from dyna_td.records.files import IMPORTS
from dyna_td.records.metrics import diverged_seeds

# In twins and the supervised task, test_published_beginnings.py compares 4 seeds with the published stacks of 4 to 20.
CASE = "Hopper-v4:prioritized_er"
STACK = (*range(2, 9), 0, 1, *range(9, 20))  # a seed's place must not matter


def test_two_seeds_among_twenty_have_the_bytes_that_they_have_alone_and_on_other_cpus(monkeypatch):
    def among_twenty(run, size, trained=bits.trained):
        for step, values in trained(run, len(STACK)):
            yield step, {name: value[7 : 7 + size] for name, value in values.items()}

    monkeypatch.setattr(bits, "make_program", lambda run: make_program(replace(run, seeds=STACK)))
    monkeypatch.setattr(bits, "trained", among_twenty)
    assert bits.digests(bits.run_of(CASE)) == json.loads(bits.DIGESTS.read_text())[CASE]


@pytest.mark.thorough
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("environment", [*sorted({case.partition(":")[0] for case in bits.CASES}), "digests"])
def test_every_kind_of_agent_has_these_bytes_and_asks_no_library_that_rounds_by_cpu(environment):
    # A new process, because one that has compiled many hundreds of programs may crash in the compiler.
    cases = [case for case in bits.CASES if case.partition(":")[0] == environment]
    command = ["stacks", *cases] if cases else ["compare", str(bits.DIGESTS)]
    done = python(bits.__file__, *command, env=os.environ | IMPORTS | {"ONEDNN_VERBOSE": "1"})
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(": equal") == len(cases or json.loads(bits.DIGESTS.read_text()))
    assert ",exec," not in done.stdout


@pytest.mark.thorough
@pytest.mark.timeout(600)
def test_the_benchmark_times_an_agent_that_has_settings_of_its_own(tmp_path):
    words = ["--tables", "cases", "--cases", "prioritized_er", "--repeats", "1", "--output", str(tmp_path / "b.csv")]
    done = python(str(Path(bits.__file__).with_name("speed.py")), *words, env=os.environ | IMPORTS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert pd.read_csv(tmp_path / "b.csv").set_index("case").loc["prioritized_er", "median"] > 0


@pytest.mark.parametrize("count", [1, 2, 20, 21, 50])
def test_stacks_hold_every_seed_once_and_a_single_one_is_joined_by_the_next(count):
    seeds = tuple(range(2, 2 + count))
    stacks = stacks_of(seeds)
    assert all(2 <= len(stack) <= MAX_STACK for stack in stacks)
    assert sum(stacks, ()) == (seeds if count > 1 else (2, 3))


def test_a_seed_has_diverged_if_its_agent_says_so_or_else_if_a_number_is_not_finite():
    rows = [(0, 5, "distance", np.nan), (0, 5, "diverged", 0.0), (1, 5, "diverged", 1.0), (1, 9, "diverged", 1.0)]
    records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
    assert diverged_seeds(records) == {"1": 5}
    assert diverged_seeds(records[records["metric"] == "distance"]) == {"0": 5}
