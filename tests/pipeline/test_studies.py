"""Studies beyond the paper: planned, run and drawn like its figures, and no part of all_figures."""

import importlib
import json
import re
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
import rates as rates_picture
import rendering
import yaml
from tables import Tables

from dyna_td.errors import UserError
from dyna_td.pipeline import drawings
from dyna_td.pipeline.plans import STUDIES, load_plan
from dyna_td.publishing import reference
from dyna_td.registry import FROZEN_METRICS

SCALES = ("smoke", "quick", "paper")
PAPER = load_plan("paper")


def differences(run, other):
    """The settings in which two runs differ, their agents too; a swept learning rate counts as one."""
    mine, theirs = ({**asdict(each.settings), "agent": each.agent, "sweep": each.sweep} for each in (run, other))
    return {name for name in mine if mine[name] != theirs.get(name, mine[name])}


@pytest.mark.parametrize("scale", SCALES)
def test_studies_are_drawn_beside_the_figures_and_can_be(scale):
    plan = load_plan(scale)
    assert tuple(plan.studies) == STUDIES and not set(plan.studies) & set(plan.figures)
    assert set(plan.drawn) == set(plan.figures) | set(STUDIES)
    assert plan.figure("controls") is plan.studies["controls"]
    drawings.require_drawable(plan)


@pytest.mark.parametrize("scale", SCALES)
def test_all_runs_of_one_name_are_one_run_whether_a_figure_or_a_study_shows_them(scale):
    plan = load_plan(scale)
    shown = {run for figure in plan.drawn.values() for run in figure.runs}
    assert len({run.name for run in shown}) == len(shown) == len(plan.all_runs)
    assert set(plan.runs) < set(plan.all_runs)
    new = plan.all_runs[next(name for name in plan.all_runs if name not in plan.runs)]
    assert plan.run(new.name) == new


def test_a_variant_of_dyna_td_is_dyna_td_but_for_what_it_is_called_after():
    changed = {
        "descend_td": {"agent"},
        "random_sign": {"agent"},
        "descend_value": {"agent"},
        "random_direction": {"agent"},
        "noise_only": {"agent"},
        "uniform_states": {"agent"},
        "replayed_states": {"agent"},
        "ideal_states": {"agent", "states_per_fill", "search_every", "queue_capacity"},
        "dyna_td_algorithm_4": {"search_control"},
        "dyna_td_langevin": {"search_control"},
        "dyna_td_learned": {"model"},
        "dyna_value_learned": {"agent", "model"},
        "replayed_states_learned": {"agent", "model"},
        "uniform_states_learned": {"agent", "model"},
    }
    for key, panel in PAPER.studies["controls"].panels.items():
        curves = panel.curves
        for curve in changed.keys() & curves.keys():
            assert differences(curves[curve], curves["dyna_td"]) == changed[curve], (key, curve)
        learned = {curve for curve in curves if curve.endswith("_learned")}
        assert len(learned) == 5 and all(curves[curve].settings.model == "learned" for curve in learned)
        assert set(curves) == set(PAPER.studies["controls"].panels["d"].curves) - (
            {"ideal_states"} if "Car" in curves["er"].environment else set()
        )
        assert differences(curves["er_same_rate"], curves["er"]) == {"sweep"}
        assert curves["er_same_rate"].settings.learning_rate == curves["dyna_td"].settings.learning_rate


def test_the_controls_that_figure_4_has_are_its_runs():
    shared = ("dyna_td", "dyna_td_learned", "dyna_value", "dyna_frequency", "prioritized_er", "er")
    for study, figure in zip("ab", "ae", strict=True):
        mine, theirs = PAPER.studies["controls"].panels[study].curves, PAPER.figures["figure_4"].panels[figure].curves
        assert [mine[curve] for curve in shared] == [theirs[curve] for curve in shared]


@pytest.mark.parametrize(
    ("letter", "usual", "varied"),
    [
        ("a", ("er", "prioritized_er", "full_prioritized_er"), {"planning_updates"}),
        ("b", ("dyna_td",), {"queue_capacity"}),
        ("d", ("dyna_td",), {"agent", "chain_noise"}),
        ("e", ("prioritized_er",), {"agent", "priority_exponent"}),
        ("f", ("prioritized_er",), {"agent", "priority_exponent"}),
        ("g", ("l2", "prioritized_l2", "full_prioritized_l2"), {"batch_size"}),
        ("j", ("dyna_td", "dyna_value"), {"agent"}),
        ("m", ("dyna_td", "dyna_frequency", "dyna_value"), {"agent"}),
        ("n", ("dyna_td",), {"agent", "acceptance"}),
        ("o", ("dyna_td_learned", "er", "prioritized_er"), {"agent", "acceptance"}),
        ("p", ("dyna_td_learned", "er"), {"agent", "model_stop", "chain_noise"}),
        ("q", ("dyna_td_learned", "er"), {"agent", "model_stop", "chain_noise"}),
    ],
)
def test_sensitivity_varies_one_number_around_a_run_of_a_figure(letter, usual, varied):
    curves = PAPER.studies["sensitivity"].panels[letter].curves
    assert all(curves[curve].name in PAPER.runs for curve in usual)
    for curve, run in curves.items():
        base = curves[max((name for name in usual if curve.startswith(name)), key=len, default=usual[0])]
        assert curve in usual or differences(run, base) <= varied


@pytest.mark.parametrize(("row", "rate"), [("abc", 1.0e-3), ("def", 1.0e-4)])
def test_rates_are_the_runs_of_figure_13_with_one_learning_rate_for_all(row, rate):
    published = json.loads((reference.DIRECTORY / "rates" / "provenance.json").read_text())["runs"]
    for letter, usual in zip(row, "bcd", strict=True):
        panel, drawn = PAPER.studies["rates"].panels[letter], PAPER.figures["figure_13"].panels[usual]
        assert (panel.metric, panel.against) == (drawn.metric, drawn.against)
        assert list(panel.curves) == list(drawn.curves)
        for curve, run in panel.curves.items():
            base = drawn.curves[curve]
            assert differences(run, base) <= {"learning_rate", "sweep"}
            assert (run.environment, run.seeds, run.steps) == (base.environment, base.seeds, base.steps)
            assert published[run.name]["settings"]["learning_rate"] == rate  # of what is swept: the chosen one


@pytest.mark.parametrize(
    ("letter", "of"),
    [
        *(("g", "12a"), ("h", "4a"), ("i", "4b"), ("j", "12b"), ("k", "4c"), ("l", "4d"), ("m", "12c"), ("n", "4e")),
        *(("o", "4f"), ("p", "12d"), ("q", "4g"), ("r", "4h"), ("s", "1c"), ("t", "1c_n1")),
    ],
)
def test_rates_have_every_agent_of_a_benchmark_once_with_the_rate_of_dyna_td(letter, of):
    number, key = re.fullmatch(r"(\d+)(.*)", of).groups()
    drawn, panel = PAPER.figures[f"figure_{number}"].panels[key], PAPER.studies["rates"].panels[letter]
    assert panel.metric == drawn.metric == "return" and len(panel.baselines) == 1
    own = {curve: run for curve, run in drawn.curves.items() if curve != "dyna_td_learned"}
    assert {curve: panel.curves[curve] for curve in own} == own  # the figure's own runs
    published = json.loads((reference.DIRECTORY / f"figure_{number}" / "provenance.json").read_text())["runs"]
    rates = {curve: published[run.name]["settings"]["learning_rate"] for curve, run in own.items()}
    others = {curve for curve, rate in rates.items() if rate != 1.0e-3}
    assert others == set(rates_picture.SWEPT.get(letter, ()))
    for curve in panel.curves.keys() - own.keys():
        run, base = panel.curves[curve], own[curve.removesuffix("_fixed").removesuffix("_swept")]
        assert differences(run, base) <= {"learning_rate", "sweep"}
        assert (run.environment, run.seeds, run.steps) == (base.environment, base.seeds, base.steps)
        if curve == "dyna_td_swept":
            assert run.sweep == own["er"].sweep
        else:
            assert (run.settings.learning_rate, run.sweep) == (1.0e-3, ())
            others.remove(curve.removesuffix("_fixed"))
    assert not others


def test_a_study_that_contradicts_a_figure_is_refused(experiments_copy):
    path = experiments_copy / "controls.yaml"
    path.write_text(path.read_text().replace("&seeds 20", "&seeds 30"))
    with pytest.raises(UserError, match=r"controls\.yaml: .* declares run .* with seeds 30 instead of 20 at .*figure_"):
        load_plan("paper", experiments_copy)


def test_exact_p_star_where_it_is_not_known_is_refused_with_its_place(experiments_copy):
    path = experiments_copy / "controls.yaml"
    content = yaml.safe_load(path.read_text())
    content["panels"]["a"]["curves"]["ideal_states"] = None
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UserError, match=r"controls\.yaml: panels\.a: curves\.ideal_states: .* does not train on Mount"):
        load_plan("quick", experiments_copy)


def test_a_baseline_that_is_no_curve_of_its_panel_is_refused_with_its_place(experiments_copy):
    path = experiments_copy / "controls.yaml"
    path.write_text(path.read_text().replace("baselines: [dyna_td]", "baselines: [no_such]", 1))
    with pytest.raises(UserError, match=r"controls\.yaml: panels\.c: unknown curve as baseline 'no_such'"):
        load_plan("quick", experiments_copy)


@pytest.mark.parametrize("study", STUDIES)
def test_snakemake_plans_a_study_on_its_own(snakemake, study):
    dry = snakemake("--dry-run", study, "--config", "scale=paper")
    assert dry.returncode == 0, dry.stderr
    jobs = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", dry.stdout + dry.stderr, re.MULTILINE)}
    runs = PAPER.studies[study].runs
    assert jobs.get("train_run", 0) + jobs.get("train_sampled_run", 0) == len(runs)
    assert jobs.get("select_learning_rate", 0) == sum(bool(run.sweep) for run in runs)
    aggregate = "aggregate_figure_with_states" if PAPER.studies[study].shows_states else "aggregate_figure"
    assert (jobs[aggregate], jobs[study]) == (1, 1)


# Pictures


def made_up_curves(study):
    """Every curve of a study: before the warm-up 0.5, afterwards its place in the panel, at 41 evaluations."""
    steps = np.arange(0, 20_001, 500)
    frames = []
    for key, panel in PAPER.studies[study].panels.items():
        for place, curve in enumerate(panel.curves):
            mean = np.where(steps > 5000, 1.0 + place, 0.5)
            for metric in (panel.metric, f"{panel.metric}_smoothed"):
                columns = {"panel": key, "curve": curve, "step": steps, "metric": metric, "mean": mean, "n": 20}
                spread = {"standard_error": 0.25, "low95": mean, "high95": mean, "iqm": mean}
                frames.append(pd.DataFrame({**columns, **spread}))
            if panel.baselines:
                means = {f"{panel.metric}_over_learning": 1.0 + place}
                places = {name: list(panel.curves).index(name) for name in panel.baselines if name != curve}
                means |= {f"{panel.metric}_less_{name}": 1.0 * (place - other) for name, other in places.items()}
                one = {"panel": key, "curve": curve, "step": 20_000, "standard_error": 0.25, "n": 20}
                frames.append(pd.DataFrame({"metric": means.keys(), "mean": means.values()}).assign(**one))
    return pd.concat(frames, ignore_index=True)


@pytest.mark.parametrize("study", ["controls", "sensitivity", "rates"])
def test_a_study_is_drawn_from_its_curves_and_a_missing_one_is_refused(study, tmp_path, capsys):
    curves = made_up_curves(study)
    path, picture = tmp_path / "curves.csv", tmp_path / f"{study}.png"
    arguments = ["--curves", str(path), "--scale", "quick", "--output", str(picture)]
    curves.to_csv(path, index=False)
    script = importlib.import_module(study)
    assert script.main(arguments) == 0
    assert picture.read_bytes().startswith(b"\x89PNG") and picture.with_suffix(".pdf").stat().st_size > 5_000
    picture.unlink()
    curves[curves["curve"] != "prioritized_er"].to_csv(path, index=False)
    assert script.main(arguments) == 2
    assert "curve prioritized_er: there is no row of the metric" in capsys.readouterr().err and not picture.exists()


def frozen_tables():
    """Of the study frozen: every metric, in the catalog's order 1, 2, 3, ...; and 2,000 states of each of 20 seeds."""
    panels = PAPER.studies["frozen"].panels
    rows = [
        {"panel": key, "curve": "dyna_td_frozen", "step": 50_000, "metric": metric, "mean": mean, "n": 20}
        for key in panels
        for mean, metric in enumerate(FROZEN_METRICS, start=1)
    ]
    places = np.random.default_rng(0).random((20 * 2000, 2))
    states = [
        pd.DataFrame({"panel": key, "curve": "dyna_td_frozen", "seed": np.arange(20).repeat(2000)}).assign(
            x=places[:, 0], y=places[:, 1]
        )
        for key, panel in panels.items()
        if panel.states
    ]
    return Tables(pd.DataFrame(rows).assign(standard_error=0.25), pd.concat(states))


@pytest.mark.parametrize("lost", [None, "bound_ratio", "beta_langevin"])
def test_frozen_is_drawn_from_its_tables_and_a_missing_metric_is_refused(lost, tmp_path, capsys):
    tables, picture = frozen_tables(), tmp_path / "frozen.png"
    tables.curves[tables.curves["metric"] != lost].to_csv(tmp_path / "curves.csv", index=False)
    tables.states.to_csv(tmp_path / "states.csv", index=False)
    arguments = ["--curves", str(tmp_path / "curves.csv"), "--scale", "quick", "--output", str(picture)]
    status = importlib.import_module("frozen").main(arguments)
    if lost:
        assert (status, picture.exists()) == (2, False)
        assert f"curve dyna_td_frozen: there is no row of the metric {lost}" in capsys.readouterr().err
    else:
        assert status == 0 and picture.read_bytes().startswith(b"\x89PNG")


def test_a_measurement_that_some_seeds_lack_says_how_many_have_it():
    script, tables = importlib.import_module("frozen"), frozen_tables()
    tables.curves.loc[tables.curves["metric"] == "beta_algorithm_4", "n"] = 2
    diverged = {"panel": "e", "curve": "dyna_td_frozen", "step": 500, "metric": "diverged_seed", "mean": 7, "n": 1}
    tables = Tables(pd.concat([tables.curves, pd.DataFrame([diverged])]), tables.states)
    panels = [panel for panel in script.PANELS if panel.letter == "e"]
    figure = rendering.draw_figure(panels, tables, "quick", columns=1)
    rendering.plt.close(figure)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "Algorithm 4 (2 seeds)" in labels and "released rule" in labels
    assert "diverged: Dyna-TD, learned model seed 7 (e)" in rendering.describe(panels, tables, "quick")


def test_a_measurement_of_frozen_is_a_dot_at_its_mean_in_the_row_of_its_name():
    script, tables = importlib.import_module("frozen"), frozen_tables()
    panels = [panel for panel in script.PANELS if panel.letter in "ef"]
    figure = rendering.draw_figure(panels, tables, "quick", columns=2)
    rendering.plt.close(figure)
    numbers = {metric: number for number, metric in enumerate(FROZEN_METRICS, start=1)}
    for axes, prefix, kinds in zip(
        figure.axes, ("beta_", "variation_"), (script.KINDS, script.KINDS | script.UNIFORM), strict=True
    ):
        labels = {tick: label.get_text() for tick, label in zip(axes.get_yticks(), axes.get_yticklabels(), strict=True)}
        dots = {labels[dot.lines[0].get_ydata()[0]]: dot.lines[0].get_xdata()[0] for dot in axes.containers}
        assert dots == {style.label: numbers[prefix + kind] for kind, style in kinds.items()}
    assert panels[0].describe(tables) == "20 seeds, after 50,000 environment steps"


@pytest.mark.parametrize("change", [{"moment": "early"}, {"agent": "dyna_td"}])
def test_states_of_long_chains_that_no_run_has_are_refused_with_their_place(experiments_copy, change):
    path = experiments_copy / "frozen.yaml"
    content = yaml.safe_load(path.read_text())
    content["panels"]["b"]["states"]["moment"] = change.get("moment", "late")
    if "agent" in change:
        del content["panels"]["b"]["settings"]["probe_steps"]
        content["panels"]["b"] |= {"metric": "return", "curves": {"dyna_td": None}}
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(
        UserError, match=r"frozen\.yaml: panels\.b: states of source langevin are those of dyna_td_frozen"
    ):
        load_plan("quick", experiments_copy)


def test_a_frozen_run_with_the_true_model_is_refused_with_its_place(experiments_copy):
    path = experiments_copy / "frozen.yaml"
    content = yaml.safe_load(path.read_text())
    content["panels"]["a"]["settings"]["model"] = "true"
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(
        UserError, match=r"frozen\.yaml: panels\.a: curves\.dyna_td_frozen: model is true, but .* leave"
    ):
        load_plan("quick", experiments_copy)


def test_the_frozen_run_is_that_of_figure_4_with_a_learned_model():
    (run,) = PAPER.studies["frozen"].runs
    twin = PAPER.figures["figure_4"].panels["e"].curves["dyna_td_learned"]
    assert differences(run, twin) == {"agent"}
    assert (run.seeds, run.steps, run.evaluate_every) == (twin.seeds, twin.steps, twin.evaluate_every)


@pytest.mark.parametrize("study", STUDIES)
def test_a_study_has_a_caption_that_begins_with_its_subject(study):
    captions = rendering.Path(rendering.__file__).parent / "captions"
    assert (captions / f"{study}.rst").read_text().startswith("**")


@pytest.mark.parametrize(("letter", "offset"), [("b", 0.0), ("d", 1.0)])
def test_a_control_is_a_dot_in_the_row_of_its_name_at_its_mean_or_at_that_less_dyna_tds(letter, offset):
    script = importlib.import_module("controls")
    panel = next(panel for panel in script.PANELS if panel.letter == letter)
    tables = Tables(made_up_curves("controls"))
    figure = rendering.draw_figure([panel], tables, "quick", columns=1)
    rendering.plt.close(figure)
    (axes,) = figure.axes
    dots = {dot.get_label(): tuple(float(part[0]) for part in dot.lines[0].get_data()) for dot in axes.containers}
    order = list(PAPER.studies["controls"].panels[letter].curves)
    expected = {
        style.label: (offset + order.index(curve), -place) for place, (curve, style) in enumerate(script.ROWS.items())
    }
    assert dots == expected and len(dots) == len(order) == 23
    assert panel.describe(tables) == "20 seeds, means over learning to environment step 20,000"


def test_the_rows_of_controls_are_named_on_the_left():
    script = importlib.import_module("controls")
    figure = rendering.draw_figure(script.PANELS, Tables(made_up_curves("controls")), "quick", columns=2)
    rendering.plt.close(figure)
    named = [style.label for style in script.ROWS.values()]
    labels = [[label.get_text() for label in axes.get_yticklabels()] for axes in figure.axes]
    assert labels == [named, [""] * len(named)] * 2
