"""Each figure is drawn from its tables alone, always as the same picture, and damaged tables are refused."""

import functools
import os
from dataclasses import replace

import draw
import numpy as np
import pandas as pd
import pytest
import runs
from drawing import rendering, style
from drawing.forest import Forest
from drawing.tables import Tables, read_table, read_tables
from dyna_td.envs import grid_world
from files import edit, error_of, python, rows_of, sentence_of, tiers
from matplotlib.colors import to_rgba

from dyna_td.errors import UserError
from dyna_td.evidence.labels import CURVES
from dyna_td.plan import plans
from dyna_td.plan.plans import load_plan
from dyna_td.records import published, results, unfinished
from dyna_td.records.files import ROOT
from dyna_td.training.checkpoint import Checkpoint

PLAN = load_plan("paper")


@functools.cache
def tables_of(figure):
    return read_tables(PLAN.figure(figure), published.curves_csv(figure), "paper")


def write_tables(figure, folder):
    for name in ("curves", "states"):
        getattr(tables_of(figure), name).to_csv(folder / f"{name}.csv", index=False)
    return folder / "curves.csv"


def options(figure, folder):
    return [figure, "--curves", str(folder / "curves.csv"), "--scale", "quick", "--output", str(folder / "x.png")]


def refusal(figure, folder, capsys, file="curves.csv"):
    """The one sentence, about `file`, with which the tables in `folder` are refused; old pictures stay."""
    pictures = [folder / f"x.{kind}" for kind in ("png", "pdf")]
    for picture in pictures:
        picture.write_text("old")
    sentence = error_of(draw.main, options(figure, folder), capsys)
    assert str(folder / file) in sentence
    assert [picture.read_text() for picture in pictures] == ["old", "old"]
    return sentence


def drawings_of(figure, tables=None, plan=PLAN):
    return draw.all_drawings(plan.figure(figure), tables or tables_of(figure))


def drawn(figure, letters="", tables=None, plan=PLAN):
    """The figure's axes by letter; only those in `letters`, if given."""
    shown = [panel for panel in drawings_of(figure, tables, plan) if not letters or panel.letter in letters]
    picture = rendering.draw_figure(shown, "quick", plan.figure(figure).columns)
    rendering.plt.close(picture)
    return dict(zip((panel.letter for panel in shown), picture.axes, strict=False))


@pytest.mark.parametrize("figure", tiers(PLAN.drawn, quick=("figure_2", "figure_8", "frozen", "rates", "regression")))
def test_a_figure_has_a_picture_and_a_caption_and_names_what_is_missing(figure, tmp_path, capsys, monkeypatch):
    rows = Tables.rows
    assert len(drawn(figure)) == len(drawings_of(figure))
    assert (ROOT / "figures" / "captions" / f"{figure}.rst").read_text().startswith("**")
    path = write_tables(figure, tmp_path)
    curves, asked = pd.read_csv(path), []
    with monkeypatch.context() as patch:
        patch.setattr(Tables, "rows", lambda tables, *place: asked.append(place) or rows(tables, *place))
        drawn(figure)
    for column, value in zip(("panel", "curve", "metric"), asked[-1], strict=True):
        curves[curves[column] != value].to_csv(path, index=False)
        assert f"{column} {value}" in refusal(figure, tmp_path, capsys)


def test_pictures_need_no_tensorflow_and_no_display_and_have_the_same_bytes_on_another_day(tmp_path):
    write_tables("figure_13", tmp_path)
    code = f"""import os, sys, draw, runs
for day in ("0", "86400"):
    os.environ["SOURCE_DATE_EPOCH"] = day
    assert not draw.main({options("figure_13", tmp_path)})
    for kind in ("png", "pdf"):
        os.rename(f"x.{{kind}}", f"{{day}}.{{kind}}")
assert "tensorflow" not in sys.modules"""
    environment = {name: value for name, value in os.environ.items() if "DISPLAY" not in name and "SDL" not in name}
    environment["PYTHONPATH"] = os.pathsep.join(map(str, (ROOT / "src", ROOT / "figures")))
    done = python("-c", code, env=environment, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for kind in ("png", "pdf"):
        first, later = ((tmp_path / f"{day}.{kind}").read_bytes() for day in (0, 86400))
        assert first == later and len(first) > 5_000


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [("curves", None, "cannot read"), ("curves", b"\xff\xfe\n", "is damaged"), ("states", b"", "is damaged")],
)
def test_a_damaged_table_is_refused(file, content, words, tmp_path, capsys):
    path = write_tables("figure_5", tmp_path).with_name(f"{file}.csv")
    path.unlink() if content is None else path.write_bytes(content)
    assert words in refusal("figure_5", tmp_path, capsys, f"{file}.csv")


@pytest.mark.parametrize("name", ["mine", "runs", "draw"])  # figures/ has scripts of the latter names
def test_a_new_figure_is_a_yaml_and_a_curve_without_a_style_has_its_key_as_label(experiments_copy, monkeypatch, name):
    text = (experiments_copy / "figure_9.yaml").read_text()
    (experiments_copy / f"{name}.yaml").write_text(text.replace("power4:", "my_own:\n        agent: power4"))
    monkeypatch.setattr(plans, "STUDIES", (*plans.STUDIES, name))
    curves = tables_of("figure_9").curves.replace({"curve": {"power4": "my_own"}})
    lines = drawn(name, tables=Tables(curves), plan=plans.load_plan("paper", experiments_copy))["a"].lines
    assert [line.get_label() for line in lines] == ["my_own", "L2", "Cubic"]
    assert lines[0].get_color() not in {colour for colour, _ in style.LOOKS.values()}


def test_a_script_that_does_not_fit_its_yaml_is_one_sentence(experiments_copy):
    edit(experiments_copy / "when.yaml", "  n_30:", "  n_31:")
    with pytest.raises(UserError, match=r"when.py cannot draw .* of experiments/when.yaml \(KeyError: 'n_30'\)"):
        draw.all_drawings(plans.load_plan("paper", experiments_copy).figure("when"), tables_of("when"))


def test_curves_of_one_seed_have_no_band():
    curves = tables_of("figure_9").curves
    axes = drawn("figure_9", "a", Tables(curves.assign(standard_error=np.nan)))["a"]
    assert np.isfinite(axes.get_ylim()).all()


def test_a_line_is_the_mean_and_the_band_one_standard_error_to_either_side():
    axes, rows = drawn("figure_9", "a")["a"], tables_of("figure_9").rows("a", "power4", "test_rmse")
    assert list(axes.lines[0].get_ydata()) == list(rows["mean"])
    corners = axes.collections[0].get_paths()[0].vertices
    at_start, first = corners[corners[:, 0] == 0, 1], rows.iloc[0]
    band = first["mean"] - first["standard_error"], first["mean"] + first["standard_error"]
    assert (at_start.min(), at_start.max()) == pytest.approx(band)
    assert "Bands: one standard error to either side." in axes.figure.get_supxlabel().replace("\n", " ")


def test_an_agent_has_one_look_in_all_pictures_which_no_other_line_of_its_panel_has():
    looks = {}
    for panel in (panel for figure in PLAN.drawn for panel in drawings_of(figure)):
        rows = [dot.style for dot in panel.dots] if isinstance(panel, Forest) else ()
        for entry in (*panel.legend, *rows):
            if entry.label in CURVES.values():
                looks.setdefault(entry.label, set()).add((entry.colour, entry.dash))
        assert len({replace(entry, label="") for entry in panel.legend}) == len(panel.legend)
    assert len(looks) > 20 and {label: found for label, found in looks.items() if len(found) > 1} == {}


@pytest.mark.parametrize(("old", "new"), [("mean", "average"), ("panel", "place"), ("0.", "zero."), ("\n", "")])
def test_a_damaged_table_is_one_sentence(tmp_path, old, new):
    path = write_tables("figure_9", tmp_path)
    path.write_text(new.join(path.read_text().rsplit(old, 1)))
    assert "curves.csv is damaged; delete it" in sentence_of(read_table, path)


def test_no_moving_average_is_longer_than_the_run():
    for last, is_smoothed in ((14_000, False), (14_500, True)):
        panel = drawings_of("figure_4", Tables(tables_of("figure_4").curves.query(f"step <= {last}")))[0]
        assert is_smoothed == any("Smoothed" in note for note in panel.notes)


def test_a_short_run_has_the_published_curves_of_its_own_settings_behind_it(tmp_path):
    path, figure = write_tables("figure_4", tmp_path), PLAN.figure("figure_4")
    assert not any(panel.published for panel in drawings_of("figure_4", read_tables(figure, path, "paper")))
    behind = drawings_of("figure_4", read_tables(figure, path, "quick"))[0].published
    assert {"dyna_td", "er", "prioritized_er"} <= set(behind)
    assert behind["dyna_td"]["step"].max() == 50_000


def test_heatmaps_count_the_states_of_one_seed_and_share_their_colours():
    tables = tables_of("figure_2")  # it shows the seed with the median share right of the wall in panel b
    share = tables.states.query("panel == 'b'").assign(right=lambda states: states["x"] > 0.6)
    seed = share.groupby("seed")["right"].mean().sort_values(kind="stable").index[9]  # of 20 seeds
    images = {letter: axes.images[0] for letter, axes in drawn("figure_2", tables=tables).items() if axes.images}
    for letter, image in images.items():
        shown = tables.states.query(f"panel == '{letter}' and seed == {seed}")
        rows_from_below = np.histogram2d(shown["y"], shown["x"], bins=20, range=[[0, 1]] * 2)[0]
        np.testing.assert_array_equal(np.asarray(image.get_array()), rows_from_below)
        assert image.origin == "lower" and image.get_extent() == [0, 1, 0, 1]
    fullest = max(image.get_array().max() for image in images.values())
    assert {image.get_clim() for image in images.values()} == {(0, fullest)}


@pytest.mark.parametrize("figure, walls", [("figure_2", grid_world.GRID_WALLS), ("figure_14", grid_world.MAZE_WALLS)])
def test_a_world_is_drawn_with_the_environments_own_geometry(figure, walls):
    axes = drawn(figure, "a")["a"]
    centres = (np.arange(100) + 0.5) / 100
    x, y = (grid.ravel() for grid in np.meshgrid(centres, centres))
    expected = {"dimgray": grid_world.in_wall(x, y, walls), "tab:green": grid_world.in_goal(x, y)}
    for colour, inside in {**expected, "tab:blue": (x < 0.05) & (y < 0.05)}.items():
        boxes = [patch.get_bbox() for patch in axes.patches if patch.get_facecolor() == to_rgba(colour)]
        covered = [(x > box.x0) & (x < box.x1) & (y > box.y0) & (y < box.y1) for box in boxes]
        np.testing.assert_array_equal(np.any(covered, axis=0), inside)


@pytest.fixture
def csv(tmp_path):
    """A run that was trained by hand."""
    path, keys = tmp_path / "lander.csv", {"seed": (0, 1), "step": (0, 500), "metric": ("return", "speed")}
    results.write(path, rows_of(lambda seed, step, _: seed - step, **keys), LANDER)
    return path


LANDER = {"agent": "dyna_td", "environment": "LunarLander-v3", "run": "l/dyna_td/n10", "settings": {}, "seeds": [0, 1]}


def test_runs_of_one_agent_have_labels_with_their_settings_and_then_with_their_files(csv, tmp_path):
    records, _ = results.read(csv, "")
    other, again = tmp_path / "other.csv", tmp_path / "again.csv"
    results.write(other, records, LANDER | {"run": "l/dyna_td/n30"})
    results.write(again, records, LANDER)
    found = runs.labels_of({path.stem: runs.read(path, None) for path in (csv, other, again)})
    start = "Dyna-TD, LunarLander-v3, 2 seeds"
    assert list(found.values()) == [f"{start}, n10, {csv}", f"{start}, n30", f"{start}, n10, {again}"]
    assert runs.labels_of({"x": runs.read(csv, None)}) == {"x": start}
    results.write(other, records, LANDER | {"agent": "corridor:Mine", "settings": {"model": "learned"}})
    assert runs.read(other, None).label == "corridor:Mine, learned model, LunarLander-v3, 2 seeds"


def test_the_first_run_of_an_agent_has_its_look_and_the_window_is_no_longer_than_the_runs(csv, tmp_path, monkeypatch):
    pictures = []
    monkeypatch.setattr(runs, "save", lambda figure, *place, **of: pictures.append(figure))
    words = [str(csv), str(csv), "--metric", "speed", "--window", "30", "--output", str(tmp_path / "x.png")]
    assert runs.main(words) == 0
    first, second = (line.get_color() for line in pictures[0].axes[0].lines)
    assert first == style.style_of("dyna_td").colour != second
    assert "up to 1 before it" in pictures[0].get_supxlabel()


def test_the_supervised_task_is_drawn_by_its_own_metric_and_a_training_under_way_from_its_checkpoint(csv, tmp_path):
    records, details = results.read(csv, "")
    csv.unlink()
    arrays = unfinished.pack(records.replace({"return": "test_rmse"}), "log0.metrics")
    Checkpoint(csv.with_suffix(".checkpoint"), {"settings": [details]}).save(arrays, {})
    assert runs.main([str(csv), "--output", str(tmp_path / "x.png")]) == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--metric", "retrun", "--output", "x.png"], "did you mean 'return'?"),
        (["--output", "x.jpg"], "--output is 'x.jpg', expected a name that ends in .png."),
        (["foreign.csv", "--output", "x.png"], "there is no foreign.csv"),
        ([".", "--output", "x.png"], ". is no CSV: name one that"),
        (["--output", "paper.png"], "paper.pdf is there, and would be replaced: choose another --output."),
    ],
)
def test_a_mistake_in_drawing_ones_own_runs_is_one_sentence(csv, monkeypatch, tmp_path, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "paper.pdf").touch()
    with open("foreign.checkpoint", "wb") as file:
        np.savez(file, facts=np.frombuffer(b"{}", np.uint8))
    assert words in error_of(runs.main, [str(csv), *arguments], capsys)
