"""Each figure script draws from curves.csv alone, the same picture every time, and refuses damaged curves."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import panels
import pytest
import style
from matplotlib.colors import to_rgb

from dyna_td.experiments import load_plan
from dyna_td.theory import CLOSED_FORMS

ROOT = Path(__file__).parents[2]
BLACK, RED, BLUE, MAGENTA, GREEN = (0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (34 / 255, 139 / 255, 34 / 255)

REGRESSION = {"l2": BLACK, "prioritized_l2": RED, "full_prioritized_l2": BLUE}
CONTROL = {"er": BLACK, "prioritized_er": RED, "full_prioritized_er": BLUE}
POWERS = {"power4": MAGENTA, "l2": BLACK, "cubic": GREEN}
EQUIVALENCE = {"full_prioritized_l2": BLUE, "cubic": GREEN}

# What the paper's captions promise: figure -> panel -> metric and the colour of each curve.
TRAINED = {
    "figure_1": {"a": ("test_rmse", REGRESSION), "b": ("test_rmse", REGRESSION), "c": ("return", CONTROL)},
    "figure_9": {"a": ("test_rmse", POWERS), "b": ("test_rmse", POWERS)},
    "figure_10": {"a": ("train_rmse", REGRESSION), "b": ("train_rmse", REGRESSION)},
    "figure_11": {
        "a": ("train_rmse", EQUIVALENCE),
        "b": ("train_rmse", EQUIVALENCE),
        "c": ("test_rmse", EQUIVALENCE),
        "d": ("test_rmse", EQUIVALENCE),
    },
}
CLOSED = {"figure_7": "a", "figure_8": "abcd"}
FIGURES = (*TRAINED, *CLOSED)


def trained_curves(figure):
    """Made-up learning curves of the shape that the aggregation writes, with a metric that no panel shows."""
    steps = np.arange(0, 20_001, 500)
    frames = []
    for panel, (shown_metric, curves) in TRAINED[figure].items():
        for position, curve in enumerate(curves):
            for metric in (shown_metric, "another_metric"):
                progress = 1 - np.exp(-steps / (3000.0 * (1 + position)))
                mean = -2000 + 1800 * progress if shown_metric == "return" else 0.75 - 0.5 * progress
                error = 0.05 * np.abs(mean)
                frames.append(
                    pd.DataFrame(
                        {
                            "panel": panel,
                            "curve": curve,
                            "step": steps,
                            "metric": metric,
                            "mean": mean,
                            "standard_error": error,
                            "low95": mean - 2 * error,
                            "high95": mean + 2 * error,
                            "iqm": mean,
                            "n": 5,
                        }
                    )
                )
    return pd.concat(frames, ignore_index=True)


def closed_form_curves(figure):
    frames = []
    for panel in CLOSED[figure]:
        frame = CLOSED_FORMS[f"{figure}{panel}"]()
        frames.append(
            frame.assign(
                panel=panel, standard_error=0.0, low95=frame["mean"], high95=frame["mean"], iqm=frame["mean"], n=1
            )
        )
    return pd.concat(frames, ignore_index=True)


def write_curves(figure, folder):
    curves = trained_curves(figure) if figure in TRAINED else closed_form_curves(figure)
    path = folder / "curves.csv"
    curves.to_csv(path, index=False)
    return path


def draw(figure, folder):
    """The script's exit status; the picture goes to folder/<figure>.png."""
    arguments = ["--curves", str(folder / "curves.csv"), "--scale", "quick", "--output", str(folder / f"{figure}.png")]
    return importlib.import_module(figure).main(arguments)


def assert_refused(figure, folder, capsys):
    """Exit status 2, one sentence that names the file, and the pictures as they were."""
    (folder / f"{figure}.png").write_bytes(b"old png")
    (folder / f"{figure}.pdf").write_bytes(b"old pdf")
    assert draw(figure, folder) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert "curves.csv" in message
    assert (folder / f"{figure}.png").read_bytes() == b"old png"
    assert (folder / f"{figure}.pdf").read_bytes() == b"old pdf"
    return message


@pytest.mark.parametrize("figure", FIGURES)
def test_a_script_draws_a_png_and_a_pdf_and_leaves_nothing_else(figure, tmp_path):
    write_curves(figure, tmp_path)
    assert draw(figure, tmp_path) == 0
    png, pdf = tmp_path / f"{figure}.png", tmp_path / f"{figure}.pdf"
    assert png.read_bytes().startswith(b"\x89PNG") and png.stat().st_size > 20_000
    assert pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 5_000
    assert {path.name for path in tmp_path.iterdir()} == {"curves.csv", png.name, pdf.name}


@pytest.mark.parametrize("figure", ["figure_1", "figure_8"])
def test_the_same_curves_give_the_same_bytes_on_another_day(figure, tmp_path, monkeypatch):
    write_curves(figure, tmp_path)
    pictures = [tmp_path / f"{figure}.png", tmp_path / f"{figure}.pdf"]
    draw(figure, tmp_path)
    first = [picture.read_bytes() for picture in pictures]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    draw(figure, tmp_path)
    assert [picture.read_bytes() for picture in pictures] == first


@pytest.mark.parametrize("figure, letter", [(figure, letter) for figure in TRAINED for letter in TRAINED[figure]])
def test_a_panel_shows_the_metric_and_the_curves_of_the_paper_in_its_colours(figure, letter, tmp_path):
    metric, colours = TRAINED[figure][letter]
    panel = next(panel for panel in importlib.import_module(figure).PANELS if panel.letter == letter)
    axes = drawn_axes([panel], trained_curves(figure))[0]
    labels = {style.CURVES[curve].label: colour for curve, colour in colours.items()}
    assert panel.metric == metric
    assert {line.get_label(): pytest.approx(to_rgb(line.get_color())) for line in axes.lines} == labels


def drawn_axes(figure_panels, curves):
    figure = panels.draw_figure(figure_panels, curves, "quick", columns=len(figure_panels))
    axes = figure.axes
    panels.plt.close(figure)
    return axes


@pytest.mark.parametrize("figure", CLOSED)
def test_a_closed_form_script_draws_every_curve_of_its_tables(figure):
    for panel in importlib.import_module(figure).PANELS:
        table = CLOSED_FORMS[f"{figure}{panel.letter}"]()
        assert set(panel.curves) == set(table["curve"])
        assert {panel.metric} == set(table["metric"])


def test_every_panel_finds_a_style_for_each_of_its_curves():
    for figure in FIGURES:
        for panel in importlib.import_module(figure).PANELS:
            assert set(panel.curves) <= set(panel.style_table())


def test_the_band_is_one_standard_error_to_either_side_of_the_mean():
    curves = trained_curves("figure_9").query("panel == 'a'")
    panel = panels.Panel("a", "", "test_rmse", ("l2",), x_label=panels.UPDATES)
    axes = drawn_axes([panel], curves)[0]
    start = curves.query("curve == 'l2' and metric == 'test_rmse' and step == 0").iloc[0]
    corners = axes.collections[0].get_paths()[0].vertices
    at_start = corners[corners[:, 0] == 0, 1]
    assert at_start.min() == pytest.approx(start["mean"] - start["standard_error"])
    assert at_start.max() == pytest.approx(start["mean"] + start["standard_error"])


def test_a_window_averages_the_mean_over_the_evaluations_up_to_each_step():
    curves = trained_curves("figure_1").query("panel == 'c'")
    panel = panels.Panel("c", "", "return", ("er",), x_label=panels.ENVIRONMENT_STEPS, window=3)
    (line,) = drawn_axes([panel], curves)[0].lines
    means = curves.query("curve == 'er' and metric == 'return'")["mean"].to_list()
    expected = [means[0], sum(means[:2]) / 2, sum(means[:3]) / 3, sum(means[1:4]) / 3]
    assert list(line.get_ydata()[:4]) == pytest.approx(expected)


def test_panels_of_a_group_share_the_limits_that_show_all_their_curves():
    curves = trained_curves("figure_9")
    curves.loc[curves["panel"] == "b", "mean"] += 3.0
    figure_panels = importlib.import_module("figure_9").PANELS
    figure = panels.draw_figure(figure_panels, curves, "quick", columns=2, same_y=["ab"])
    panels.plt.close(figure)
    limits = [axes.get_ylim() for axes in figure.axes]
    assert limits[0] == limits[1]
    assert limits[0][0] < 0.3 and limits[0][1] > 3.7


def test_the_footer_tells_scale_seeds_and_last_step_once_if_the_panels_agree():
    footer = panels.describe(importlib.import_module("figure_9").PANELS, trained_curves("figure_9"), "quick")
    assert footer == "scale quick, 5 seeds, 20,000 mini-batch updates"


def test_the_footer_tells_each_panels_seeds_and_steps_where_they_differ():
    curves = trained_curves("figure_1")
    curves.loc[curves["panel"] == "c", "n"] = 30
    footer = panels.describe(importlib.import_module("figure_1").PANELS, curves, "paper")
    assert footer == ("scale paper; a, b: 5 seeds, 20,000 mini-batch updates; c: 30 seeds, 20,000 environment steps")


def test_the_footer_tells_that_a_closed_form_is_not_trained():
    footer = panels.describe(importlib.import_module("figure_7").PANELS, closed_form_curves("figure_7"), "smoke")
    assert footer == "scale smoke, closed form: nothing is trained"


@pytest.mark.parametrize(
    "value, text", [(0, "0"), (0.05, "0.05"), (500, "500"), (2500, "2.5k"), (10_000, "10k"), (1_000_000, "1M")]
)
def test_large_ticks_are_written_in_thousands(value, text):
    assert panels.thousands(value) == text


@pytest.mark.parametrize("figure", FIGURES)
def test_a_missing_curve_is_refused_by_name(figure, tmp_path, capsys):
    path = write_curves(figure, tmp_path)
    curves = pd.read_csv(path)
    curve = curves["curve"].iloc[-1]
    curves[curves["curve"] != curve].to_csv(path, index=False)
    assert f"curve {curve}" in assert_refused(figure, tmp_path, capsys)


def test_an_empty_panel_is_refused(tmp_path, capsys):
    path = write_curves("figure_1", tmp_path)
    curves = pd.read_csv(path)
    curves[curves["panel"] != "b"].to_csv(path, index=False)
    assert "panel b" in assert_refused("figure_1", tmp_path, capsys)


def test_a_missing_metric_is_refused(tmp_path, capsys):
    path = write_curves("figure_10", tmp_path)
    path.write_text(path.read_text().replace("train_rmse", "test_rmse"))
    assert "train_rmse" in assert_refused("figure_10", tmp_path, capsys)


def test_a_missing_column_is_refused_by_name(tmp_path, capsys):
    path = write_curves("figure_9", tmp_path)
    pd.read_csv(path).drop(columns="standard_error").to_csv(path, index=False)
    assert "no column standard_error" in assert_refused("figure_9", tmp_path, capsys)


@pytest.mark.parametrize("damage", ["cut in a line", "cut between lines", "empty", "not text", "not a number"])
def test_damaged_curves_are_refused(damage, tmp_path, capsys):
    path = write_curves("figure_9", tmp_path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    damaged = {
        "cut in a line": whole[:-3],
        # The last rows are those of a metric that no panel shows; the cut must reach the drawn ones.
        "cut between lines": b"".join(lines[: -len(range(0, 20_001, 500)) - 2]),
        "empty": b"",
        "not text": b"\xff\xfe\x00\xd8" * 50 + b"\n",
        "not a number": whole.replace(b"0.75", b"fast"),
    }[damage]
    path.write_bytes(damaged)
    assert_refused("figure_9", tmp_path, capsys)


def test_damage_in_rows_that_no_panel_shows_does_not_matter(tmp_path):
    path = write_curves("figure_9", tmp_path)
    curves = pd.read_csv(path)
    curves["mean"] = curves["mean"].astype(str).mask(curves["metric"] == "another_metric", "?")
    curves.to_csv(path, index=False)
    assert draw("figure_9", tmp_path) == 0


def test_missing_curves_are_refused(tmp_path, capsys):
    assert_refused("figure_7", tmp_path, capsys)


def test_an_output_that_cannot_be_written_is_refused_in_one_sentence(tmp_path, capsys):
    write_curves("figure_7", tmp_path)
    (tmp_path / "file").write_text("")
    output = str(tmp_path / "file" / "figure_7.png")
    arguments = ["--curves", str(tmp_path / "curves.csv"), "--scale", "quick", "--output", output]
    assert importlib.import_module("figure_7").main(arguments) == 2
    message = capsys.readouterr().err
    assert message.startswith(f"error: {output} cannot be written") and message.count("\n") == 1


def test_an_interrupted_drawing_leaves_the_old_picture_and_no_partial_file(tmp_path, monkeypatch):
    write_curves("figure_7", tmp_path)
    (tmp_path / "figure_7.png").write_bytes(b"old png")
    savefig = panels.Figure.savefig

    def interrupted(figure, path, **options):
        savefig(figure, path, **options)
        if str(path).endswith(".pdf"):
            raise KeyboardInterrupt

    monkeypatch.setattr(panels.Figure, "savefig", interrupted)
    with pytest.raises(KeyboardInterrupt):
        draw("figure_7", tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"curves.csv", "figure_7.png"}
    assert (tmp_path / "figure_7.png").read_bytes() == b"old png"


def test_an_output_that_is_not_a_png_is_refused(tmp_path, capsys):
    write_curves("figure_7", tmp_path)
    with pytest.raises(SystemExit) as exit_:
        importlib.import_module("figure_7").main(["--curves", "c.csv", "--scale", "quick", "--output", "figure_7.jpg"])
    assert exit_.value.code == 2
    assert "does not end in .png" in capsys.readouterr().err


def test_a_script_runs_by_hand_without_tensorflow(tmp_path):
    write_curves("figure_8", tmp_path)
    script = ROOT / "figures" / "figure_8.py"
    watched = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); script = sys.argv[2]; sys.argv = sys.argv[2:]\n"
        "try: runpy.run_path(script, run_name='__main__')\n"
        "except SystemExit as exit: assert exit.code == 0, exit.code\n"
        "assert 'tensorflow' not in sys.modules"
    )
    options = ["--curves", tmp_path / "curves.csv", "--scale", "quick", "--output", tmp_path / "figure_8.png"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", watched, script.parent, script, *options], check=True, env=environment)
    assert (tmp_path / "figure_8.png").exists()


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "figures").glob("*.py")))
def test_a_script_of_the_figures_imports_nothing_that_imports_tensorflow(script):
    light = {"dyna_td.errors", "dyna_td.theory"}
    tree = ast.parse((ROOT / "figures" / script).read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.split(".")[0] in {"tensorflow", "keras"} for module in imported)
    assert {module for module in imported if module.split(".")[0] == "dyna_td"} <= light


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_has_a_caption(figure):
    caption = (ROOT / "figures" / "captions" / f"{figure}.rst").read_text()
    assert len(caption.split()) > 30


def test_one_seed_is_drawn_without_a_band(tmp_path):
    curves = trained_curves("figure_9").assign(n=1, standard_error=np.nan)
    curves.to_csv(tmp_path / "curves.csv", index=False)
    assert draw("figure_9", tmp_path) == 0


@pytest.mark.parametrize("figure", FIGURES)
def test_a_script_draws_the_metric_and_the_curves_that_its_experiment_declares(figure):
    declared = load_plan("paper").figures[figure].panels
    for panel in importlib.import_module(figure).PANELS:
        assert panel.metric == declared[panel.letter].metric
        if panel.trained:
            assert set(panel.curves) == set(declared[panel.letter].curves)
