"""Published runs come back in another clone as they were, and Snakemake trains none of them again."""

import json
import lzma
from pathlib import Path

import pytest
from files import files_of

from dyna_td.evidence import verify
from dyna_td.pipeline import plans, results
from dyna_td.pipeline.policy import path_beside
from dyna_td.publishing import store

PLAN = plans.load_plan("paper")
SWEPT = PLAN.figure("figure_9").runs[0]
SAMPLED = PLAN.run("GridWorld/dyna_td/n10-lr0.001")
UNSAMPLED = PLAN.run("GridWorld/dyna_td/n30-lr0.001")
RUNS = (SWEPT, SAMPLED, UNSAMPLED)


@pytest.fixture
def recorded(monkeypatch):
    """Stands in for Snakemake; lists the runs that were handed to it."""
    found = []
    monkeypatch.setattr(store, "tell_snakemake", lambda scale, runs, directory: found.extend(runs))
    return found


@pytest.fixture
def stored(tmp_path, finish):
    """The folder of the results and that of the published runs."""
    source, directory = tmp_path / "results", tmp_path / "reference"
    csv = [finish(run, source) for run in RUNS][-1]
    path_beside(csv).write_bytes(b"weights")
    details = json.loads(results.provenance_json(csv).read_text()) | {"policy_sha256": results.checksum(b"weights")}
    results.provenance_json(csv).write_text(json.dumps(details))
    assert set(store.keep(PLAN, PLAN.all_runs.values(), source, directory)) == set(RUNS)
    return source, directory


def test_runs_come_back_as_they_were_and_snakemake_records_them(stored, recorded, tmp_path):
    source, directory = stored
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert {made.run for made in back.runs} == set(RUNS) == {made.run for made in recorded} and not back.left_out
    expected, found = files_of(source), files_of(tmp_path / "again")
    not_shown = results.states_csv(results.run_csv("paper", UNSAMPLED.name, source)).relative_to(source)
    assert set(found) == set(expected) - {not_shown} and b"weights" in found.values()
    assert verify.faults(PLAN, tmp_path / "again")[1] == []
    for path in found:
        read = json.loads if path.suffix == ".json" else bytes
        assert read(found[path]) == read(expected[path])


def test_what_is_there_is_not_overwritten(stored, recorded, tmp_path):
    source, directory = stored
    results.run_csv("paper", SWEPT.name, source).write_text("mine")
    assert not store.restore(PLAN, directory, source).runs
    assert results.run_csv("paper", SWEPT.name, source).read_text() == "mine"
    sweep = results.run_csv("paper", SWEPT.name + results.SWEEP, tmp_path / "again")
    sweep.parent.mkdir(parents=True)
    sweep.write_text("mine")
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert len(back.left_out) == 1 and sweep.read_text() == "mine"
    assert not results.run_csv("paper", SWEPT.name, tmp_path / "again").exists()


@pytest.mark.parametrize("path_of", [Path, results.states_csv])
def test_damaged_runs_are_not_stored(tmp_path, finish, path_of):
    source = tmp_path / "results"
    csv, other = finish(SAMPLED, source), finish(UNSAMPLED, source)
    path_of(csv).write_bytes(path_of(csv).read_bytes()[:-9])
    path_beside(other).write_bytes(b"another training's")
    assert store.keep(PLAN, PLAN.all_runs.values(), source, tmp_path / "reference") == []
    assert not (tmp_path / "reference").exists()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        ("csv.xz", lzma.compress(b"seed,step,metric,value\n")),
        ("json", b"{}"),
        ("selection.csv.xz", b"[]"),
        ("selection.json", b"[]"),
        ("policy.npz", b"another training's"),
    ],
)
def test_a_damaged_published_run_is_left_out_and_leaves_nothing_behind(stored, recorded, tmp_path, suffix, content):
    _, directory = stored
    run = UNSAMPLED if suffix == "policy.npz" else SWEPT
    path = directory / "runs" / f"{run.name}.{suffix}"
    path.write_bytes(content)
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert {made.run for made in back.runs} == set(RUNS) - {run} and not back.left_out
    (sentence,) = back.damaged
    assert sentence.startswith(f"{path} ") and f"; get it again with `git checkout {path}`" in sentence
    assert not any(run.name in str(path) for path in files_of(tmp_path / "again"))


@pytest.mark.slow(10)
def test_snakemake_has_nothing_to_train_where_all_runs_are_back(tmp_path, finish, snakemake):
    source, directory = tmp_path / "first" / "results", tmp_path / "reference"
    figure = PLAN.figure("figure_2")
    for run in figure.runs:
        finish(run, source)
    assert store.keep(PLAN, figure.runs, source, directory) == figure.runs
    back = store.restore(PLAN, directory, tmp_path / "results")
    assert {made.run for made in back.runs} == set(figure.runs), back
    done = snakemake("--dry-run", "--config", "scale=paper", "--", "figure_2")
    assert done.returncode == 0, done.stderr
    jobs = done.stdout + done.stderr
    assert "train" not in jobs and "aggregate_figure_with_states" in jobs
