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


_LEFT_OUT = pytest.StashKey[int]()


def pytest_collection_modifyitems(config, items):
    if config.getoption("--thorough"):
        return
    kept = [item for item in items if not item.get_closest_marker("thorough")]
    config.stash[_LEFT_OUT] = getattr(config, "workeroutput", {})["left_out"] = len(items) - len(kept)
    items[:] = kept


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist; each of its processes collects all tests
def pytest_testnodedown(node, error):
    node.config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter, config):
    if count := config.stash.get(_LEFT_OUT, 0):
        terminalreporter.write_line(f"{count} longer variants were left out; `make test-thorough` runs them.")


# Reading a plan takes half a second, and many commands do so. Each process reads that of experiments/ once.
_read = plans.load_plan
_read_once = functools.cache(_read)
plans.load_plan = lambda scale, directory=plans.DIRECTORY: (
    _read_once(scale) if directory == plans.DIRECTORY else _read(scale, directory)
)
