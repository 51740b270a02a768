"""No name that a person or a file gives leads out of the results, and no file that is read can run code."""

import ast
from pathlib import Path

import pytest

from dyna_td import cli

ROOT = Path(__file__).parents[2]
SOURCES = sorted(path for folder in ("src", "envs", "figures") for path in (ROOT / folder).rglob("*.py"))
RUNNING_CODE_FROM_FILES = {
    "pickle",
    "cPickle",
    "_pickle",
    "dill",
    "cloudpickle",
    "joblib",
    "shelve",
    "marshal",
    "jsonpickle",
}
CALLS = {"eval", "exec", "system", "popen", "read_pickle", "load_model", "unsafe_load", "full_load", "load_all"}
SWITCHES = {"allow_pickle", "shell"}


@pytest.mark.parametrize(
    "name", ["../../escaped", "/tmp/escaped", "sin/../../../escaped", "sin/l2/../../../../escaped"]
)
@pytest.mark.parametrize("command", ["run", "select", "aggregate"])
def test_a_name_that_leads_out_of_the_results_writes_nothing(command, name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main([command, name]) == 2
    assert cli.main([command, name, "--results", "elsewhere"]) == 2
    assert cli.main([command, "figure_7", "--scale", name]) == 2
    assert cli.main(["check", name, "quick"]) == 2
    assert list(tmp_path.iterdir()) == []
    assert all(line.startswith("error: ") and "escaped" in line for line in capsys.readouterr().err.splitlines())


@pytest.mark.parametrize("environment", ["../../escaped", "/tmp/escaped"])
def test_an_environment_that_is_a_path_is_refused_by_hand(environment, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", "--env", environment, "--agent", "er", "--output", "x.csv"]) == 2
    assert list(tmp_path.iterdir()) == [] and capsys.readouterr().err.startswith("error: ")


def is_false(value):
    return isinstance(value, ast.Constant) and value.value is False


def test_no_source_imports_or_calls_what_runs_code_from_a_file():
    found = []
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Import(names=names):
                    words = {alias.name.split(".")[0] for alias in names} & RUNNING_CODE_FROM_FILES
                case ast.ImportFrom(module=str(module)):
                    words = {module.split(".")[0]} & RUNNING_CODE_FROM_FILES
                case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), keywords=keywords):
                    words = {called} & CALLS
                    words |= {word.arg for word in keywords if word.arg in SWITCHES and not is_false(word.value)}
                case _:
                    continue
            found += [(path.name, node.lineno, word) for word in words]
    assert SOURCES and found == []
