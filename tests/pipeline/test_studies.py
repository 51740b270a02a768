"""Studies beyond the paper: planned and run like its figures, and no part of all_figures."""

import re
from dataclasses import asdict

import pytest
import yaml

from dyna_td.errors import UserError
from dyna_td.pipeline.plans import STUDIES, load_plan

PAPER = load_plan("paper")
CONTROLS, SENSITIVITY = (PAPER.studies[name].panels for name in ("controls", "sensitivity"))


def differences(run, other):
    """The settings in which two runs differ, their agents too; a swept learning rate counts as one."""
    mine, theirs = ({**asdict(each.settings), "agent": each.agent, "sweep": each.sweep} for each in (run, other))
    return {name for name in mine if mine[name] != theirs.get(name, mine[name])}


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_studies_are_planned_beside_the_figures_and_share_their_runs(scale):
    plan = load_plan(scale)
    assert tuple(plan.studies) == STUDIES and not set(plan.studies) & set(plan.figures)
    assert plan.figure("controls") is plan.studies["controls"]
    shown = {run for figure in plan.drawn.values() for run in figure.runs}
    assert len({run.name for run in shown}) == len(shown) == len(plan.all_runs)
    assert set(plan.runs) < set(plan.all_runs)


def test_a_variant_of_dyna_td_is_dyna_td_but_for_what_it_is_called_after():
    swapped = ("descend_td", "random_sign", "descend_value", "random_direction", "noise_only", "replayed_states")
    changed = {key: {"agent"} for key in swapped} | {
        "dyna_td_algorithm_4": {"search_control"},
        "dyna_td_langevin": {"search_control"},
        "dyna_td_learned": {"model"},
        "dyna_value_learned": {"agent", "model"},
        "replayed_states_learned": {"agent", "model"},
    }
    for key, panel in CONTROLS.items():
        for curve, expected in changed.items():
            assert differences(panel.curves[curve], panel.curves["dyna_td"]) == expected, (key, curve)
        assert differences(panel.curves["er_same_rate"], panel.curves["er"]) == {"sweep"}


@pytest.mark.parametrize(
    ("letter", "usual", "varied"),
    [
        ("b", ("dyna_td",), {"queue_capacity"}),
        ("d", ("dyna_td",), {"agent", "chain_noise"}),
        ("e", ("prioritized_er",), {"agent", "priority_exponent"}),
        ("g", ("l2", "prioritized_l2", "full_prioritized_l2"), {"batch_size"}),
        ("n", ("dyna_td",), {"agent", "acceptance"}),
        ("q", ("dyna_td_learned", "er"), {"agent", "model_stop", "chain_noise"}),
    ],
)
def test_sensitivity_varies_one_number_around_a_run_of_a_figure(letter, usual, varied):
    curves = SENSITIVITY[letter].curves
    assert all(curves[curve].name in PAPER.runs for curve in usual)
    for curve, run in curves.items():
        base = curves[max((name for name in usual if curve.startswith(name)), key=len, default=usual[0])]
        assert curve in usual or differences(run, base) <= varied


@pytest.mark.parametrize(
    ("study", "key", "change", "sentence"),
    [
        ("controls", "a", {"curves": {"ideal_states": None}}, "a: curves.ideal_states: .* does not train on Mount"),
        ("frozen", "b", {"states": {"source": "langevin", "moment": "early"}}, "b: states of source langevin are"),
    ],
)
def test_what_cannot_be_trained_or_measured_is_refused_with_its_place(experiments_copy, study, key, change, sentence):
    path = experiments_copy / f"{study}.yaml"
    content = yaml.safe_load(path.read_text())
    content["panels"][key] |= change
    path.write_text(yaml.safe_dump(content))
    with pytest.raises(UserError, match=rf"{study}\.yaml: panels\.{sentence}"):
        load_plan("quick", experiments_copy)


def test_snakemake_plans_a_study_on_its_own(snakemake):
    dry = snakemake("--dry-run", "frozen", "--config", "scale=paper")
    assert dry.returncode == 0, dry.stderr
    jobs = {rule: int(count) for rule, count in re.findall(r"^(\w+) +(\d+)$", dry.stdout + dry.stderr, re.MULTILINE)}
    assert jobs["train_sampled_run"] == len(PAPER.studies["frozen"].runs)
    assert (jobs["aggregate_figure_with_states"], jobs["frozen"]) == (1, 1) and "train_run" not in jobs
