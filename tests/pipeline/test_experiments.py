"""The YAML files say what the paper says, and every mistake in them is told in one sentence."""

import json
import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest
import yaml

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.pipeline import drawings, plans, results, yaml_files
from dyna_td.pipeline.plans import load_plan
from dyna_td.pipeline.yaml_files import check
from dyna_td.settings import (
    AcceptanceSettings,
    ChainNoiseSettings,
    DDPGDynaSettings,
    DQNSettings,
    FrozenSettings,
    PriorityExponentSettings,
    RegressionSettings,
)

ROOT = Path(__file__).parents[2]
SCALES = ("smoke", "quick", "paper")


def edit(path, old, new):
    """Replaces the first `old` of the file at `path`."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def refusal(experiments, scale="quick"):
    """The sentence with which the experiments in a folder are refused."""
    with pytest.raises(UserError) as error:
        load_plan(scale, experiments)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


@pytest.mark.parametrize("scale", SCALES)
def test_every_file_of_experiments_plans(scale):
    plan = load_plan(scale)
    files = {path.stem for path in (ROOT / "experiments").glob("figure_*.yaml")}
    others = {path.stem for path in (ROOT / "experiments").glob("*.yaml")} - files
    assert set(plan.figures) == files and others == {*plan.studies, "scales", "claims", "readings", "findings", "deviations"}
    assert list(plan.figures) == sorted(files, key=lambda name: int(name.partition("_")[2]))


def test_the_paper_scale_has_the_numbers_of_the_paper():
    plan = load_plan("paper")
    figure = plan.figures["figure_1"]
    supervised, mountain_car = figure.panels["a"].curves["l2"], figure.panels["c"].curves["full_prioritized_er"]
    assert (len(supervised.seeds), len(mountain_car.seeds)) == (50, 30)
    assert supervised.sweep == (0.01, 0.001, 0.0001, 0.00001) and mountain_car.sweep == (0.001, 0.0001)
    assert figure.panels["b"].curves["l2"].settings.examples == 400
    assert supervised.settings == RegressionSettings(examples=4000, noise=0.5, batch_size=128, hidden=(32, 32))
    assert mountain_car.settings == DQNSettings(
        planning_updates=10, batch_size=32, hidden=(16, 16), buffer_capacity=10_000, warm_up_steps=5_000
    )
    assert figure.panels["c_n1"].curves["er"].settings == replace(mountain_car.settings, planning_updates=1)
    assert plan.figures["figure_9"].panels["a"].curves["power4"].settings.noise == 0.1
    assert plan.figures["figure_11"].panels["d"].curves["cubic"].settings.batch_size == 512


def test_figures_share_the_runs_that_they_have_in_common():
    figures = load_plan("paper").figures
    first = figures["figure_1"].panels
    assert set(figures["figure_10"].runs) < set(figures["figure_1"].runs)
    assert figures["figure_9"].panels["b"].curves["l2"] == first["a"].curves["l2"]
    assert figures["figure_11"].panels["a"].curves["full_prioritized_l2"] == first["a"].curves["full_prioritized_l2"]
    assert figures["figure_11"].panels["a"].curves == figures["figure_11"].panels["c"].curves


def test_cubic_is_plain_in_figure_9_and_scaled_in_figure_11():
    figures = load_plan("paper").figures
    assert figures["figure_9"].panels["b"].curves["cubic"].agent == "plain_cubic"
    assert figures["figure_11"].panels["a"].curves["cubic"].agent == "cubic"


@pytest.mark.parametrize("scale", SCALES)
def test_selection_seeds_are_never_reported(scale):
    plan = load_plan(scale)
    for run in plan.runs.values():
        candidates = plan.selection_runs(run)
        assert tuple(candidate.settings.learning_rate for candidate in candidates) == run.sweep
        assert not any(set(candidate.seeds) & set(run.seeds) or candidate.sweep for candidate in candidates)


@pytest.mark.parametrize("scale", SCALES)
def test_runs_of_one_name_are_one_run_and_names_are_good_file_names(scale):
    plan = load_plan(scale)
    assert all(run.name == name for name, run in plan.runs.items())
    assert all(re.fullmatch(r"[\w./-]+", name) for name in plan.runs)


def test_a_scale_bounds_a_figure_but_never_enlarges_it(experiments_copy):
    edit(experiments_copy / "figure_9.yaml", "seeds: 50", "seeds: 3")
    edit(experiments_copy / "figure_9.yaml", "steps: 50000", "steps: 700")
    panels = load_plan("quick", experiments_copy).figures["figure_9"].panels
    small, usual = panels["a"].curves["l2"], panels["b"].curves["l2"]
    assert (len(small.seeds), small.steps) == (3, 700)
    assert (len(usual.seeds), usual.steps) == (5, 10_000)


def test_the_schema_knows_every_setting_and_no_other():
    kinds = (RegressionSettings, DDPGDynaSettings, ChainNoiseSettings, AcceptanceSettings)
    kinds += (PriorityExponentSettings, FrozenSettings)
    settings = [setting for kind in kinds for setting in fields(kind)]
    assert {setting.name for setting in settings} == set(registry.SETTINGS)
    defaults = {setting.name: setting.default for setting in settings} | {"hidden": [32, 32], "model_hidden": [64, 64]}
    check(defaults, "settings", "the defaults")
    with pytest.raises(UserError, match="unknown key 'momentum'"):
        check({"momentum": 0.9}, "settings", "a setting that nobody has")


def test_every_agent_names_a_module_that_exists():
    modules = {path.partition(":")[0] for path in (registry.LEARNERS | registry.CONTROL_AGENTS).values()}
    missing = [name for name in modules if not (ROOT / "src" / name.replace(".", "/")).with_suffix(".py").exists()]
    assert not missing


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("metric: test_rmse", "metric: test_rms", ["panels.a", "on sin 'test_rms'", "'test_rmse'"]),
        ("metric: test_rmse", "metric: return", ["panels.a", "on sin 'return'", "choose one of test_rmse"]),
        ("environment: sin", "environment: sine", ["panels.a", "environment 'sine'"]),
        ("prioritized_l2:", "prioritised_l2:", ["panels.a", "agent 'prioritised_l2'", "'prioritized_l2'"]),
        ("      l2:", "      er:", ["panels.a", "'er' does not train on sin"]),
        ("seeds: 50", "seeds: 0", ["panels.a.seeds is 0", "at least 1"]),
        ("seeds: 50", "seeds: 50.0", ["panels.a.seeds is 50.0", "whole number"]),
        ("seeds: 50", "seeds: 1001", ["panels.a.seeds is 1001", "at most 1000"]),
        ("seeds: 50", "seeds: []", ["panels.a.seeds is []", "whole number"]),
        ("seeds: 50", "seeds:", ["panels.a.seeds is null", "whole number"]),
        ("seeds: 50", "seed: 50", ["unknown key 'seed' in panels.a", "'seeds'"]),
        ("steps: 50000", "steps: 5e4", ['panels.a.steps is "5e4"', "a whole number: write 50000."]),
        ("steps: 50000", "steps: 5.0e+4", ["panels.a.steps is 50000.0", "a whole number: write 50000."]),
        ("steps: 50000", "steps: 5e-1", ['panels.a.steps is "5e-1"', "expected a whole number."]),
        ("steps: 50000", "steps: 1e400", ['panels.a.steps is "1e400"', "expected a whole number."]),
        ("steps: 50000", "steps: 1.5", ["panels.a.steps is 1.5", "whole number"]),
        ("examples: 4000", "exmples: 4000", ["'exmples' in panels.a.settings", "'examples'"]),
        ("batch_size: 128", "planning_updates: 3", ["panels.a", "planning_updates", "sin"]),
        ("noise: 0.5", "noise: -0.5", ["panels.a.settings.noise is -0.5", "at least 0"]),
        ("[1.0e-3, 1.0e-4]", "1e-3", ['panels.c.settings.learning_rate is "1e-3"', "write 1.0e-3"]),
        ("[1.0e-3, 1.0e-4]", "1.0e3", ['panels.c.settings.learning_rate is "1.0e3"', "write 1.0e+3"]),
        ("[1.0e-3, 1.0e-4]", "0", ["panels.c.settings.learning_rate is 0", "above 0"]),
        ("[1.0e-3, 1.0e-4]", "-0.1", ["panels.c.settings.learning_rate is -0.1", "above 0"]),
        ("[1.0e-3, 1.0e-4]", ".nan", ["panels.c.settings.learning_rate is NaN", "number"]),
        ("[1.0e-3, 1.0e-4]", "[1.0e-3, .inf]", ["panels.c.settings.learning_rate.1 is Infinity", "number"]),
        ("      er:", "      ../../er:", ["panels.c.curves", '"../../er"', "small letters"]),
        (
            "[1.0e-3, 1.0e-4]",
            "[1.0e-3]",
            ["learning_rate is [0.001]", "or one number without brackets"],
        ),
        ("[1.0e-3, 1.0e-4]", "[]", ["panels.c.settings.learning_rate is []", "at least 2"]),
        ("[1.0e-3, 1.0e-4]", "[1.0e-3, 1e-4]", ["panels.c.settings.learning_rate.1", "write 1.0e-4"]),
        ("hidden: [16, 16]", "hidden: 16", ["panels.c.settings.hidden is 16", "a list"]),
        ("title:", "titel:", ["unknown key 'titel'", "'title'"]),
        ("panels:", "panel:", ["unknown key 'panel'", "'panels'"]),
        ("  b: #", "  a: #", ["figure_1.yaml", "'a' twice"]),
        ("title: The", "title: [The", ["figure_1.yaml", "not valid YAML at line"]),
    ],
)
def test_a_mistake_in_a_figure_is_refused_with_its_place_and_remedy(experiments_copy, old, new, words):
    edit(experiments_copy / "figure_1.yaml", old, new)
    sentence = refusal(experiments_copy)
    assert "figure_1.yaml" in sentence
    assert [word for word in words if word not in sentence] == []


def test_an_unknown_closed_form_is_refused(experiments_copy):
    edit(experiments_copy / "figure_7.yaml", "figure_7a", "figure_7")
    assert "panels.a: unknown closed_form 'figure_7': did you mean 'figure_7a'?" in refusal(experiments_copy)


def test_a_metric_that_a_closed_form_does_not_have_is_refused(experiments_copy):
    edit(experiments_copy / "figure_7.yaml", "metric: gap_function", "metric: gap")
    assert "panels.a: unknown metric of figure_7a 'gap'" in refusal(experiments_copy)


def test_an_empty_file_is_refused(experiments_copy):
    (experiments_copy / "figure_8.yaml").write_text("")
    assert "figure_8.yaml: the file is null, expected a mapping" in refusal(experiments_copy)


def test_an_unknown_scale_is_refused_with_the_nearest():
    with pytest.raises(UserError, match=r"^unknown scale 'papr': did you mean 'paper'\? choose one of .*\.$"):
        load_plan("papr")


@pytest.mark.parametrize(
    ("old", "new", "differing"),
    [
        ("seeds: 50", "seeds: 40", "seeds 40 instead of 50"),
        ("steps: 50000", "steps: 400", "steps 400 instead of 50000"),
        ("1.0e-3, ", "", "sweep (0.01, 0.0001, 1e-05) instead of (0.01, 0.001, 0.0001, 1e-05)"),
    ],
)
def test_two_figures_that_disagree_about_a_run_are_refused_with_both_places(experiments_copy, old, new, differing):
    edit(experiments_copy / "figure_10.yaml", old, new)
    sentence = refusal(experiments_copy, "paper")
    places = [f"figure_{number}.yaml: panels.a.curves.l2" for number in (10, 1)]
    assert all(place in sentence for place in places) and f"with {differing} at " in sentence


def test_two_panels_of_a_figure_that_disagree_about_a_run_are_refused_with_both_places(experiments_copy):
    edit(experiments_copy / "figure_3.yaml", "steps: 50000\n", "steps: 40000\n")
    sentence = refusal(experiments_copy, "paper")
    assert "figure_3.yaml: panels.b.curves.dyna_td declares run GridWorld/dyna_td/" in sentence
    assert "with steps 40000 instead of 50000 at " in sentence and "figure_3.yaml: panels.a.curves.dyna_td:" in sentence


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        (
            "figure_9",
            "      l2:\n",
            "      l2:\n      l2_again: {agent: l2}\n",
            ["panels.a.curves.l2_again has no style"],
        ),
        (
            "figure_9",
            "      power4:\n",
            "",
            ["panels.a has the curves l2, cubic, but figures/figure_9.py draws power4"],
        ),
        ("figure_9", "  b: #", "  d: #", ["panels lacks b, which figures/figure_9.py draws"]),
        ("figure_9", "metric: test_rmse", "metric: train_rmse", ["panels.a.metric is train_rmse", "draws test_rmse"]),
        ("figure_3", "    against: train_seconds", "    #", ["panels.c.against is step", "draws train_seconds"]),
        ("figure_7", "  a:", "  b:", ["panels lacks a, which figures/figure_7.py draws"]),
        (
            "figure_8",
            "form: figure_8c",
            "form: figure_8d",
            ["panels.c has the curves start_", "figures/figure_8.py draws"],
        ),
    ],
)
def test_what_a_figure_script_would_lack_is_refused_before_anything_is_trained(experiments_copy, file, old, new, words):
    edit(experiments_copy / f"{file}.yaml", old, new)
    with pytest.raises(UserError) as error:
        drawings.require_drawable(load_plan("quick", experiments_copy))
    assert [word for word in (f"{file}.yaml: ", *words) if word not in str(error.value)] == []


def test_a_figure_without_a_script_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(drawings, "DIRECTORY", tmp_path)
    with pytest.raises(UserError, match=r"figure_1\.yaml: figures/figure_1\.py, which would draw it, is missing"):
        drawings.require_drawable(load_plan("quick"))


BAD_NAMES = [
    "../../x",
    "/etc/x",
    "a/../x",
    "a/..",
    "x y",
    "a;b",
    "$(a)",
    "é",
    ".x",
    "-x",
    "a//b",
    "a/",
    "a\nb",
    "a\n",
    "",
    "a" * 201,
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_leads_out_of_the_results_or_is_no_file_name_is_refused(name, experiments_copy):
    with pytest.raises(UserError, match=r"^the run's name is .* with '/' between words: .*\.$"):
        plans.require_file_name(name)
    edit(experiments_copy / "figure_1.yaml", "environment: sin", f"environment: {json.dumps(name)}")
    assert "figure_1.yaml: panels.a.environment is " in refusal(experiments_copy)


def test_the_name_of_every_run_is_checked(experiments_copy, monkeypatch):
    plans.require_file_name("ALE/Pong-v5/er/n10-lr1e-05-net64x64")
    monkeypatch.setattr(plans, "LONGEST_NAME", 40)
    assert "figure_1.yaml: panels.a: curves.prioritized_l2: the run's name is 'sin/prior" in refusal(experiments_copy)


def test_all_14_figures_are_there_and_no_other():
    plan = load_plan("quick")
    assert list(plan.figures) == [f"figure_{number}" for number in range(1, 15)]
    with pytest.raises(UserError, match=r"^unknown figure 'figure_99'"):
        plan.figure("figure_99")


def test_editing_one_figure_leaves_the_runs_of_the_others_as_they_are(experiments_copy):
    before = {name: results.describe(run) for name, run in load_plan("quick", experiments_copy).runs.items()}
    edit(experiments_copy / "figure_9.yaml", "noise: 0.1", "noise: 0.2")
    after = {name: results.describe(run) for name, run in load_plan("quick", experiments_copy).runs.items()}
    changed = {name for name in before | after if before.get(name) != after.get(name)}
    assert changed == {
        f"sin/{agent}/t4000-sigma{noise}-b128-lrselected"
        for agent in ("power4", "l2", "plain_cubic")
        for noise in (0.1, 0.2)
    }


def test_a_comment_in_a_file_changes_no_run(experiments_copy):
    before = load_plan("quick", experiments_copy).runs
    edit(experiments_copy / "figure_1.yaml", "title:", "# a remark\ntitle:")
    assert load_plan("quick", experiments_copy).runs == before


def test_every_setting_of_a_run_that_is_not_the_default_shows_in_its_name():
    run = load_plan("paper").figures["figure_1"].panels["c"].curves["er"]
    changed = {"exploration": 0.2, "discount": 0.9, "target_period": 10, "hidden": (8,), "learning_rate": 0.5}
    names = {replace(run, settings=replace(run.settings, **{k: v}), sweep=()).name for k, v in changed.items()}
    assert len(names | {run.name}) == len(changed) + 1


def test_the_lock_pins_every_requirement_and_names_no_host_or_folder():
    lock = (ROOT / "requirements.lock").read_text()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    requirements = (*project["dependencies"], *project["optional-dependencies"]["dev"])
    wanted = {re.match(r"[\w-]+", line)[0] for line in requirements}
    assert wanted <= pinned
    assert "cpprb" not in pinned
    assert not re.search(r"://|file:|--(extra-)?index|/home|/work", lock)


def test_the_conda_environment_has_the_versions_of_the_lock():
    lock = (ROOT / "requirements.lock").read_text()
    pip = yaml.safe_load((ROOT / "environment.yaml").read_text())["dependencies"][-1]["pip"]
    assert len(pip) > 10
    assert [line for line in pip if not re.search(rf"^{re.escape(line)}( ;|$)", lock, re.MULTILINE)] == []


def test_the_experiments_are_found_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "figure_1" in load_plan("quick").figures
    with pytest.raises(UserError, match=r"cannot read .*scales\.yaml"):
        load_plan("quick", tmp_path / "missing")


@pytest.mark.parametrize("content", ["{", "{}", "[]"])
def test_a_damaged_schema_is_told_in_one_sentence(monkeypatch, tmp_path, content):
    (tmp_path / "schema.json").write_text(content)
    monkeypatch.setattr(yaml_files, "_SCHEMA", tmp_path / "schema.json")
    yaml_files._validator.cache_clear()
    try:
        with pytest.raises(UserError, match=r"schema\.json cannot be read .*get it again with git"):
            yaml_files.check({}, "figure", "here")
    finally:
        yaml_files._validator.cache_clear()
