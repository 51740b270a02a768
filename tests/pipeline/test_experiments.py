"""The YAML files say what the paper says, and each mistake in them gets one sentence."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from files import edit, sentence_of

from dyna_td.errors import UserError
from dyna_td.plan import plans, yaml_files
from dyna_td.plan.plans import load_plan


@pytest.mark.parametrize("scale", ("smoke", "quick", "paper"))
def test_selection_seeds_are_never_reported_and_each_sweep_has_its_own(scale):
    plan = load_plan(scale)
    for run in plan.figure_runs.values():
        candidates = plan.selection_runs(run)
        assert tuple(candidate.settings.learning_rate for candidate in candidates) == run.sweep
        assert not any(set(candidate.seeds) & set(run.seeds) or candidate.sweep for candidate in candidates)
    plan = load_plan("paper")
    seeds = [plan.selection_runs(run)[0].seeds for run in plan.runs.values() if run.sweep]
    every = {seed for block in seeds for seed in block}
    assert len(every) == 20 * len(seeds) and min(every) >= 1000 and max(every) < 10**6  # what `--seeds` takes


def test_a_scale_bounds_a_figure_but_never_enlarges_it(experiments_copy):
    edit(experiments_copy / "figure_9.yaml", "<<: *panel", "<<: *panel\n    seeds: 3\n    steps: 700")
    usual, small = (
        panel.curves["l2"] for panel in load_plan("quick", experiments_copy).figure("figure_9").panels.values()
    )
    assert (len(small.seeds), small.steps) == (3, 700)
    assert (len(usual.seeds), usual.steps) == (4, 50_000)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("metric: test_rmse", "metric: test_rms", ["panels.a", "'test_rms'", "'test_rmse'"]),
        ("      l2:", "      er:", ["panels.a", "'er' does not train on sin"]),
        ("seeds: 50", "seeds: 0", ["panels.a.seeds is 0", "minimum of 1"]),
        ("seeds: 50", "seeds: many", ["panels.a.seeds is 'many': expected a whole number."]),
        ("    environment: sin\n", "", ["panels.a lacks 'environment': add it."]),
        ("seeds: 50", "seed: 50", ["unknown key 'seed' in panels.a", "'seeds'"]),
        ("panels:", "scene: GridWorld\npanels:", ["panels.a is the scene's place", "b, c"]),
        ("[1.0e-3, 1.0e-4]", "[1.0e-3]", ["learning_rate is [0.001]", "one number"]),
        ("      er:", "      ../../er:", ["panels.c.curves", "'../../er'", "small letters"]),
        ("      warm_up_steps: 100", "      warmup_steps: 100", ["smoke.control.settings: unknown setting"]),
        ("langevin\n      moment: late", "langevin\n      moment: early", ["panels.b: states of source"]),
        (
            "langevin\n      moment: late",
            "langevin\n      moment: late\n    settings: {<<: *settings, probe: long_chains}",
            ["probe: rules"],
        ),
        ("occupied_cells_buffer", "cells_right_buffer", ["panels.b: metric cells_right_buffer counts sampled states"]),
        ("      l2:", "      l2: {agent: power4}", ["curves.l2: its key stands for another agent than"]),
        ("    metric: test_rmse", "    y_limits: [2, 1]\n    metric: test_rmse", ["y_limits are 2 and 1"]),
        ("    metric: test_rmse", "    drawn: false\n    metric: test_rmse", ["no panel is drawn"]),
        ("    MountainCar-v0/er/n5-lr0.001: 100", "    figure_14: 100", ["more_seeds names 'figure_14'"]),
        ("  fewer_steps:\n", "  fewer_steps:\n    figure_15: 10\n", ["fewer_steps names 'figure_15'"]),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_remedy(experiments_copy, old, new, words):
    files = {"langevi": "frozen", "occupie": "figure_2", "    met": "figure_9"}
    scale = {"      w": "smoke", "    Mou": "paper", "  fewer": "quick"}.get(old[:7])
    file = "scales" if scale else files.get(old[:7], "figure_1")
    edit(experiments_copy / f"{file}.yaml", old, new)
    sentence = sentence_of(load_plan, scale or "quick", experiments_copy)
    assert f"{file}.yaml" in sentence
    assert [word for word in words if word not in sentence] == []


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_a_figure_may_be_edited_though_a_scale_names_its_published_runs(experiments_copy, scale):
    edit(experiments_copy / "figure_3.yaml", "planning_updates: 10", "planning_updates: 11")
    edit(experiments_copy / "figure_6.yaml", "environment: Hopper-v4", "environment: Hopper-v5")
    plan = load_plan(scale, experiments_copy)
    assert "GridWorld/dyna_td_long/n11-lr0.001" in plan.figure_runs and "Hopper-v5/er/n5-lr0.001" in plan.figure_runs


@pytest.mark.parametrize("model", ["true", True])  # YAML reads an unquoted true as a boolean
def test_an_environment_without_a_true_model_refuses_it(model):
    with pytest.raises(UserError, match="the dynamics of Hopper-v4 are not known: write learned"):
        plans.make_settings("Hopper-v4", "dyna_td", {"model": model})


def test_numbers_may_be_written_as_people_write_them():
    found = yaml.load("[2e-3, 2E-3, .002, 2.0e-03, 5e4]", Loader=yaml_files._Loader)
    assert found == [0.002] * 4 + [50_000] and type(found[-1]) is int


def test_a_curve_with_the_name_of_an_agent_says_that_its_model_is_learned(experiments_copy, monkeypatch):
    text = (experiments_copy / "figure_13.yaml").read_text().replace("dyna_td_learned", "dyna_td")
    (experiments_copy / "mine.yaml").write_text(text)
    monkeypatch.setattr(plans, "STUDIES", (*plans.STUDIES, "mine"))
    labels = [panel.labels for panel in plans.load_plan("paper", experiments_copy).studies["mine"].panels.values()]
    assert {"dyna_td": "Dyna-TD, learned model"} in labels


@pytest.mark.parametrize(
    ("change", "name", "of_steps"),
    [
        ({"steps": 8000}, "", 50_000),
        ({"steps": 8200}, "-steps8200", 0),  # of which the published run has no evaluation
        ({"evaluate_every": 300, "seeds": 30}, "-seeds30-every300", 0),
    ],
)
def test_a_study_of_ones_own_shows_the_beginning_of_a_shared_run_or_has_its_own(
    change, name, of_steps, experiments_copy, monkeypatch
):
    # "mine" comes before the study that publishes the run.
    panel = {"metric": "return", "environment": "CartPole-v1", "seeds": 20, "steps": 50_000, "evaluate_every": 500}
    panel |= {"settings": {"planning_updates": 5, "learning_rate": 1e-3}, "curves": {"er": None}} | change
    (experiments_copy / "mine.yaml").write_text(yaml.safe_dump({"title": "Mine", "panels": {"a": panel}}))
    monkeypatch.setattr(plans, "STUDIES", ("mine", *plans.STUDIES))
    before, plan = load_plan("paper"), plans.load_plan("paper", experiments_copy)
    assert {figure: plan.drawn[figure] for figure in before.drawn} == before.drawn
    run = plan.studies["mine"].panels["a"].curves["er"]
    assert (run.name, run.of_steps) == (f"CartPole-v1/er/n5-lr0.001{name}", of_steps)
    assert run.steps == panel["steps"] and len(plan.studies["mine"].panels["a"].curves["er"].seeds) >= panel["seeds"]
    whole = plan.runs[run.name]
    assert (whole.steps, whole.of_steps) == (max(run.steps, of_steps), 0)
    assert set(plan.runs) == {*before.runs, run.name}


@pytest.mark.parametrize("study", ["mine", "my study"])
def test_a_mistake_in_a_study_of_ones_own_refuses_it_alone(experiments_copy, monkeypatch, study):
    content = "title: {" if study == "mine" else (experiments_copy / "rates.yaml").read_text()
    (experiments_copy / f"{study}.yaml").write_text(content)
    monkeypatch.setattr(plans, "STUDIES", (study, *plans.STUDIES))
    plan = plans.load_plan("paper", experiments_copy)
    assert set(plan.drawn) == set(load_plan("paper").drawn)
    with pytest.raises(UserError, match=rf"{study}\.yaml"):
        plan.figure(study)


def test_a_study_with_another_ending_is_named(experiments_copy):
    (experiments_copy / "mine.yml").write_text("title: Mine")
    with pytest.raises(UserError, match=r"mine\.yml ends in \.yml: name it mine\.yaml"):
        plans.load_plan("paper", experiments_copy).figure("mine")


def test_no_study_has_the_name_of_a_rule(experiments_copy, monkeypatch):
    rules = re.findall("^(?:use )?rule .*?(\\w+)(?: with)?:$", Path("Snakefile").read_text(), re.MULTILINE)
    assert len(rules) > 5 and all(rule.startswith(plans.RULES) for rule in rules)
    monkeypatch.setattr(plans, "STUDIES", (*plans.STUDIES, "draw_figure_3"))
    assert "draw_figure_3.yaml: names with draw_ are" in sentence_of(load_plan, "quick", experiments_copy)


def test_two_curves_with_other_sweeps_have_two_runs(experiments_copy):
    edit(experiments_copy / "figure_10.yaml", "1.0e-3, ", "")
    figures = load_plan("paper", experiments_copy).figures
    names = [figures[figure].panels["a"].curves["l2"].name for figure in ("figure_1", "figure_10")]
    assert names[0] != names[1] and names[1].endswith("-lrselected-rates0.01x0.0001x1e-05")


def test_every_setting_of_a_run_that_is_not_the_default_shows_in_its_name():
    run = load_plan("paper").figures["figure_1"].panels["c"].curves["er"]
    changed = {"exploration": 0.2, "discount": 0.9, "target_period": 10, "hidden": (8,), "learning_rate": 0.5}
    names = {replace(run, settings=replace(run.settings, **{k: v}), sweep=()).name for k, v in changed.items()}
    assert len(names | {run.name}) == len(changed) + 1
