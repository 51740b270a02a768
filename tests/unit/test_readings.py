"""Readings replace a claim's curves, window, seeds or mean, and every mistake gets one sentence."""

from dataclasses import replace

import pytest
import yaml
from files import rows_of, sentence_of

from dyna_td.evidence import readings
from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.evidence.scores import Measured
from dyna_td.evidence.verdicts import judge
from dyna_td.plan.plans import load_plan

PLAN = load_plan("quick")
CLAIMS = load_claims(PLAN)
BATCHES = {"name": "b = 512", "claims": [10], "changes": "b", "curves": {"figure_1/a/l2": "sensitivity/g/l2_b512"}}


def load(tmp_path, *contents):
    (tmp_path / "readings.yaml").write_text(yaml.safe_dump({"readings": list(contents)}))
    return readings.load_readings(PLAN, CLAIMS, tmp_path)


def made_up(level, seeds):
    """A reader of runs with these seeds; each evaluation is `level(run, seed)`, and None stands for no run."""

    def read(run):
        if level(run, 0) is None:
            return None
        keys = {"seed": seeds, "step": (0, 5_000, 10_000), "metric": ("test_rmse",)}
        records = rows_of(lambda seed, *_: level(run, seed), **keys)
        return Measured(replace(run, seeds=tuple(seeds)), records, {}, "make it")

    return read


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_the_readings_load_at_every_scale_and_change_what_they_are_of(scale):
    plan = load_plan(scale)
    claims = load_claims(plan)
    for name, changed in readings.load_readings(plan, claims).items():
        assert changed or (scale != "paper" and name == "the added seeds alone")
        for claim in changed:
            stated = claims[claim.number - 1]
            assert claim.tests != stated.tests and len(claim.tests) == len(stated.tests)
            assert (claim.text, claim.combine) == (stated.text, stated.combine)


def test_a_window_takes_the_place_of_auc_alone_and_a_reading_without_claims_is_of_all_that_it_changes(tmp_path):
    (changed,) = load(tmp_path, {"name": "the end", "window": "final"}).values()
    of = [claim.number for claim in changed]
    assert {2, 10, 44} <= set(of)
    assert not {1, 7, 14, 26, 27, 32, 33, 45} & set(of)  # computed, another window, or job seconds
    counted = (test for claim in changed for test in claim.tests if isinstance(test, MeasuredTest) and not test.beside)
    assert {test.window for test in counted} == {"final"}
    (fresh,) = (claim for claim in changed if claim.number == 44)
    assert [test.first_seed for test in fresh.tests] == [20, 0]  # a reading does not lower a claim's first seed


def test_the_interquartile_mean_is_judged_without_the_outer_quarters_of_the_seeds(tmp_path):
    (changed,) = load(tmp_path, {"name": "iqm", "interquartile_mean": True}).values()
    assert not {1, 7, 27, 34} & {claim.number for claim in changed}  # computed, job seconds, or shares of trainings
    claim = next(claim for claim in changed if claim.number == 10)
    assert [claim.tests[0], *CLAIMS[9].tests] == [replace(CLAIMS[9].tests[0], of_middle_half=True), *CLAIMS[9].tests]

    def level(run, seed):  # PrioritizedL2 is worse by a little, but far better for a fifth of the seeds
        return 9 + (seed % 7) / 100 + (run.agent == "prioritized_l2") * (-5 if seed < 10 else 1)

    plan = load_plan("paper")
    verdicts = [judge(each, plan, made_up(level, range(50)))[0] for each in (CLAIMS[9], claim)]
    assert verdicts == ["undecided", "supported"]


def test_added_seeds_are_judged_without_the_seeds_that_panels_show(tmp_path):
    plan = load_plan("paper")
    claims = load_claims(plan)
    (tmp_path / "readings.yaml").write_text("readings: [{name: added, claims: [15, 28], added_seeds: true}]")
    ((claim, other),) = readings.load_readings(plan, claims, tmp_path).values()
    assert {test.first_seed for test in claim.tests} == {50}  # figure 9 shows 50 seeds of 1,000
    first = {test.label: test.first_seed for test in other.tests if test.first_seed}
    assert first == {"figure_4/c": 20, "figure_4/e": 20}

    def level(run, seed):  # with noise the error is larger from seed 50 on, and smaller before
        noise = 1 if run.settings.noise == 0.5 else -1
        return 9 + noise * (1 + seed / 1000) * (1 if seed >= 50 else -1)

    verdicts = [judge(each, plan, made_up(level, range(60)))[0] for each in (claims[14], claim)]
    assert verdicts == ["contradicted", "supported"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"name": "x"}, ["reading 'x': it says nothing: give it curves, a window, added_seeds, or interquartile_mean"]),
        (BATCHES | {"claims": [10, 44]}, ["it changes nothing of claim 44: remove the claim from its list"]),
        (BATCHES | {"curves": {"figure_1/a/l2": "sensitivity/g/l3"}}, ["unknown curve of sensitivity/g 'l3'"]),
        (
            BATCHES | {"curves": BATCHES["curves"] | {"figure_1/a/l": "figure_1/a/l2"}},
            ["no claim of it compares figure_1/a/l: name a curve as figure_4/a/er, or a panel as figure_4/a"],
        ),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, content, words):
    sentence = sentence_of(load, tmp_path, content)
    assert sentence.startswith(str(tmp_path / "readings.yaml"))
    assert all(word in sentence for word in words), sentence


def test_a_reading_can_turn_a_verdict_and_is_not_run_without_its_runs(tmp_path):
    levels = {("l2", 128): 0.6, ("prioritized_l2", 128): 0.4, ("l2", 512): 0.2}
    chosen = load(tmp_path, BATCHES, BATCHES | {"name": "b = 32", "curves": {"figure_1/a/l2": "sensitivity/g/l2_b32"}})

    def level(run, seed):
        error = levels.get((run.agent, run.settings.batch_size))
        return error and error * (1 + seed / 1000)

    table = readings.judged(chosen.items(), PLAN, made_up(level, range(20)))
    rows = table[table["row"] == "claim"]
    verdicts = dict(zip(rows["reading"], rows["verdict"], strict=True))
    assert verdicts == {"b = 512": "supported", "b = 32": "not run"} and set(rows["claim"]) == {10}
