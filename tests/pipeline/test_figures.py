"""Each figure script draws from curves.csv alone, the same picture every time, and refuses damaged curves."""

import ast
import importlib
import itertools
import os
import subprocess
import sys
from pathlib import Path

import maps
import numpy as np
import pandas as pd
import panels
import pytest
import rendering
import scenes
import style
from matplotlib.colors import to_rgb
from tables import Tables

from dyna_td.measures.hitting_times import CLOSED_FORMS
from dyna_td.pipeline.plans import load_plan
from envs import grid_world
from envs.roundabout import Roundabout

ROOT = Path(__file__).parents[2]
BLACK, RED, BLUE, MAGENTA, GREEN = (0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (34 / 255, 139 / 255, 34 / 255)
ORANGE = (1, 165 / 255, 0)

REGRESSION = {"l2": BLACK, "prioritized_l2": RED, "full_prioritized_l2": BLUE}
CONTROL = {"er": BLACK, "prioritized_er": RED, "full_prioritized_er": BLUE}
POWERS = {"power4": MAGENTA, "l2": BLACK, "cubic": GREEN}
EQUIVALENCE = {"full_prioritized_l2": BLUE, "cubic": GREEN}
SAMPLERS = {"dyna_td": BLACK, "dyna_td_learned": BLACK, "dyna_td_long": ORANGE, "prioritized_er": GREEN}
VARIANTS = {"dyna_td": BLACK, "dyna_frequency": RED, "dyna_value": BLUE}
AGENTS = {**VARIANTS, "prioritized_er": GREEN, "er": MAGENTA}
LEARNED = {"dyna_td_learned": BLACK}
ONLY_LEARNED = {**LEARNED, "prioritized_er": GREEN, "er": MAGENTA}

DRIVING = ("crashes", "speed", "return")

# What the paper's captions promise: figure -> panel -> metric and the colour of each curve.
TRAINED = {
    "figure_1": {"a": ("test_rmse", REGRESSION), "b": ("test_rmse", REGRESSION), "c": ("return", CONTROL)},
    "figure_3": {
        "a": ("distance_on_policy", SAMPLERS),
        "b": ("distance_uniform", SAMPLERS),
        "c": ("return", {"dyna_td": BLACK, "prioritized_er": GREEN, "er": MAGENTA}),
    },
    "figure_4": {letter: ("return", AGENTS | LEARNED) for letter in "abcdefgh"},
    "figure_6": {letter: ("return", ONLY_LEARNED) for letter in "ab"},
    "figure_9": {"a": ("test_rmse", POWERS), "b": ("test_rmse", POWERS)},
    "figure_10": {"a": ("train_rmse", REGRESSION), "b": ("train_rmse", REGRESSION)},
    "figure_11": {
        "a": ("train_rmse", EQUIVALENCE),
        "b": ("train_rmse", EQUIVALENCE),
        "c": ("test_rmse", EQUIVALENCE),
        "d": ("test_rmse", EQUIVALENCE),
    },
    "figure_12": {letter: ("return", AGENTS) for letter in "abcd"},
    "figure_13": {letter: (metric, ONLY_LEARNED) for letter, metric in zip("bcd", DRIVING, strict=True)},
    "figure_14": {"b": ("return", VARIANTS | LEARNED)},
}
# figure -> panel -> metric, curve and step of its heatmap.
SAMPLED = {
    "figure_2": {
        "b": ("occupied_cells_buffer", "prioritized_er", 10_000),
        "c": ("occupied_cells", "prioritized_er", 10_000),
        "d": ("occupied_cells", "dyna_td", 10_000),
    },
    "figure_5": {"a": ("entropy_10", "dyna_td", 20_000), "b": ("entropy_10", "dyna_value", 20_000)},
}
CLOSED = {"figure_7": "a", "figure_8": "abcd"}
FIGURES = (*TRAINED, *SAMPLED, *CLOSED)


def trained_curves(figure):
    """Made-up learning curves of the shape that the aggregation writes, with a metric that no panel shows."""
    steps = np.arange(0, 20_001, 500)
    frames = []
    for panel, (shown_metric, curves) in TRAINED[figure].items():
        distances = [f"{shown_metric}_floor", f"{shown_metric}_exact_uniform"] if "distance" in shown_metric else []
        for position, curve in enumerate(curves):
            seconds = steps / 1000 * (1 + position)
            smoothed = [f"{shown_metric}_smoothed"] if shown_metric in ("return", "speed") else []
            for metric in ("train_seconds", *distances, *smoothed, shown_metric, "another_metric"):
                progress = 1 - np.exp(-steps / (3000.0 * (1 + position)))
                mean = -2000 + 1800 * progress if shown_metric == "return" else 0.75 - 0.5 * progress
                mean = pd.Series(mean).rolling(30, min_periods=1).mean().to_numpy() if metric in smoothed else mean
                mean = seconds if metric == "train_seconds" else mean
                frames.append(rows_of(panel, curve, metric, steps, mean, 0.05 * np.abs(mean)))
    return pd.concat(frames, ignore_index=True)


def rows_of(panel, curve, metric, steps, mean, error, n=5):
    """One metric of one curve with the columns of curves.csv."""
    columns = {"panel": panel, "curve": curve, "step": steps, "metric": metric, "mean": mean, "standard_error": error}
    return pd.DataFrame({**columns, "low95": mean - 2 * error, "high95": mean + 2 * error, "iqm": mean, "n": n})


def sampled_curves(figure):
    """The metrics beside the states: the first evaluation measures nothing."""
    steps = np.arange(500, 20_001, 500)
    frames = [
        rows_of(panel, curve, metric, steps, 3.0 + steps / 16_000, np.full(len(steps), 0.123))
        for panel, (metric, curve, _) in SAMPLED[figure].items()
    ]
    return pd.concat(frames, ignore_index=True)


def sampled_states(figure):
    """2000 states of each of 5 seeds; seed 0's lie left of x = 0.5 in the first panel, the others' anywhere."""
    random = np.random.default_rng(0)
    frames = []
    for position, (panel, (_, curve, _)) in enumerate(SAMPLED[figure].items()):
        for seed in range(5):
            places = random.uniform(size=(2000, 2)) * ((0.5, 1) if position == seed == 0 else (1, 1))
            frames.append(pd.DataFrame(places, columns=["x", "y"]).assign(panel=panel, curve=curve, seed=seed))
    return pd.concat(frames, ignore_index=True)[["panel", "curve", "seed", "x", "y"]]


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
    makers = {**dict.fromkeys(TRAINED, trained_curves), **dict.fromkeys(SAMPLED, sampled_curves)}
    curves = makers.get(figure, closed_form_curves)(figure)
    path = folder / "curves.csv"
    curves.to_csv(path, index=False)
    if figure in SAMPLED:
        sampled_states(figure).to_csv(folder / "states.csv", index=False, float_format="%.5g")
    return path


def draw(figure, folder):
    """The script's exit status; the picture goes to folder/<figure>.png."""
    arguments = ["--curves", str(folder / "curves.csv"), "--scale", "quick", "--output", str(folder / f"{figure}.png")]
    return importlib.import_module(figure).main(arguments)


def assert_refused(figure, folder, capsys, file="curves.csv"):
    """Exit status 2, one sentence that names the file, and the pictures as they were."""
    (folder / f"{figure}.png").write_bytes(b"old png")
    (folder / f"{figure}.pdf").write_bytes(b"old pdf")
    assert draw(figure, folder) == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert str(folder / file) in message
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
    tables = {"curves.csv", "states.csv"} if figure in SAMPLED else {"curves.csv"}
    assert {path.name for path in tmp_path.iterdir()} == {*tables, png.name, pdf.name}


@pytest.mark.parametrize("figure", ["figure_1", "figure_2", "figure_8", "figure_13"])
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
    panel = panel_of(figure, letter)
    axes = drawn_axes([panel], Tables(trained_curves(figure)))[0]
    only_learned = colours is ONLY_LEARNED
    names = {"dyna_td_learned": "Dyna-TD, learned model"} if only_learned else {}
    labels = {names.get(curve, style.CURVES[curve].label): colour for curve, colour in colours.items()}
    controls = {control.style.label for control in panel.controls}
    assert panel.metric == metric
    drawn = {line.get_label(): line for line in axes.lines if line.get_label() not in controls}
    assert {label: pytest.approx(to_rgb(line.get_color())) for label, line in drawn.items()} == labels
    dashed = {label for label, line in drawn.items() if line.get_linestyle() != "-"}
    assert dashed == ({"Dyna-TD (learned model)"} if "dyna_td_learned" in colours and not only_learned else set())


def panel_of(figure, letter):
    return next(panel for panel in importlib.import_module(figure).PANELS if panel.letter == letter)


def drawn_axes(figure_panels, tables):
    figure = rendering.draw_figure(figure_panels, tables, "quick", columns=len(figure_panels))
    axes = figure.axes
    rendering.plt.close(figure)
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
    axes = drawn_axes([panel], Tables(curves))[0]
    start = curves.query("curve == 'l2' and metric == 'test_rmse' and step == 0").iloc[0]
    corners = axes.collections[0].get_paths()[0].vertices
    at_start = corners[corners[:, 0] == 0, 1]
    assert at_start.min() == pytest.approx(start["mean"] - start["standard_error"])
    assert at_start.max() == pytest.approx(start["mean"] + start["standard_error"])


def test_a_smoothed_panel_draws_the_smoothed_metric():
    curves = trained_curves("figure_14")
    panel = panels.Panel("b", "", "return", ("dyna_td",), x_label=panels.ENVIRONMENT_STEPS, smoothed=True)
    (line,) = drawn_axes([panel], Tables(curves))[0].lines
    means = curves.query("curve == 'dyna_td' and metric == 'return_smoothed'")["mean"].to_list()
    assert (
        list(line.get_ydata()) == means != curves.query("curve == 'dyna_td' and metric == 'return'")["mean"].to_list()
    )
    assert panel.describe(Tables(curves)).endswith(", moving average of 30 evaluations")


def test_panels_of_a_group_share_the_limits_that_show_all_their_curves():
    curves = trained_curves("figure_9")
    curves.loc[curves["panel"] == "b", "mean"] += 3.0
    figure_panels = importlib.import_module("figure_9").PANELS
    figure = rendering.draw_figure(figure_panels, Tables(curves), "quick", columns=2, same_y=["ab"])
    rendering.plt.close(figure)
    limits = [axes.get_ylim() for axes in figure.axes]
    assert limits[0] == limits[1]
    assert limits[0][0] < 0.3 and limits[0][1] > 3.7


def footer_of(figure, curves, scale, states=None):
    return rendering.describe(importlib.import_module(figure).PANELS, Tables(curves, states), scale)


def test_the_footer_tells_scale_seeds_and_last_step_once_if_the_panels_agree():
    footer = footer_of("figure_9", trained_curves("figure_9"), "quick")
    assert footer == "scale quick, 5 seeds, 20,000 mini-batch updates"


def test_the_footer_tells_each_panels_seeds_and_steps_where_they_differ():
    curves = trained_curves("figure_1")
    curves.loc[curves["panel"] == "c", "n"] = 30
    footer = footer_of("figure_1", curves, "paper")
    assert footer == ("scale paper; a, b: 5 seeds, 20,000 mini-batch updates; c: 30 seeds, 20,000 environment steps")


def test_the_footer_tells_that_a_closed_form_is_not_trained():
    footer = footer_of("figure_7", closed_form_curves("figure_7"), "smoke")
    assert footer == "scale smoke, closed form: nothing is trained"


def test_crashes_are_drawn_as_counted_and_all_else_of_figures_6_and_13_smoothed():
    assert footer_of("figure_6", trained_curves("figure_6"), "paper") == (
        "scale paper, 5 seeds, 20,000 environment steps, moving average of 30 evaluations"
    )
    assert footer_of("figure_13", trained_curves("figure_13"), "quick") == (
        "scale quick; b: 5 seeds, 20,000 evaluation driving steps; "
        "c, d: 5 seeds, 20,000 environment steps, moving average of 30 evaluations"
    )


def test_curves_of_crashes_may_end_at_different_steps_and_all_are_shown_whole(tmp_path):
    path = write_curves("figure_13", tmp_path)
    curves = pd.read_csv(path)
    curves = curves[~((curves["panel"] == "b") & (curves["curve"] == "er") & (curves["step"] > 15_000))]
    curves.to_csv(path, index=False)
    assert draw("figure_13", tmp_path) == 0
    axes = drawn_axes([panel_of("figure_13", "b")], Tables(curves))[0]
    assert [line.get_xdata()[-1] for line in axes.lines] == [20_000, 20_000, 15_000]
    assert axes.get_xlim() == (0, 20_000)


def test_curves_of_speed_must_be_equally_long(tmp_path, capsys):
    path = write_curves("figure_13", tmp_path)
    curves = pd.read_csv(path)
    lost = (curves["panel"] == "c") & (curves["curve"] == "er") & (curves["step"] > 15_000)
    curves[~lost].to_csv(path, index=False)
    assert "panel c: its curves must have equally many rows" in assert_refused("figure_13", tmp_path, capsys)


def test_the_axes_of_figure_13_tell_what_is_driven_and_in_which_unit():
    shown = [panel_of("figure_13", letter) for letter in "bcd"]
    axes = drawn_axes(shown, Tables(trained_curves("figure_13")))
    assert [(each.get_xlabel(), each.get_ylabel()) for each in axes] == [
        ("evaluation driving steps", "crashes so far"),
        ("environment steps", "average speed (m/s)"),
        ("environment steps", "evaluation return"),
    ]


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
    savefig = rendering.Figure.savefig

    def interrupted(figure, path, **options):
        savefig(figure, path, **options)
        if ".pdf." in path.name:
            raise KeyboardInterrupt

    monkeypatch.setattr(rendering.Figure, "savefig", interrupted)
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


@pytest.mark.parametrize("figure", ["figure_2", "figure_8", "figure_13"])
def test_a_script_runs_by_hand_without_tensorflow_a_display_or_a_word(figure, tmp_path):
    write_curves(figure, tmp_path)
    script, picture = ROOT / "figures" / f"{figure}.py", tmp_path / f"{figure}.png"
    watched = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); script = sys.argv[2]; sys.argv = sys.argv[2:]\n"
        "try: runpy.run_path(script, run_name='__main__')\n"
        "except SystemExit as exit: assert exit.code == 0, exit.code\n"
        "assert 'tensorflow' not in sys.modules"
    )
    options = ["--curves", tmp_path / "curves.csv", "--scale", "quick", "--output", picture]
    displays = {"DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "XDG_RUNTIME_DIR"}
    environment = {name: value for name, value in os.environ.items() if name not in displays}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [sys.executable, "-c", watched, script.parent, script, *options]
    process = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert picture.exists()


@pytest.mark.parametrize("script", sorted(path.name for path in (ROOT / "figures").glob("*.py")))
def test_a_script_of_the_figures_imports_nothing_that_imports_tensorflow(script):
    light = {
        "dyna_td",
        *(f"dyna_td.{name}" for name in ("aggregate", "benchmark", "errors", "files", "remedies", "theory")),
    }
    light |= {"envs.grid_world", "envs.roundabout"}
    tree = ast.parse((ROOT / "figures" / script).read_text())
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any(module.split(".")[0] in {"tensorflow", "keras"} for module in imported)
    assert {module for module in imported if module.split(".")[0] in {"dyna_td", "envs"}} <= light


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
        if isinstance(panel, (maps.Drawing, scenes.Scene)):
            assert panel.letter not in declared
            continue
        assert panel.metric == declared[panel.letter].metric
        if not declared[panel.letter].closed_form:
            assert set(panel.curves) == set(declared[panel.letter].curves)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
@pytest.mark.parametrize("figure", SAMPLED)
def test_a_heatmap_tells_the_step_at_which_the_run_kept_its_states(figure, scale):
    declared = load_plan(scale).figures[figure].panels
    for letter, (metric, curve, _) in SAMPLED[figure].items():
        run = declared[letter].curves[curve]
        steps = np.array(sorted({*range(run.evaluate_every, run.steps, run.evaluate_every), run.steps}))
        curves = rows_of(letter, curve, metric, steps, np.ones(len(steps)), np.ones(len(steps)))
        kept = run.moments[declared[letter].states["moment"]]
        assert panel_of(figure, letter).evaluation(Tables(curves))["step"] == kept
        assert (declared[letter].states["source"] == "buffer") == metric.endswith("_buffer")


@pytest.mark.parametrize("letter, metric", [("a", "distance_on_policy"), ("b", "distance_uniform")])
def test_distances_come_with_the_floor_and_the_exact_uniform_distribution_of_dyna_td(letter, metric):
    curves = trained_curves("figure_3")
    for position, name in enumerate(("floor", "exact_uniform")):
        is_control = (curves["panel"] == letter) & (curves["metric"] == f"{metric}_{name}")
        curves.loc[is_control & (curves["curve"] == "dyna_td"), "mean"] = 1e-4 * (1 + position)
    lines = {line.get_label(): line for line in drawn_axes([panel_of("figure_3", letter)], Tables(curves))[0].lines}
    assert set(lines["$p^*$ sampled, floor"].get_ydata()) == {1e-4}
    assert set(lines["exact uniform"].get_ydata()) == {2e-4}


def test_a_control_that_falls_far_below_the_curves_does_not_stretch_the_axis():
    curves = trained_curves("figure_3")
    curves.loc[curves["metric"] == "distance_uniform_exact_uniform", "mean"] = 1e-6
    assert drawn_axes([panel_of("figure_3", "b")], Tables(curves))[0].get_ylim()[0] == pytest.approx(3e-5)


def test_a_missing_control_is_refused(tmp_path, capsys):
    path = write_curves("figure_3", tmp_path)
    curves = pd.read_csv(path)
    curves[curves["metric"] != "distance_uniform_floor"].to_csv(path, index=False)
    assert "distance_uniform_floor" in assert_refused("figure_3", tmp_path, capsys)


def test_returns_stand_at_the_training_seconds_of_their_evaluation():
    axes = drawn_axes([panel_of("figure_3", "c")], Tables(trained_curves("figure_3")))[0]
    ends = {line.get_label(): (line.get_xdata()[1], line.get_xdata()[-1]) for line in axes.lines}
    assert ends == {"Dyna-TD": (0.5, 20.0), "PrioritizedER": (1.0, 40.0), "ER": (1.5, 60.0)}
    assert axes.get_xlabel() == "training seconds per seed"
    assert axes.get_xlim() == (0, 60)


def test_an_evaluation_without_its_training_seconds_is_refused(tmp_path, capsys):
    path = write_curves("figure_3", tmp_path)
    curves = pd.read_csv(path)
    lost = (curves["panel"] == "c") & (curves["curve"] == "er") & (curves["metric"] == "train_seconds")
    curves[~(lost & (curves["step"] == 1500))].to_csv(path, index=False)
    message = assert_refused("figure_3", tmp_path, capsys)
    assert "panel c, curve er" in message and "train_seconds at step 1500" in message


@pytest.mark.parametrize("smoothed", [False, True])
def test_an_evaluation_without_finite_seeds_is_a_gap_in_the_line(smoothed, tmp_path):
    curves = trained_curves("figure_14")
    is_gap = curves["metric"].str.startswith("return") & curves["step"].between(5000, 6000)
    is_gap &= curves["curve"] == "dyna_frequency"
    curves.loc[is_gap, ["mean", "standard_error", "n"]] = (np.nan, np.nan, 0)
    curves.to_csv(tmp_path / "curves.csv", index=False)
    assert draw("figure_14", tmp_path) == 0
    panel = panels.Panel("b", "", "return", ("dyna_frequency",), x_label=panels.ENVIRONMENT_STEPS, smoothed=smoothed)
    (line,) = drawn_axes([panel], Tables(curves))[0].lines
    assert list(line.get_xdata()[np.isnan(line.get_ydata())]) == [5000, 5500, 6000]
    assert panel.describe(Tables(curves)).startswith("0 to 5 seeds, ")


def test_a_mean_of_finite_seeds_that_is_not_finite_is_refused(tmp_path, capsys):
    path = write_curves("figure_14", tmp_path)
    curves = pd.read_csv(path)
    curves.loc[(curves["curve"] == "dyna_value") & (curves["step"] == 5000), "mean"] = np.nan
    curves.to_csv(path, index=False)
    assert "panel b, curve dyna_value" in assert_refused("figure_14", tmp_path, capsys)


def diverged(panel, curve, *seeds):
    """The rows that tell which seeds diverged, at step 7500."""
    return pd.concat([rows_of(panel, curve, "diverged_seed", [7500], np.array([seed]), 0.0, n=1) for seed in seeds])


def test_the_footer_names_the_diverged_seeds_of_the_panels_shown():
    curves = trained_curves("figure_12")
    told = [
        diverged("b", "dyna_frequency", 3.0),
        diverged("d", "dyna_frequency", 3.0),
        diverged("a", "dyna_value", 4.0, 1.0),
        diverged("e", "dyna_td", 2.0),
    ]
    assert footer_of("figure_12", pd.concat([curves, *told]), "quick").splitlines() == [
        "scale quick, 5 seeds, 20,000 environment steps, moving average of 30 evaluations",
        "diverged: Dyna-Value seeds 1, 4 (a); Dyna-Frequency seed 3 (b, d)",
    ]


def test_the_footer_is_one_line_if_no_shown_seed_diverged():
    curves = pd.concat([trained_curves("figure_14"), diverged("a", "dyna_td", 2.0), diverged("b", "er", 2.0)])
    assert "\n" not in footer_of("figure_14", curves, "quick")


def test_a_diverged_seed_that_is_no_number_is_refused(tmp_path, capsys):
    path = write_curves("figure_5", tmp_path)
    pd.concat([pd.read_csv(path), diverged("b", "dyna_value", np.nan)]).to_csv(path, index=False)
    assert "panel b, curve dyna_value" in assert_refused("figure_5", tmp_path, capsys)


def test_many_diverged_seeds_stay_inside_the_picture():
    seeds = np.arange(20.0)
    curves = pd.concat([trained_curves("figure_14"), *(diverged("b", curve, *seeds) for curve in VARIANTS)])
    figure = rendering.draw_figure(importlib.import_module("figure_14").PANELS, Tables(curves), "quick", columns=2)
    figure.canvas.draw()
    (footer,) = [text for text in figure.texts if "diverged" in text.get_text()]
    extent = footer.get_window_extent()
    rendering.plt.close(figure)
    assert extent.x0 >= 0 and extent.x1 <= figure.bbox.width


SHARING = {"figure_1": False, "figure_3": True, "figure_6": True, "figure_13": True, "figure_14": False}


@pytest.mark.parametrize("figure, shares", SHARING.items())
def test_panels_share_a_legend_if_every_look_means_the_same_in_all_of_them(figure, shares):
    module = importlib.import_module(figure)
    drawn = rendering.draw_figure(module.PANELS, Tables(trained_curves(figure)), "quick", len(module.PANELS))
    rendering.plt.close(drawn)
    of_figure = [[text.get_text() for text in legend.get_texts()] for legend in drawn.legends]
    below = [axes for axes in drawn.axes if axes.get_legend()]
    assert bool(of_figure) == shares and bool(below) != shares
    if shares:
        labels = {line.get_label() for axes in drawn.axes for line in axes.lines}
        assert set(of_figure[0]) == labels and len(of_figure[0]) == len(labels)


@pytest.mark.parametrize("lowest, texts", [(1e-4, ["$10^{-4}$", "$2\\cdot10^{-4}$"]), (1e-3, ["0.0001", "0.0002"])])
def test_a_logarithmic_axis_that_begins_below_a_thousandth_is_labelled_in_powers_of_ten(lowest, texts):
    assert [panels._log_label(value, lowest) for value in (1e-4, 2e-4)] == texts


@pytest.mark.parametrize("figure", SAMPLED)
def test_a_heatmap_counts_the_states_of_seed_0_in_the_cells_where_they_lie(figure):
    states = sampled_states(figure)
    for letter, (_, curve, _) in SAMPLED[figure].items():
        axes = drawn_axes([panel_of(figure, letter)], Tables(sampled_curves(figure), states))[0]
        image = np.asarray(axes.images[0].get_array())  # [row from below, column]
        shown = states[(states["panel"] == letter) & (states["curve"] == curve) & (states["seed"] == 0)]
        expected = np.zeros((20, 20))
        for x, y in zip(shown["x"], shown["y"], strict=True):
            expected[int(y * 20), int(x * 20)] += 1
        assert image.sum() == 2000
        np.testing.assert_array_equal(image, expected)
        assert axes.images[0].origin == "lower" and axes.images[0].get_extent() == [0, 1, 0, 1]


@pytest.mark.parametrize("figure", SAMPLED)
def test_heatmaps_of_a_figure_share_their_colours_from_none_to_the_fullest_cell(figure, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(rendering, "save", lambda figure, output: drawn.append(figure))
    write_curves(figure, tmp_path)
    assert draw(figure, tmp_path) == 0
    rendering.plt.close(drawn[0])
    images = [image for axes in drawn[0].axes for image in axes.images]
    assert len(images) == len(SAMPLED[figure])
    fullest = max(image.get_array().max() for image in images)
    assert {image.get_clim() for image in images} == {(0, fullest)}
    shades = np.array([sum(images[0].to_rgba(count)[:3]) for count in range(int(fullest) + 1)])
    assert (np.diff(shades) < 0).all()  # darker is denser
    assert drawn[0].axes[-1].get_ylabel() == "states per cell"


def test_the_titles_of_figure_5_tell_the_last_entropy_and_its_standard_error():
    axes = drawn_axes(
        importlib.import_module("figure_5").PANELS, Tables(sampled_curves("figure_5"), sampled_states("figure_5"))
    )
    assert [each.get_title() for each in axes] == [
        "(a) Dyna-TD\nentropy 4.25 ± 0.12 nats",
        "(b) Dyna-Value\nentropy 4.25 ± 0.12 nats",
    ]


def test_the_title_of_one_seed_has_no_standard_error():
    curves = sampled_curves("figure_5").assign(n=1, standard_error=np.nan)
    assert panel_of("figure_5", "a").heading(Tables(curves)) == "Dyna-TD\nentropy 4.25 nats"


@pytest.mark.parametrize("figure, step", [("figure_2", "10,000"), ("figure_5", "20,000")])
def test_the_footer_of_heatmaps_tells_the_seed_and_the_step_of_the_states(figure, step):
    footer = footer_of(figure, sampled_curves(figure), "quick", sampled_states(figure))
    assert footer == f"scale quick, seed 0 of 5 shown, 2,000 states at environment step {step}"


@pytest.mark.parametrize("figure, walls", [("figure_2", grid_world.GRID_WALLS), ("figure_14", grid_world.MAZE_WALLS)])
def test_the_drawing_shows_the_environments_own_geometry(figure, walls):
    axes = drawn_axes([panel_of(figure, "a")], Tables(pd.DataFrame()))[0]
    centres = (np.arange(100) + 0.5) / 100
    x, y = (grid.ravel() for grid in np.meshgrid(centres, centres))
    covered = {to_rgb(colour): np.zeros(len(x), bool) for colour in ("dimgray", "tab:blue", "tab:green")}
    for patch in axes.patches:
        (left, bottom), (right, top) = patch.get_bbox().min, patch.get_bbox().max
        covered[to_rgb(patch.get_facecolor())] |= (x > left) & (x < right) & (y > bottom) & (y < top)
    grey, blue, green = covered.values()
    np.testing.assert_array_equal(grey, grid_world.in_wall(x, y, walls))
    np.testing.assert_array_equal(blue, (x < 0.05) & (y < 0.05))
    np.testing.assert_array_equal(green, grid_world.in_goal(x, y))
    assert {text.get_text() for text in axes.texts} == {"S", "G"}


def test_the_scene_shows_every_vehicle_where_it_is_and_the_agents_alone_in_green():
    axes = drawn_axes([panel_of("figure_13", "a")], Tables(pd.DataFrame()))[0]
    (image,) = axes.images
    picture = np.asarray(image.get_array())  # [row from above, column, colour]
    left, right, bottom, top = image.get_extent()
    environment = Roundabout()
    environment.reset(seed=scenes.SEED)
    for _ in range(scenes.IDLE_DECISIONS):
        environment.step(scenes.IDLE)
    colours = []
    for vehicle in environment.road.vehicles:
        column = (vehicle.position[0] - left) / (right - left) * picture.shape[1]
        row = (vehicle.position[1] - top) / (bottom - top) * picture.shape[0]
        if 0 <= column < picture.shape[1] and 0 <= row < picture.shape[0]:
            colours.append(tuple(picture[int(row), int(column)]))
    assert [text.get_text() for text in axes.texts] == ["agent"]
    assert axes.texts[0].xy == pytest.approx(environment.vehicle.position)
    assert colours[0] == (50, 200, 0) and environment.road.vehicles[0] is environment.vehicle
    assert len(colours) >= 4 and set(colours[1:]) == {(100, 200, 255)}


def test_the_scene_shows_the_whole_circle():
    axes = drawn_axes([panel_of("figure_13", "a")], Tables(pd.DataFrame()))[0]
    picture = np.asarray(axes.images[0].get_array()).sum(axis=-1)
    left, right, bottom, top = axes.images[0].get_extent()
    x = left + (np.arange(picture.shape[1]) + 0.5) / picture.shape[1] * (right - left)
    y = top + (np.arange(picture.shape[0]) + 0.5) / picture.shape[0] * (bottom - top)
    radius = np.hypot(x, y[:, None])
    for outline in (18, 26):  # two lanes of 4 m around the radii 20 and 24
        for east, south in itertools.product((True, False), repeat=2):
            quadrant = ((x > 0) == east) & ((y[:, None] > 0) == south)
            assert picture[quadrant & (abs(radius - outline) < 0.5)].max() == 3 * 255
    assert picture[(radius > 5) & (radius < 17)].max() == 3 * 100  # nothing but the island


def test_missing_states_are_refused(tmp_path, capsys):
    write_curves("figure_5", tmp_path)
    (tmp_path / "states.csv").unlink()
    assert "cannot be read" in assert_refused("figure_5", tmp_path, capsys, "states.csv")


@pytest.mark.parametrize(
    "damage, told",
    [
        ("cut in a line", "cut off"),
        ("cut in a seed", "equally many states"),
        ("cut after a seed", "states of 2 seeds, not of 5"),
        ("no panel", "panel b, curve dyna_value: there is no state of seed 0"),
        ("no seed 0", "panel a, curve dyna_td: there is no state of seed 0"),
        ("outside", "from 0 to 1"),
        ("not a number", "from 0 to 1"),
        ("no column", "no column y"),
        ("not text", "not a CSV file"),
    ],
)
def test_damaged_states_are_refused(damage, told, tmp_path, capsys):
    write_curves("figure_5", tmp_path)
    path = tmp_path / "states.csv"
    whole, states = path.read_bytes(), pd.read_csv(path)
    damaged = {
        "cut in a line": whole[:-3],
        "cut in a seed": b"".join(whole.splitlines(keepends=True)[:-7]),
        "cut after a seed": states[: 7 * 2000],
        "no panel": states[states["panel"] != "b"],
        "no seed 0": states[states["seed"] != 0],
        "outside": states.assign(x=states["x"].mask(states.index == 12_345, 1.01)),
        "not a number": states.assign(y=states["y"].mask(states.index == 12_345)),
        "no column": states.drop(columns="y"),
        "not text": b"\xff\xfe\x00\xd8" * 50 + b"\n",
    }[damage]
    path.write_bytes(damaged if isinstance(damaged, bytes) else damaged.to_csv(index=False).encode())
    assert told in assert_refused("figure_5", tmp_path, capsys, "states.csv")
