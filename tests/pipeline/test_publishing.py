"""Finished figures are published whole, from committed sources; drawn from published tables; and restored.

Published runs come back in another clone as they were, and Snakemake trains none of them again.
"""

import json
import lzma
import re
import shutil
from functools import partial

import numpy as np
import pandas as pd
import PIL.Image
import pytest
import scipy.stats
from files import edit, files_of, tiers

from dyna_td import cli
from dyna_td.evidence import aggregate
from dyna_td.evidence.scores import read_finished
from dyna_td.pages.facts import Facts
from dyna_td.plan import plans
from dyna_td.publishing import store, summary
from dyna_td.records import provenance, published, results
from dyna_td.records.files import ROOT
from dyna_td.records.policy import Policy, load_policy

PLAN = plans.load_plan("paper")
FIGURE = PLAN.figure("figure_9")


@pytest.fixture
def publish(tmp_path, monkeypatch, capsys):
    """Publishes figures from tmp_path/results to tmp_path/reference; returns the status and the output."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(provenance, "uncommitted", lambda *folders: [])
    draw = store.draw

    def call(*arguments, drawn=False):
        # A picture takes seconds, so most tests only check its place.
        monkeypatch.setattr(store, "draw", draw if drawn else lambda plan, figure, _, output: output / figure / "x.png")
        status = cli.main(["reference", *arguments])
        said = capsys.readouterr()
        return status, said.out + said.err

    return call


@pytest.fixture(scope="module")
def results_of_figure_9(tmp_path_factory, finish):
    folder = tmp_path_factory.mktemp("figure_9") / "results"
    for run in FIGURE.runs:
        finish(run, folder)
    return folder


@pytest.fixture
def finished_figure_9(results_of_figure_9, tmp_path):
    return shutil.copytree(results_of_figure_9, tmp_path / "results")


def test_a_finished_figure_is_published_whole_and_a_second_time_changes_no_byte(finished_figure_9, publish, tmp_path):
    assert publish("figure_9") == (0, "reference/figure_9\n")
    folder = tmp_path / "reference"
    made = aggregate.tables(FIGURE, partial(read_finished, "paper"))
    assert (folder / "figure_9" / "curves.csv").read_text() == made["curves.csv"]
    first = files_of(folder)
    jobs = [job for run in FIGURE.runs for job in (run.name, f"{run.name}.selection")]
    names = {f"runs/{job}.{suffix}" for job in jobs for suffix in ("csv.xz", "json")}
    assert {path.as_posix() for path in first} == {*names, "figure_9/curves.csv", "figure_9/scores.csv"}
    assert publish("figure_9")[0] == 0 and files_of(folder) == first


@pytest.mark.slow(10)
def test_a_figure_with_states_is_published_drawn_and_back_untrained(publish, tmp_path, finish, snakemake):
    for run in PLAN.figure("figure_2").runs:
        finish(run, tmp_path / "results")
    status, said = publish("figure_2", drawn=True)
    assert status == 0, said
    states = published.states_csv("figure_2", published.HERE)
    assert len(pd.read_csv(states)) == 3 * 20  # one state of each seed in each of three panels
    assert all((states.parent / f"figure_2.{kind}").stat().st_size > 10_000 for kind in ("png", "pdf"))
    (tmp_path / "results").rename(tmp_path / "lost")
    assert cli.main(["restore"]) == 0
    done = snakemake("--dry-run", "--config", "scale=paper", "--", "figure_2")
    assert done.returncode == 0, done.stderr
    jobs = done.stdout + done.stderr
    assert "train" not in jobs and "aggregate_figure_with_states" in jobs


def test_all_finished_figures_are_published_and_the_others_named(finished_figure_9, publish):
    status, said = publish()
    assert status == 0 and "figure_2 lacks 2 of 2 runs, which `make figure_2 SCALE=paper` trains.\n" in said
    assert published.figures(published.HERE) == {"figure_7", "figure_8", "figure_9"}  # 7 and 8 need no run


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda csv: edit(csv, "\n", ""), "is truncated or was changed"),
        (lambda csv: results.beside(csv, "policy.npz").write_text("another's"), "is not the policy of this run"),
    ],
)
def test_a_figure_with_a_damaged_run_is_not_published_and_says_why(finished_figure_9, publish, tmp_path, damage, words):
    damage(results.run_csv("paper", FIGURE.runs[0].name))
    status, said = publish("figure_9")
    assert (status, said.count("\n")) == (2, 1) and re.match(f"error: .*{words}", said), said
    assert not (tmp_path / "reference").exists()
    kept, (sentence,) = store.keep(PLAN, FIGURE.runs, finished_figure_9, tmp_path / "reference")
    assert len(kept) == len(FIGURE.runs) - 1 and words in sentence


@pytest.mark.parametrize("figure", tiers(plans.FIGURES_OF_THE_PAPER, quick=("figure_3", "figure_5", "figure_13")))
def test_a_published_picture_is_what_the_published_table_draws(figure, tmp_path):
    mine = PIL.Image.open(store.draw(PLAN, figure, ROOT / "reference", tmp_path))
    theirs = PIL.Image.open(ROOT / "reference" / figure / f"{figure}.png")
    np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("figure", sorted(published.figures()))
def test_what_is_published_agrees_with_the_plan(figure):
    curves = pd.read_csv(published.curves_csv(figure, ROOT / "reference"), usecols=["panel", "curve", "metric"])
    drawn = set(curves.drop_duplicates().itertuples(index=False, name=None))
    assert set(curves["panel"]) <= set(PLAN.figure(figure).panels)
    for key, panel in PLAN.figure(figure).panels.items():
        for curve, run in panel.curves.items():
            if details := published.read_details(run.name, ROOT / "reference"):  # others are not yet trained
                assert key not in set(curves["panel"]) or (key, curve, panel.metric) in drawn
                seeds = list(run.seeds)[: len(details["seeds"])]  # more may have been declared since
                assert (details["run"], details["steps"], details["seeds"]) == (run.name, run.steps, seeds)


def test_the_published_summary_has_the_mean_over_learning_and_students_interval_for_few_seeds():
    table, kept = summary.summary(Facts(), [PLAN.figure("figure_6")]), pd.read_csv(ROOT / "reference" / "summary.csv")
    assert list(table.columns) == list(kept.columns) == summary.COLUMNS
    np.testing.assert_allclose(table["mean"], kept.loc[kept["figure"] == "figure_6", "mean"], rtol=1e-5)
    row = table.iloc[0]
    records = pd.read_csv(ROOT / "reference" / "runs" / f"{row['run']}.csv.xz")
    later = records[(records["metric"] == "return") & (records["step"] >= 10_000)]
    by_seed = later.groupby("seed")["value"].mean()
    interval = scipy.stats.t.interval(0.95, len(by_seed) - 1, by_seed.mean(), by_seed.sem())
    assert (row["low95"], row["high95"]) == pytest.approx(interval)
    assert (row["mean"], row["seeds"]) == (pytest.approx(by_seed.mean()), 5) and row["core_minutes"] > 0


# Tests of restored runs.

SWEPT = FIGURE.runs[0]
UNSAMPLED = PLAN.run("GridWorld/dyna_td/n30-lr0.001")
RUNS = (SWEPT, PLAN.run("GridWorld/dyna_td/n10-lr0.001"), UNSAMPLED)


@pytest.fixture
def recorded(monkeypatch):
    """Replaces Snakemake; lists the runs that it should record."""
    found = []
    monkeypatch.setattr(store, "tell_snakemake", lambda scale, runs, directory: found.extend(runs))
    return found


@pytest.fixture
def stored(tmp_path, finish):
    """The folder of the results and that of the published runs."""
    source, directory = tmp_path / "results", tmp_path / "reference"
    csv = [finish(run, source) for run in RUNS][-1]
    seeds = np.array(UNSAMPLED.seeds, np.float32)
    weights = {"q.kernel0": np.zeros([len(seeds), 4, 2], np.float32), "q.bias0": np.repeat(seeds[:, None], 4, axis=1)}
    about = {"environment": "GridWorld", "agent": "dyna_td", "seeds": list(UNSAMPLED.seeds)}
    policy = Policy(about | {"settings": {"activation": "relu"}}, weights).as_bytes()
    results.beside(csv, "policy.npz").write_bytes(policy)
    details = json.loads(results.beside(csv, "json").read_text()) | {"policy_sha256": results.checksum(policy)}
    results.beside(csv, "json").write_text(results.sealed(details, json.dumps))
    kept, refused = store.keep(PLAN, PLAN.runs.values(), source, directory)
    assert set(kept) == set(RUNS) and not refused
    return source, directory


def test_runs_come_back_with_all_that_figures_show_and_snakemake_records_them(stored, recorded, tmp_path):
    source, directory = stored
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert set(back.runs) == set(RUNS) == set(recorded) and not back.left_out
    expected, found = files_of(source), files_of(tmp_path / "again")
    not_shown = results.beside(results.run_csv("paper", UNSAMPLED.name, source), "states.csv").relative_to(source)
    assert set(found) == set(expected) - {not_shown}
    for path in found:
        if path.suffix == ".json":
            mine, theirs = (json.loads(content) for content in (found[path], expected[path]))
            changed = {name for name in theirs if mine[name] != theirs[name]}
            checksums = {"csv_sha256"} if results.SWEEP in path.name else {"states_sha256", "policy_sha256"}
            checksums.add("json_sha256")
            assert changed <= checksums, path
        elif path.name.endswith((".states.csv", f"{results.SWEEP}.csv")):
            # Of a sweep, what chooses the rate is kept: errors and diverged seeds. No figure shows this agent's buffer.
            unused = b",return," if results.SWEEP in path.name else b",buffer,"
            assert found[path] == b"".join(line for line in expected[path].splitlines(True) if unused not in line)
        elif path.suffix == ".npz":
            policy = load_policy(tmp_path / "again" / path)
            assert policy.seeds == (0, 1, 2, 3, 4) == tuple(policy.weights["q.bias0"][:, 3])
        else:
            assert found[path] == expected[path]


def test_a_damaged_run_comes_back_and_what_was_there_is_kept(stored, recorded, tmp_path):
    source, directory = stored
    assert not store.restore(PLAN, directory, source).runs  # all are there
    csv, other = (results.run_csv("paper", run.name, source) for run in (SWEPT, UNSAMPLED))
    whole, sweep = csv.read_bytes(), results.run_csv("paper", SWEPT.name + results.SWEEP, source)
    csv.write_text("mine")
    results.beside(sweep, "json").unlink()
    results.beside(other, "json").unlink()
    back = store.restore(PLAN, directory, source)
    assert set(back.runs) == {SWEPT, UNSAMPLED} and csv.read_bytes() == whole
    assert csv.with_name(f"{csv.name}.damaged") in back.aside and b"mine" in [path.read_bytes() for path in back.aside]


def test_results_of_other_settings_are_not_overwritten(stored, recorded, tmp_path):
    _, directory = stored
    sweep = results.run_csv("paper", SWEPT.name + results.SWEEP, tmp_path / "again")
    results.write(sweep, pd.DataFrame({"seed": [0], "step": 0, "metric": "test_rmse", "value": 1.0}), {"run": "mine"})
    before = files_of(tmp_path / "again")
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert len(back.left_out) == 1 and SWEPT not in back.runs
    assert before.items() <= files_of(tmp_path / "again").items()
    assert not results.run_csv("paper", SWEPT.name, tmp_path / "again").exists()


@pytest.mark.parametrize(
    ("suffix", "content"),
    [("csv.xz", lzma.compress(b"seed,step,metric,value\n")), ("policy.npz", b"another training's")],
)
def test_a_damaged_published_run_is_left_out_and_leaves_nothing_behind(stored, recorded, tmp_path, suffix, content):
    _, directory = stored
    run = UNSAMPLED if suffix == "policy.npz" else SWEPT
    path = directory / "runs" / f"{run.name}.{suffix}"
    path.write_bytes(content)
    back = store.restore(PLAN, directory, tmp_path / "again")
    assert set(back.runs) == set(RUNS) - {run} and not back.left_out
    (sentence,) = back.damaged
    assert sentence.startswith(f"{path} ") and f" with `git checkout {path}`" in sentence
    assert not any(run.name in str(path) for path in files_of(tmp_path / "again"))
