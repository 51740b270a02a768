"""Studies beyond the paper: planned and run like its figures, and no part of all_figures."""

import re

import pytest
import yaml

from dyna_td.errors import UserError
from dyna_td.pipeline.plans import load_plan

PAPER = load_plan("paper")


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
