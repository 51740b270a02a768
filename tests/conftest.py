"""Two tiers: `make test` leaves out the tests marked `thorough`, `make test-thorough` runs them too."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the tests marked thorough, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--thorough"):
        return
    for item in items:
        if item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="run it with --thorough"))
