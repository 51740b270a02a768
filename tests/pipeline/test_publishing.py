"""Finished figures are published whole, from committed sources; drawn again; and held against fresh curves."""

import json
import lzma
import shutil
import subprocess
import sys
from pathlib import Path

import matplotlib.image
import numpy as np
import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.pipeline import aggregate, plans, provenance, results
from dyna_td.publishing import comparison, gallery, reference

ROOT = Path(__file__).parents[2]
PUBLISHED = reference.published(ROOT / "reference")
PLAN = plans.load_plan("paper")


@pytest.fixture
def committed(monkeypatch):
    monkeypatch.setattr(provenance, "uncommitted", lambda *folders: [])


@pytest.fixture
def publish(tmp_path, monkeypatch, capsys, committed):
    """Publishes figures from tmp_path/results to tmp_path/reference; returns the status and what was said."""
    monkeypatch.chdir(tmp_path)
    draw = gallery.draw

    def call(*arguments, drawn=False):
        # A picture takes seconds, so most tests only look at where it would be.
        monkeypatch.setattr(gallery, "draw", draw if drawn else lambda figure, _, output: output / figure / "x.png")
        status = cli.main(["reference", *arguments, "--scale", "paper"])
        said = capsys.readouterr()
        return status, said.out + said.err

    return call


@pytest.fixture(scope="module")
def results_of_figure_9(tmp_path_factory, finish):
    folder = tmp_path_factory.mktemp("figure_9") / "results"
    for run in PLAN.figure("figure_9").runs:
        finish(run, folder)
    return folder


@pytest.fixture
def finished_figure_9(results_of_figure_9, tmp_path):
    shutil.copytree(results_of_figure_9, tmp_path / "results")
    return PLAN.figure("figure_9")


def files_of(directory):
    return {path.relative_to(directory): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()}


def test_a_finished_figure_is_published_whole(finished_figure_9, publish, tmp_path):
    run = finished_figure_9.runs[0]
    measured = tmp_path / "results" / "paper" / "benchmarks" / f"{run.name}.tsv"
    measured.parent.mkdir(parents=True)
    measured.write_text("s\th:m:s\tmax_rss\tcpu_time\n9.5\t0:00:09\t100\t7.25\n")
    killed = finished_figure_9.runs[1]
    measured = tmp_path / "results" / "paper" / "benchmarks" / f"{killed.name}.tsv"
    measured.parent.mkdir(parents=True, exist_ok=True)
    measured.write_text("s\th:m:s\tmax_rss\tcpu_time\n2.0\t0:00:02\t100\t1.5\n")  # of its last start alone
    status, said = publish("figure_9")
    assert (status, said.splitlines()[0]) == (0, "reference/figure_9")
    folder = tmp_path / "reference" / "figure_9"
    names = {path.name for path in folder.iterdir()}
    assert names == {"curves.csv", "provenance.json"}
    told = json.loads((folder / "provenance.json").read_text())
    assert (told["figure"], told["scale"], set(told["runs"])) == (
        "figure_9",
        "paper",
        {r.name for r in PLAN.figure("figure_9").runs},
    )
    facts = told["runs"][run.name]
    assert facts["cost"] == {"wall_seconds": 4.5, "core_seconds": 7.25}
    assert facts["selection_cost"] == {"wall_seconds": 4.5, "core_seconds": None}
    assert told["runs"][killed.name]["cost"] == {"wall_seconds": 4.5, "core_seconds": 3.38}  # three quarters of a core
    assert facts["date"] == "2026-01-02" and facts["diverged_seeds"] == {"1": 500}
    assert facts["learning_rate_selection"]["scores"] and facts["seeds"] == list(run.seeds)
    kept = lzma.decompress((tmp_path / "reference" / facts["evaluations"]).read_bytes())
    assert kept == results.run_csv("paper", run.name, tmp_path / "results").read_bytes()
    curves = pd.read_csv(folder / "curves.csv")
    read = {
        r: (pd.read_csv(results.run_csv("paper", r.name, tmp_path / "results")), {}) for r in finished_figure_9.runs
    }
    expected = aggregate.learning_curves(finished_figure_9, read.__getitem__)
    mine = curves[curves["metric"] != "diverged_seed"]
    np.testing.assert_allclose(mine["mean"], expected["mean"], rtol=1e-8)


def test_publishing_twice_changes_no_byte(finished_figure_9, publish, tmp_path):
    publish("figure_9")
    first = files_of(tmp_path / "reference")
    assert publish("figure_9")[0] == 0
    assert files_of(tmp_path / "reference") == first


def test_sampled_states_are_published_compressed_and_drawn(publish, tmp_path, finish):
    for run in PLAN.figure("figure_2").runs:
        finish(run, tmp_path / "results")
    status, said = publish("figure_2", drawn=True)
    states = tmp_path / "reference" / "figure_2" / "states.csv.xz"
    assert len(pd.read_csv(states)) == 3 * 20  # a state a seed in each of three panels
    assert status == 0, said
    assert all((states.parent / f"figure_2.{kind}").stat().st_size > 10_000 for kind in ("png", "pdf"))


def test_all_finished_figures_are_published_and_the_others_named(finished_figure_9, publish, tmp_path):
    status, said = publish()
    assert status == 0
    assert "figure_2 lacks 2 of 2 runs, which `make figure_2 SCALE=paper` trains.\n" in said
    assert "figure_7 is not drawn yet, which `make figure_7 SCALE=paper` does.\n" in said
    assert reference.published(tmp_path / "reference") == ["figure_9"]


def outdate(csv):
    path = results.provenance_json(csv)
    path.write_text(path.read_text().replace('"source_digest": "', '"source_digest": "0'))


def truncate(csv):
    csv.write_bytes(csv.read_bytes()[:-9])


def lose_the_sweep(csv):
    csv.with_suffix(".selection.csv").unlink()


def choose_another_rate(csv):
    path = csv.with_suffix(".selection.json")
    details = json.loads(path.read_text())
    path.write_text(json.dumps(details | {"learning_rate": max(PLAN.figure("figure_9").runs[0].sweep)}))


def train_with_other_settings(csv):
    path = results.provenance_json(csv)
    path.write_text(path.read_text().replace('"batch_size": 128', '"batch_size": 64'))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (outdate, "was made by other sources than those that are here: .*`make restamp SCALE=paper`"),
        (truncate, "is truncated or was changed"),
        (Path.unlink, "cannot read .*: No such file"),
        (lose_the_sweep, "cannot read .*selection.csv: No such file"),
        (choose_another_rate, "is not the sweep that the plan asks for"),
        (train_with_other_settings, "has other settings than the plan"),
    ],
)
def test_a_figure_with_a_doubtful_run_is_not_published(finished_figure_9, publish, tmp_path, damage, sentence):
    damage(results.run_csv("paper", finished_figure_9.runs[0].name, tmp_path / "results"))
    status, said = publish("figure_9")
    assert status == 2
    lines = said.splitlines()
    assert len(lines) == 1 and pd.Series(lines).str.match(f"^error: .*{sentence}").all(), said
    assert not (tmp_path / "reference").exists()


def test_only_the_papers_scale_is_published(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["reference", "--scale", "quick"]) == 2
    assert "only results of scale paper are published" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("changes", "sentence"), [(["src/dyna_td/x.py"], "src/dyna_td/x.py is not committed"), (None, "no git repository")]
)
def test_nothing_is_published_from_sources_that_are_not_committed(publish, monkeypatch, changes, sentence):
    monkeypatch.setattr(provenance, "uncommitted", lambda *folders: changes)
    status, said = publish("figure_7")
    assert status == 2 and sentence in said


def test_changed_and_new_files_are_told_as_not_committed(tmp_path, monkeypatch):
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, "-c", "user.name=a", "-c", "user.email=a@b", *arguments], check=True)

    git("init", "--quiet")
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    for name in ("src", "docs"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("a = 1\n")
    git("add", "."), git("commit", "--quiet", "--message", "one")
    (tmp_path / "docs" / "a.py").write_text("a = 2\n")
    assert provenance.uncommitted("src") == []
    (tmp_path / "src" / "a.py").write_text("a = 2\n")
    (tmp_path / "src" / "b.py").write_text("")
    assert provenance.uncommitted("src") == ["src/a.py", "src/b.py"]


def test_the_published_pictures_are_what_the_published_tables_draw(tmp_path):
    gallery.draw_all(PUBLISHED, ROOT / "reference", tmp_path)
    for figure in PUBLISHED:
        mine, theirs = (matplotlib.image.imread(at / figure / f"{figure}.png") for at in (tmp_path, ROOT / "reference"))
        drawn_with = reference.read_provenance(figure, ROOT / "reference")["drawn_with"]
        assert mine.shape == theirs.shape, figure
        assert (tmp_path / figure / f"{figure}.pdf").stat().st_size > 5_000, figure
        if provenance.versions(*drawn_with) == drawn_with:
            np.testing.assert_array_equal(mine, theirs, err_msg=figure)


@pytest.mark.parametrize("figure", PUBLISHED)
def test_what_is_published_agrees_with_itself_and_with_the_plan(figure):
    told = reference.read_provenance(figure, ROOT / "reference")
    declared = PLAN.figure(figure)
    assert told["panels"] == json.loads(json.dumps(declared.as_plain_data()))
    assert set(told["runs"]) == {run.name for run in declared.runs}
    for run in declared.runs:
        facts = told["runs"][run.name]
        assert (facts["steps"], len(facts["seeds"])) == (run.steps, len(run.seeds))
        records = pd.read_csv(ROOT / "reference" / facts["evaluations"])
        assert set(records["seed"]) == set(run.seeds) and records["step"].max() == run.steps


def test_publishing_drawing_and_comparing_never_import_tensorflow():
    code = "import sys, dyna_td.publishing, dyna_td.publishing.readme; sys.exit('tensorflow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT / "src").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["gallery", "figure_88"], "unknown published figure 'figure_88': did you mean 'figure_8'"),
        (["gallery", "--reference", "nowhere"], "nowhere holds no published figure"),
        (["compare", "--scale", "paper"], "no figure of results/paper is published in"),
        (["compare", "figure_9"], "cannot read .*provenance.json"),
    ],
)
def test_a_gallery_or_comparison_of_nothing_is_refused(tmp_path, monkeypatch, capsys, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    if "--reference" not in arguments:
        (tmp_path / "reference" / "figure_8").mkdir(parents=True)
        (tmp_path / "reference" / "figure_8" / "provenance.json").write_text("{}")
    assert cli.main(arguments) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and pd.Series([said]).str.contains(sentence).all(), said


def test_a_drawing_that_is_killed_is_told_in_one_sentence(tmp_path, monkeypatch):
    killed = subprocess.CompletedProcess([], -9, "", "")
    monkeypatch.setattr(gallery.subprocess, "run", lambda *command, **options: killed)
    with pytest.raises(reference.UserError, match=r"figure_8 cannot be drawn from .*: the script ended with status -9"):
        gallery.draw("figure_8", ROOT / "reference", tmp_path)


@pytest.mark.parametrize("arguments", [["gallery"], ["compare", "figure_7"]])
@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b"\xff", b'{"scale": "paper", "panels": [], "runs": {}}'])
def test_a_damaged_provenance_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, content):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "reference" / "figure_7", tmp_path / "reference" / "figure_7")
    path = reference.provenance_json("figure_7")
    path.write_bytes(content)
    assert cli.main(arguments) == 2
    remedy = f"get it again with `git checkout {path}`, or publish it with `make reference`"
    assert capsys.readouterr().err == f"error: {path} is damaged; {remedy}.\n"


@pytest.mark.parametrize("damaged", ["results/quick", "reference"])
@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"panel,curve,step,metric,mean,standard_error,low95,high95,iqm,n\n",
        b"panel,curve,step,metric,mean\na,f,1,gap_function,1\n",
        b"panel,curve,step,metric,mean,standard_error,n\na,f,1,gap_function,much,0,1\n",
        b"panel,curve,step,metric,mean,standard_error,n\na,f,1,gap_function,1,0,1",
        b"panel,curve,step,metric,mean,standard_error,n\na,f,,gap_function,1,0,1\n",
        b"\xff\n",
    ],
)
def test_a_damaged_table_of_curves_is_compared_with_nothing(tmp_path, monkeypatch, capsys, damaged, content):
    monkeypatch.chdir(tmp_path)
    for place in ("reference", "results/quick"):
        shutil.copytree(ROOT / "reference" / "figure_7", tmp_path / place / "figure_7")
    path = Path(damaged) / "figure_7" / "curves.csv"
    path.write_bytes(content)
    assert cli.main(["compare"]) == 2
    remedy = (
        "get it again with `git checkout" if damaged == "reference" else "delete it and run `make figure_7 SCALE=quick`"
    )
    told = capsys.readouterr().err
    assert told.startswith(f"error: {path} is damaged; {remedy}") and told.count("\n") == 1
    assert not Path("results/quick/compare.csv").exists()


def test_a_drawing_names_the_published_table_and_how_to_get_it_again(tmp_path, monkeypatch):
    def refuse(command, **options):
        said = f"error: {command[4]}, panel a, curve f: there is no row; delete it and run the same target again.\n"
        return subprocess.CompletedProcess(command, 2, "", said)

    monkeypatch.setattr(gallery.subprocess, "run", refuse)
    with pytest.raises(reference.UserError) as refusal:
        gallery.draw("figure_7", ROOT / "reference", tmp_path)
    home = ROOT / "reference" / "figure_7"
    assert f": {home}/curves.csv, panel a, curve f: there is no row; get it again with" in str(refusal.value)
    assert f"`git checkout {home}`" in str(refusal.value) and "target" not in str(refusal.value)


def test_a_damaged_published_table_is_named(tmp_path):
    path = tmp_path / "states.csv.xz"
    path.write_bytes(lzma.compress(b"seed\n")[:-3])
    with pytest.raises(reference.UserError, match=r"states.csv.xz is damaged; get it again with `git checkout"):
        reference.read_compressed(path)


def curves(mean, error, n, steps):
    return pd.DataFrame({"step": steps, "mean": mean, "standard_error": error, "n": n})


@pytest.fixture
def against(tmp_path):
    """Compares two tables of a curve, fresh and published; returns its row."""

    def call(fresh, published, published_rate=0.001, place=("figure_11", "a", "full_prioritized_l2")):
        plan = plans.load_plan("quick")
        figure, panel, curve = place
        content = plan.figure(figure).panels[panel]
        settings = results.describe(content.curves[curve])["settings"] | {"learning_rate": published_rate}
        told = {"scale": "paper", "panels": {panel: {"curves": {curve: "x"}}}, "runs": {"x": {"settings": settings}}}
        for path, table in {
            results.curves_csv("quick", figure, tmp_path / "results"): fresh,
            reference.curves_csv(figure, tmp_path / "reference"): published,
        }.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            table.assign(panel=panel, curve=curve, metric=content.metric).to_csv(path, index=False)
        reference.provenance_json(figure, tmp_path / "reference").write_text(json.dumps(told))
        return comparison.compare(plan, [figure], tmp_path / "results", tmp_path / "reference").iloc[0]

    return call


def test_a_curve_is_held_against_the_band_of_as_many_seeds(against):
    # 10 seeds of standard error 0.1 have the standard deviation 0.1 sqrt(10); the mean of 5 others differs from
    # theirs by less than 2.262 * 0.1 * sqrt(1 + 10/5) = 0.3918 in 95 of 100 cases.
    published = curves([1.0, 1.0], 0.1, 10, [0, 100])
    row = against(curves([1.39, 1.40], 0.2, 5, [0, 100]), published)
    assert (row["evaluations"], row["inside"], row["at_step"], row["verdict"]) == (2, 0.5, 100, "outside")
    assert row["largest"] == pytest.approx(0.4 / 0.3918, rel=1e-3)
    assert against(curves([1.39, 0.62], 0.2, 5, [0, 100]), published)["verdict"] == "inside"


def test_between_published_evaluations_the_band_is_interpolated(against):
    row = against(curves([1.5], 0.0, 10, [50]), curves([1.0, 2.0], 1e-3, 10, [0, 100]))
    assert (row["inside"], row["largest"]) == (1.0, pytest.approx(0.0, abs=1e-9))


def test_steps_that_are_not_published_and_seeds_that_diverged_are_left_out(against):
    row = against(curves([1.0, np.nan, 9.0], 0.1, 5, [0, 50, 200]), curves([1.0, 1.0], 0.1, 10, [0, 100]))
    assert (row["evaluations"], row["last_step"], row["verdict"]) == (1, 0, "inside")


def test_curves_without_a_common_step_are_no_evidence(against):
    row = against(curves([1.0], 0.1, 5, [300]), curves([1.0, 1.0], 0.1, 10, [0, 100]))
    assert (row["evaluations"], row["verdict"]) == (0, "nothing to compare")


def test_exact_curves_must_agree_but_for_rounding(against):
    exact = curves([2.0, 3.0], 0.0, 1, [0, 100])
    assert against(exact, exact)["verdict"] == "inside"
    assert against(curves([2.0, 3.001], 0.0, 1, [0, 100]), exact)["verdict"] == "outside"


def test_the_comparison_is_printed_and_kept(tmp_path, monkeypatch, capsys, publish):
    publish("figure_7")
    fresh = results.curves_csv("quick", "figure_7", tmp_path / "results")
    fresh.parent.mkdir(parents=True)
    fresh.write_bytes((tmp_path / "reference" / "figure_7" / "curves.csv").read_bytes())
    assert cli.main(["compare"]) == 0
    said = capsys.readouterr().out
    assert "100%" in said and said.endswith("results/quick/compare.csv: 1 inside\n")
    table = pd.read_csv(tmp_path / "results" / "quick" / "compare.csv")
    assert list(table.columns) == comparison.COLUMNS and list(table["verdict"]) == ["inside"]


@pytest.mark.parametrize(
    ("place", "told"),
    [(("figure_1", "c", "er"), "learning_rate 0.001 for 0.5"), (("figure_11", "a", "full_prioritized_l2"), "")],
)
def test_settings_that_differ_are_told_but_not_rates_that_a_sweep_chose(against, place, told):
    table = curves([1.0], 0.1, 5, [0])
    assert against(table, table, published_rate=0.5, place=place)["other_settings"] == told
