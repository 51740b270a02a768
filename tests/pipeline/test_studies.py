"""Studies beyond the paper: planned, run and drawn like its figures, and no part of all_figures."""

import json
import re
from dataclasses import asdict

import draw
import pandas as pd
import pytest
import rendering
import yaml
from tables import Tables

from dyna_td.errors import UserError
from dyna_td.pipeline.metrics import FROZEN_METRICS
from dyna_td.pipeline.plans import STUDIES, load_plan
from dyna_td.publishing import reference

SCALES = ("smoke", "quick", "paper")
PAPER = load_plan("paper")


def differences(run, other):
    """The settings in which two runs differ, their agents too; a swept learning rate counts as one."""
    mine, theirs = ({**asdict(each.settings), "agent": each.agent, "sweep": each.sweep} for each in (run, other))
    return {name for name in mine if mine[name] != theirs.get(name, mine[name])}


@pytest.mark.parametrize("scale", SCALES)
def test_studies_are_drawn_beside_the_figures(scale):
    plan = load_plan(scale)
    assert tuple(plan.studies) == STUDIES and not set(plan.studies) & set(plan.figures)
    assert set(plan.drawn) == set(plan.figures) | set(STUDIES)
    assert plan.figure("controls") is plan.studies["controls"]


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
        ("j", ("dyna_td", "dyna_value"), {"agent", "queue_goals"}),
        ("m", ("dyna_td", "dyna_frequency", "dyna_value"), {"agent", "queue_goals"}),
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
    with pytest.raises(UserError, match=r"controls\.yaml: .* declares run .* with other seeds than .*figure_"):
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


# Pictures


def dots_of(study, letter, curves):
    """The panel, its axes, and the dots by the name of their row: mean and place from above."""
    (panel,) = (panel for panel in draw.panels_of(study)[0] if panel.letter == letter)
    figure = rendering.draw_figure([panel], Tables(curves), "quick", columns=1)
    rendering.plt.close(figure)
    dots = {dot.get_label(): [float(part[0]) for part in dot.lines[0].get_data()] for dot in figure.axes[0].containers}
    return panel, figure.axes[0], {label: (x, -y) for label, (x, y) in dots.items()}


@pytest.mark.parametrize(("letter", "offset"), [("b", 0.0), ("d", 1.0)])
def test_a_control_is_a_dot_in_its_row_at_its_mean_or_at_its_mean_less_dyna_tds(letter, offset):
    declared = PAPER.studies["controls"].panels[letter]
    rows = [
        {"panel": letter, "curve": curve, "step": 50_000, "metric": f"{declared.metric}_{of}", "mean": mean, "n": 20}
        for place, curve in enumerate(declared.curves)
        for of, mean in (("over_learning", 1.0 + place), ("less_dyna_td", place))
    ]
    panel, axes, dots = dots_of("controls", letter, pd.DataFrame(rows).assign(standard_error=0.25))
    order = list(declared.curves)
    expected = {style.label: (offset + order.index(key), row) for row, (key, style) in enumerate(panel.rows.items())}
    assert dots == expected and len(dots) == len(order)
    assert any(label.get_text() for label in axes.get_yticklabels()) == panel.is_left
    assert panel.describe(Tables(pd.DataFrame(rows))) == "20 seeds, means over learning to environment step 50,000"


def test_a_measurement_of_frozen_is_a_dot_in_its_row_and_says_how_many_seeds_have_it_if_not_all():
    rows = [
        {"panel": "e", "curve": "dyna_td_frozen", "step": 50_000, "metric": metric, "mean": mean, "n": 20}
        for mean, metric in enumerate(FROZEN_METRICS)
    ]
    curves = pd.DataFrame(rows).assign(standard_error=0.25)
    curves.loc[curves["metric"] == "beta_algorithm_4", "n"] = 2
    panel, axes, dots = dots_of("frozen", "e", curves)
    numbers = {metric: number for number, metric in enumerate(FROZEN_METRICS)}
    assert dots == {style.label: (numbers[metric], row) for row, (metric, style) in enumerate(panel.rows.items())}
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert "Algorithm 4 (2 seeds)" in labels and "released rule" in labels
