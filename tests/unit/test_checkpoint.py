"""A checkpoint is whole or absent, and belongs to one training."""

import numpy as np
import pytest

from dyna_td.training.checkpoint import Checkpoint

IDENTITY = {"settings": [{"seeds": (0, 1), "hidden": (32, 32)}], "source": "abc", "versions": {"numpy": "2"}}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "x.checkpoint"


def test_there_is_no_checkpoint_before_the_first_save_and_after_the_end(path, capsys):
    checkpoint = Checkpoint(path, IDENTITY)
    assert checkpoint.load() is None
    checkpoint.save({}, {})
    killed, other = (path.with_name(f".{name}.7.partial") for name in (path.name, f"other-{path.name}"))
    killed.touch()
    other.touch()
    checkpoint.remove()
    checkpoint.remove()  # no error if the file is gone
    assert checkpoint.load() is None and list(path.parent.iterdir()) == [other]
    assert not capsys.readouterr().err


def changed_byte(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("change", "damage", "words"),
    [
        ({"source": "abd"}, bytes, "belongs to a training with another source"),
        ({"versions": {"numpy": "3"}, "settings": []}, bytes, "belongs to a training with another settings, versions"),
        ({}, lambda content: b"", "is damaged"),
        ({}, changed_byte, "is damaged"),
    ],
)
def test_a_damaged_checkpoint_and_one_of_another_training_are_refused(path, capsys, change, damage, words):
    Checkpoint(path, IDENTITY).save({"variable.0": np.zeros(1000)}, {})
    path.write_bytes(damage(path.read_bytes()))
    assert Checkpoint(path, {**IDENTITY, **change}).load() is None
    assert capsys.readouterr().err == f"warning: the checkpoint {path} {words}; the training restarts.\n"
