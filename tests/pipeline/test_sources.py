"""An edit of an agent outdates its runs and those of agents built on it; an edit of the core outdates all runs."""

import sys

import pytest

from dyna_td import envs
from dyna_td.records import sources
from dyna_td.runs.registry import entries_of
from dyna_td.runs.run import Run
from dyna_td.settings import DQNSettings, DynaSettings


def modules_behind(agent, settings=DQNSettings, environment="GridWorld"):
    entries = entries_of(Run(environment, agent, settings(), (0,), 100))
    return set(sources.files({entry.partition(":")[0] for entry in entries}))


def test_the_sources_of_a_run_are_those_that_its_agent_learner_and_program_import():
    er = modules_behind("er")
    dyna_td, frequency = (modules_behind(name, DynaSettings) for name in ("dyna_td", "dyna_frequency"))
    assert er == modules_behind("er", environment="GridWorld-goal0.2")  # a world with a dial
    core = {"dyna_td.learning.replay", "dyna_td.learning.networks", "dyna_td.programs.program", "dyna_td.envs.twins"}
    assert core <= er and core <= dyna_td
    assert "dyna_td.agents.dyna_td" in dyna_td and "dyna_td.search.chain" in dyna_td
    assert not {name for name in er if name.startswith(("dyna_td.search", "dyna_td.agents.dyna"))}
    assert "dyna_td.agents.dyna_frequency" in frequency - dyna_td
    apparatus = ("dyna_td.runs", "dyna_td.settings", "dyna_td.pipeline", "dyna_td.training")
    assert not {name for name in dyna_td if name.startswith(apparatus)}


def test_an_environment_of_this_package_without_a_twin_has_its_own_module(monkeypatch):
    monkeypatch.setitem(envs.KNOWN, "Mine-v0", envs.Known(entry_point="roundabout:Mine"))
    assert "dyna_td.envs.roundabout" in modules_behind("er", environment="Mine-v0")
    assert "dyna_td.envs.roundabout" not in modules_behind("er", environment="Hopper-v4")


def test_the_sources_of_a_table_are_all_of_the_project_that_its_module_imports():
    behind = set(sources.files(["dyna_td.evidence.aggregate"], sources.PROJECT))
    assert {"dyna_td.evidence.statistics", "dyna_td.records.results", "dyna_td.theory.hitting_times"} <= behind


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """The digest of a module of the user's own that imports another."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])

    def call(text, imported="NUMBER = 1\n"):
        (tmp_path / "own_agent.py").write_text(text)
        (tmp_path / "own_part.py").write_text(imported)
        for name in ("own_agent", "own_part"):
            module = type(sys)(name)
            module.__file__ = str(tmp_path / f"{name}.py")
            monkeypatch.setitem(sys.modules, name, module)
        sources._text.cache_clear()
        sources._imports.cache_clear()
        return sources.digest(["own_agent"])

    return call


TEXT = "from own_part import NUMBER\n\ndef f(x):\n    return x + NUMBER\n"


def test_comments_docstrings_and_annotations_outdate_nothing(digest_of):
    return_ = "    return"
    same = ["# Why.\n" + TEXT, '"""What."""\n' + TEXT, TEXT.replace("f(x)", "f(x: int) -> int")]
    same += [TEXT.replace(return_, above + return_) for above in ("    # because\n\n", '    """Adds."""\n')]
    assert {digest_of(each) for each in same} == {digest_of(TEXT)}


def test_an_edit_of_the_module_or_of_what_it_imports_outdates_it(digest_of):
    assert len({digest_of(TEXT), digest_of(TEXT.replace("+", "-")), digest_of(TEXT, "NUMBER = 2\n")}) == 3
