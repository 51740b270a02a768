"""Two tiers: `make test` leaves out the tests marked `thorough`, `make test-thorough` runs them too."""

import functools
import os

import pytest

from dyna_td.pipeline import snakefile
from dyna_td.plan import plans
from dyna_td.records.files import ROOT

# As in the pipeline, equal programs are compiled once for all processes and later calls.
os.environ["TF_XLA_FLAGS"] = snakefile.xla_flags(ROOT / ".pytest_cache" / "programs")


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the tests marked thorough, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--thorough"):
        return
    for item in items:
        if item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="run it with --thorough"))


# Reading a plan takes half a second, and many commands do so. Each process reads that of experiments/ once.
_read = plans.load_plan
_read_once = functools.cache(_read)
plans.load_plan = lambda scale, directory=plans.DIRECTORY: (
    _read_once(scale) if directory == plans.DIRECTORY else _read(scale, directory)
)
