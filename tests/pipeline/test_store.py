"""Finished runs are stored beside the published figures, and come back in another clone."""

import json
import lzma

import pytest

from dyna_td import cli
from dyna_td.pipeline import finished, plans, provenance, results, verify
from dyna_td.publishing import restamp, store

PLAN = plans.load_plan("paper")
SWEPT = PLAN.figure("figure_9").runs[0]
SAMPLED = PLAN.run("GridWorld/dyna_td/n10-lr0.001")
UNSAMPLED = PLAN.run("GridWorld/dyna_td/n30-lr0.001")
RUNS = (SWEPT, SAMPLED, UNSAMPLED)


@pytest.fixture
def told(monkeypatch):
    """Stands in for Snakemake; lists the runs that it was told of."""
    found = []
    monkeypatch.setattr(restamp, "tell_snakemake", lambda scale, runs, directory: found.extend(runs))
    return found


@pytest.fixture
def stored(tmp_path, finish):
    """The folder of the results and that of the stored runs."""
    source, directory = tmp_path / "results", tmp_path / "reference"
    for run in RUNS:
        finish(run, source)
    measured = results.benchmark_tsv("paper", f"{SWEPT.name}.selection", source)
    measured.parent.mkdir(parents=True)
    measured.write_text("s\tmax_rss\tcpu_time\n9.5\t100\t7.25\n")
    assert set(store.keep(PLAN, PLAN.all_runs.values(), source, directory)) == set(RUNS)
    return source, directory


def files_of(directory):
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_runs_come_back_as_they_were_and_snakemake_is_told(stored, told, tmp_path):
    source, directory = stored
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert {made.run for made in back.runs} == set(RUNS) == {made.run for made in told} and not back.left_out
    expected, found = files_of(source), files_of(tmp_path / "again")
    not_shown = results.states_csv(results.run_csv("paper", UNSAMPLED.name, source)).relative_to(source)
    assert set(found) == set(expected) - {not_shown}
    assert verify.findings(PLAN, tmp_path / "again")[1] == []
    for path in found:
        if path.suffix == ".json":
            assert json.loads(found[path]) == {"date": json.loads(found[path])["date"], **json.loads(expected[path])}
        else:
            assert found[path] == expected[path]


def test_what_is_there_is_not_overwritten(stored, told):
    source, directory = stored
    results.run_csv("paper", SWEPT.name, source).write_text("mine")
    assert not store.restore(PLAN, directory, source).runs
    assert results.run_csv("paper", SWEPT.name, source).read_text() == "mine"


def test_a_sweep_that_was_finished_here_stays_whatever_comes_back(stored, told, tmp_path):
    _, directory = stored
    sweep = results.selection_csv("paper", SWEPT.name, tmp_path / "again")
    sweep.parent.mkdir(parents=True)
    sweep.write_text("mine")
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert len(back.left_out) == 1 and sweep.read_text() == "mine"
    assert not results.run_csv("paper", SWEPT.name, tmp_path / "again").exists()


def test_unfinished_damaged_and_outdated_runs_are_not_stored(tmp_path, finish):
    source = tmp_path / "results"
    finish(SWEPT, source, digest="old")
    finish(SAMPLED, source)
    csv = results.run_csv("paper", SAMPLED.name, source)
    csv.write_bytes(csv.read_bytes()[:-9])
    assert store.keep(PLAN, PLAN.all_runs.values(), source, tmp_path / "reference") == []
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("csv.xz", b""),
        ("csv.xz", lzma.compress(b"seed,step,metric,value\n")),
        ("json", b"{}"),
        ("json", b"\xff"),
        ("selection.csv.xz", b"[]"),
        ("selection.json", b"[]"),
    ],
)
def test_a_damaged_stored_run_is_left_out_and_leaves_nothing_behind(stored, told, tmp_path, suffix, content):
    _, directory = stored
    path = directory / "runs" / f"{SWEPT.name}.{suffix}"
    path.write_bytes(content)
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert {made.run for made in back.runs} == {SAMPLED, UNSAMPLED} and not back.left_out
    (told,) = back.damaged
    assert told.startswith(f"{path} ") and f"; get it again with `git checkout {path}`" in told
    assert not any(SWEPT.name in str(path) for path in files_of(tmp_path / "again"))


def test_runs_of_other_sources_come_back_only_when_asked_for(stored, told, tmp_path):
    _, directory = stored
    path = directory / "runs" / f"{SAMPLED.name}.json"
    path.write_text(path.read_text().replace('"source_digest": "', '"source_digest": "0'))
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert back.outdated == [SAMPLED.name] and not back.left_out and not back.damaged
    back = store.restore(PLAN, directory, tmp_path / "again", outdated=True)
    assert [made.run for made in back.runs] == [SAMPLED] and SAMPLED not in {made.run for made in told}
    assert not finished.read(PLAN, SAMPLED, tmp_path / "again").is_current


def test_the_commands_store_and_restore(stored, told, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(provenance, "uncommitted", lambda *folders: [])
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reference", "--scale", "paper"]) == 0
    assert "3 finished runs are stored, which `make restore` brings back.\n" in capsys.readouterr().out
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    assert cli.main(["restore", "--scale", "paper"]) == 0
    assert capsys.readouterr().out == "3 runs are back in results/paper.\n"
    assert cli.main(["restore", "--scale", "quick"]) == 2
    assert "only results of scale paper are published" in capsys.readouterr().err
    assert cli.main(["restore", "--scale", "paper", "--reference", "nowhere"]) == 2
    assert "nowhere holds no stored runs" in capsys.readouterr().err
    assert cli.main(["restore", "--scale", "paper", "--results", "other/results"]) == 0
    home = tmp_path / "other"
    told = f"3 runs are back in other/results/paper, for `snakemake --directory {home}`.\n"
    assert capsys.readouterr().out == told


def test_a_damaged_store_ends_with_a_fault_but_the_other_runs_are_back(stored, told, tmp_path, monkeypatch, capsys):
    _, directory = stored
    monkeypatch.chdir(tmp_path)
    path = directory / "runs" / f"{SWEPT.name}.csv.xz"
    path.unlink()
    (tmp_path / "results").rename(tmp_path / "elsewhere")
    assert cli.main(["restore", "--scale", "paper"]) == 2
    out, err = capsys.readouterr()
    assert out == "2 runs are back in results/paper.\n"
    first, last = err.splitlines()
    assert first.startswith(f"error: cannot read reference/runs/{SWEPT.name}.csv.xz: No such file or directory; get it")
    assert last == "error: 1 of the stored runs are damaged and did not come back."


def test_runs_come_back_only_where_snakemake_takes_them_over(stored, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for command in ("restore", "restamp"):
        assert cli.main([command, "--scale", "paper", "--results", "mine"]) == 2
        said = capsys.readouterr().err
        assert "--results is mine, but the pipeline takes over no run outside of a folder named results" in said
        assert said.endswith("name one, for example mine/results.\n") and not (tmp_path / "mine").exists()
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "results").symlink_to(tmp_path / "disk")
    assert restamp.require_pipelines_folder(tmp_path / "link" / "results") == tmp_path / "link"


@pytest.mark.slow(10)
def test_snakemake_has_nothing_to_train_where_all_runs_are_back(tmp_path, finish, snakemake):
    source, directory = tmp_path / "first" / "results", tmp_path / "reference"
    figure = PLAN.figure("figure_2")
    for run in figure.runs:
        finish(run, source)
    store.keep(PLAN, figure.runs, source, directory)
    back = store.restore(PLAN, directory, tmp_path / "results")
    assert {made.run for made in back.runs} == set(figure.runs)
    told = snakemake("--dry-run", "--config", "scale=paper", "--", "figure_2")
    assert told.returncode == 0, told.stderr
    jobs = told.stdout + told.stderr
    assert "train" not in jobs and "aggregate_figure_with_states" in jobs
