"""A disk that fills up at any write: one clear sentence, no half file under a final name, and what was kept goes on."""

import errno
import os

import pytest

from dyna_td import cli


@pytest.fixture
def disk(monkeypatch):
    """Calls that write fail as on a full disk while `disk.is_full`."""

    class Disk:
        is_full = False

    real = os.fsync

    def fsync(handle):
        if Disk.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    return Disk


def train(**changes):
    options = {"env": "sin", "agent": "l2", "seeds": "0-1", "steps": "20", "output": "x.csv", **changes}
    return ["train", *(part for name, value in options.items() for part in (f"--{name}", value))]


def test_results_wait_for_space_and_their_checkpoint_is_kept(fake_training, disk, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    checkpoint = tmp_path / "x.checkpoint"
    checkpoint.write_bytes(b"what the training goes on from")
    disk.is_full = True
    assert cli.main(train()) == 2
    told = capsys.readouterr().err
    assert told.count("error:") == 1 and "x.csv: No space left on device" in told and "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["x.checkpoint"]
    disk.is_full = False
    assert cli.main(train()) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json"]
