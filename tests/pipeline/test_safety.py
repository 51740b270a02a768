"""No name that a person gives leads out of the results."""

import pytest

from dyna_td import cli


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
