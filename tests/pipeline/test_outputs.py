"""A training replaces its own files alone; what stands at their places and is another's is kept."""

from pathlib import Path

import pytest
from files import error_of, files_of

from dyna_td import cli


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def train(output, *more):
    return ["train", "--env", "sin", "--agent", "l2", "--steps", "20", "--output", output, *more]


def is_refused(arguments, words, capsys):
    """Whether the command says one sentence with these words, and leaves every file as it was."""
    before = files_of(Path())
    message = error_of(cli.main, arguments, capsys)
    return words in message and files_of(Path()) == before


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.states.csv", "x.policy.npz"])
@pytest.mark.parametrize("finished_before", [False, True])
def test_a_file_at_a_place_of_a_training_that_is_not_its_own_is_kept(name, finished_before, fake_training, capsys):
    if finished_before:  # without states or policy
        assert cli.main(train("x.csv")) == 0
        if name in ("x.csv", "x.json"):
            Path("x.json").unlink()
    Path(name).write_bytes(b"another's")
    assert is_refused(train("x.csv"), name, capsys)
    Path(name).rename("elsewhere")
    Path("x.csv").unlink(missing_ok=True)
    assert cli.main(train("x.csv")) == 0


def test_no_training_takes_the_place_of_anothers_states(fake_training, capsys):
    assert is_refused(train("r/x.states.csv"), f"the place of the sampled states of {Path('r/x.csv')}", capsys)
    assert fake_training == []


def test_two_trainings_share_no_folder_of_events(fake_training, capsys):
    first, second = (train(f"{place}/run.csv", "--tensorboard", "events") for place in "xy")
    assert cli.main(first) == cli.main(first) == 0
    assert is_refused(second, "holds the evaluations of", capsys)
    assert len(fake_training) == 2
    Path("others/run").mkdir(parents=True)
    Path("others/run/notes").touch()
    assert is_refused(train("x/run.csv", "--tensorboard", "others"), "holds files of other programs", capsys)
    Path("file").touch()
    assert is_refused(train("x/run.csv", "--tensorboard", "file"), "choose another --tensorboard", capsys)
