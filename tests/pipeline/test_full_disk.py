"""A disk that fills up at any write: one clear sentence, no half file under a final name, and what was kept goes on."""

import errno
import os

import pytest

from dyna_td import cli
from dyna_td.pipeline import results


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
    checkpoint = results.checkpoint_of(tmp_path / "x.csv")
    checkpoint.write_bytes(b"what the training goes on from")
    disk.is_full = True
    assert cli.main(train()) == 2
    told = capsys.readouterr().err
    assert told.count("error:") == 1 and "No space left on device" in told and "Traceback" not in told
    assert [path.name for path in tmp_path.iterdir()] == ["x.checkpoint"]
    disk.is_full = False
    assert cli.main(train()) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.csv", "x.json"]


def test_curves_wait_for_space(fake_training, disk, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    from dyna_td.pipeline.plans import load_plan

    for run in load_plan("smoke").figure("figure_9").runs:
        if run.sweep:
            assert cli.main(["select", run.name, "--scale", "smoke"]) == 0
        assert cli.main(["run", run.name, "--scale", "smoke"]) == 0
    disk.is_full = True
    assert cli.main(["aggregate", "figure_9", "--scale", "smoke"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert not list((tmp_path / "results/smoke/figure_9").iterdir())
    disk.is_full = False
    assert cli.main(["aggregate", "figure_9", "--scale", "smoke"]) == 0


def test_a_picture_waits_for_space(tmp_path, monkeypatch, capsys):
    import draw
    from matplotlib.figure import Figure

    from dyna_td.measures.hitting_times import CLOSED_FORMS

    curves = CLOSED_FORMS["figure_7a"]()
    table = curves.assign(panel="a", standard_error=0.0, low95=0.0, high95=0.0, iqm=0.0, n=1)
    table.to_csv(tmp_path / "curves.csv", index=False)
    options = [
        "figure_7",
        "--curves",
        str(tmp_path / "curves.csv"),
        "--scale",
        "smoke",
        "--output",
        str(tmp_path / "x.png"),
    ]

    def full(self, path, **kwargs):
        path.write_bytes(b"half a picture")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Figure, "savefig", full)
        assert draw.main(options) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["curves.csv"]
    assert draw.main(options) == 0
