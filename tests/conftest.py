"""The option `--thorough`: runs the tests that `make test` leaves out."""

import pytest


def pytest_addoption(parser):
    parser.addoption("--thorough", action="store_true", help="run the tests marked thorough, too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--thorough"):
        return
    for item in items:
        if item.get_closest_marker("thorough"):
            item.add_marker(pytest.mark.skip(reason="a longer variant of another test: run with --thorough"))
