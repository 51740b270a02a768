"""claims.yaml states all claims, readings.yaml other readings of them, and every mistake in them gets one sentence."""

import math
from dataclasses import replace

import pytest
import yaml
from files import rows_of, sentence_of

from dyna_td.evidence import identities
from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.evidence.readings import as_table, load_readings
from dyna_td.evidence.scorecard import judge_all
from dyna_td.evidence.scores import Measured
from dyna_td.evidence.verdicts import combined, judge
from dyna_td.plan.plans import load_plan
from dyna_td.theory import hitting_times

PLAN, PAPER = load_plan("quick"), load_plan("paper")
CLAIMS = load_claims(PLAN)
BATCHES = {"name": "b = 512", "claims": [10], "changes": "b", "curves": {"figure_1/a/l2": "sensitivity/g/l2_b512"}}
OFTEN = {"expect": "more_often", "margin": 1, "why": "w"}


def claim(tests, **content):
    return {"claims": [{"number": 1, "text": "t", "place": "p", "figures": [1], "tests": tests, **content}]}


def measured(**content):
    return {"panels": ["figure_1/a"], "expect": "greater", "plus": ["l2"], "minus": ["prioritized_l2"], **content}


def reading(*contents):
    return {"readings": [*contents]}


def load(folder, content, plan=PLAN):
    """Writes claims.yaml or readings.yaml, and loads it with the project's other file."""
    name = next(iter(content))
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(content))
    return load_readings(plan, load_claims(plan), folder) if name == "readings" else load_claims(plan, folder)


@pytest.mark.parametrize(
    ("content", "region"),
    [
        ({"expect": "greater", "margin": 0.5, "why": "w"}, (0.5, math.inf)),
        ({"expect": "not_less", "margin": 2, "why": "w"}, (-2, math.inf)),
        ({"expect": "equivalent", "margin": 0.25, "relative": True, "why": "w"}, (-math.log(1.25), math.log(1.25))),
    ],
)
def test_the_region_of_a_claim(tmp_path, content, region):
    (only,) = load(tmp_path, claim([measured(**content)]))
    assert only.tests[0].region == pytest.approx(region)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (claim([measured()], figures=[2]), ["claim 1: it compares figure_1/a/l2 but does not list figure 1"]),
        (claim([measured(), measured()]), ["it has several tests: say by `combine`"]),
        (claim([measured(panels=["figures_1/a"])]), ["unknown figure 'figures_1'", "did you mean 'figure_1'?"]),
        (claim([measured(plus=["l3"])]), ["unknown curve of figure_1/a 'l3'", "did you mean 'l2'?"]),
        (claim([measured(expect="not_less")]), ["`not_less` needs a margin"]),
        (claim([measured(**OFTEN, window="final", plus=["l2", "l2"])]), ["`more_often` compares two"]),
        (claim([measured(**OFTEN, window="final", plus=[["l2", "prioritized_l2"]])]), ["`more_often` compares two"]),
        (claim([{"compute": "theorem_3"}]), ["unknown identity 'theorem_3'", "did you mean 'theorem_2'?"]),
        (reading({"name": "x"}), ["'x': it says nothing: give it curves, a window, added_seeds, or inter"]),
        (reading({"name": "x", "changes": "b", "curves": {"figure_1/l": "figure_1/a"}}), ["compares figure_1/l:"]),
        (reading(BATCHES | {"curves": {"figure_1/a/l2": "rates/l2"}}), ["'rates/l2' stands in place of a curve"]),
        (reading(BATCHES | {"curves": {"figure_1/a/l2": "figure_9/a/l"}}), ["unknown curve of figure_9/a 'l'"]),
        (claim([measured(**OFTEN, minus=["l2"])]), ["write `window: final`"]),
        (claim([measured(expect="rarely", margin=0.1, why="w", window="final")]), ["counts the seeds of one curve"]),
        (claim([measured(**OFTEN, window="final", first_seed=20)]), ["leave out `first_seed`"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, content, words):
    sentence = sentence_of(load, tmp_path, content)
    assert sentence.startswith(str(tmp_path / f"{next(iter(content))}.yaml"))
    assert all(word in sentence for word in words), sentence


def test_the_verdict_on_a_claim_follows_from_those_on_its_tests():
    yes, no, open_, waiting = "supported", "contradicted", "undecided", "not run"
    assert [combined("all", tests) for tests in ([yes, yes], [yes, open_], [yes, no, waiting])] == [yes, open_, no]
    assert [combined("any", tests) for tests in ([no, no], [no, open_], [yes, no, waiting])] == [no, open_, yes]
    assert combined("all", [yes, waiting]) == combined("any", [no, waiting]) == waiting


@pytest.mark.parametrize("name", identities.IDENTITIES)
def test_every_identity_holds_and_some_claim_rests_on_it(name):
    check = identities.IDENTITIES[name]()
    assert check.holds is (None if name.startswith("cubic_sooner") else True)  # it depends on targets that are ours
    assert math.isfinite(check.effect) and check.note
    tests = [test for claim in CLAIMS for test in claim.tests if not isinstance(test, MeasuredTest)]
    assert name in [test.label for test in tests]


@pytest.mark.parametrize(
    ("name", "function", "wrong"),
    [
        ("theorem_2", "theorem_2_condition", lambda *case: True),
        ("theorem_2", "total_cubic_hitting_time", lambda *case: math.inf),
        ("sharper_cubic_gradient", "figure_8b", hitting_times.figure_8a),  # x^2 and x^3 cross at 1
        ("gap_maximum", "gap_function", lambda x: -abs(x - 1.5)),
        ("cubic_slower_near_minimum", "hitting_time_ratio", lambda start, target: 1.0 / target),
    ],
)
def test_a_wrong_identity_is_found_out(monkeypatch, name, function, wrong):
    monkeypatch.setattr(hitting_times, function, wrong)
    assert not identities.IDENTITIES[name]().holds


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
    for reading in load_readings(plan, claims):
        assert reading.claims or (scale != "paper" and reading.name == "the added seeds alone")
        for claim in reading.claims:
            stated = claims[claim.number - 1]
            assert claim.tests != stated.tests and len(claim.tests) == len(stated.tests)
            assert (claim.text, claim.combine) == (stated.text, stated.combine)


def test_a_window_takes_the_place_of_auc_alone_and_a_reading_without_claims_is_of_all_that_it_changes(tmp_path):
    changed = load(tmp_path, reading({"name": "the end", "window": "final"}))[0].claims
    of = [claim.number for claim in changed]
    assert {2, 10, 44} <= set(of)
    assert not {1, 7, 14, 26, 27, 32, 33, 45} & set(of)  # computed, another window, or job seconds
    measured = (test for claim in changed for test in claim.tests if isinstance(test, MeasuredTest))
    assert {test.window for test in measured if not test.secondary} == {"final"}
    (fresh,) = (claim for claim in changed if claim.number == 44)
    assert [test.first_seed for test in fresh.tests] == [20, 0]  # a reading does not lower a claim's first seed


def test_the_interquartile_mean_is_judged_without_the_outer_quarters_of_the_seeds(tmp_path):
    changed = load(tmp_path, reading({"name": "iqm", "interquartile_mean": True}))[0].claims
    assert not {1, 7, 27, 34} & {claim.number for claim in changed}  # computed, job seconds, or shares of trainings
    claim = next(claim for claim in changed if claim.number == 10)
    assert [claim.tests[0], *CLAIMS[9].tests] == [replace(CLAIMS[9].tests[0], of_middle_half=True), *CLAIMS[9].tests]

    def level(run, seed):  # PrioritizedL2 is worse by a little, but far better for a fifth of the seeds
        return 9 + (seed % 7) / 100 + (run.agent == "prioritized_l2") * (-5 if seed < 10 else 1)

    verdicts = [judge(each, made_up(level, range(50)))[0] for each in (CLAIMS[9], claim)]
    assert verdicts == ["undecided", "supported"]


def test_added_seeds_are_judged_without_the_seeds_that_panels_show(tmp_path):
    content = reading({"name": "added", "claims": [15, 28], "added_seeds": True})
    claim, other = load(tmp_path, content, PAPER)[0].claims
    assert {test.first_seed for test in claim.tests} == {50}  # figure 9 shows 50 seeds of 1,000
    first = {test.label: test.first_seed for test in other.tests if test.first_seed}
    assert first == {"figure_4/a": 20, "figure_4/c": 20, "figure_4/e": 20}

    def level(run, seed):  # with noise the error is larger from seed 50 on, and smaller before
        noise = 1 if run.settings.noise == 0.5 else -1
        return 9 + noise * (1 + seed / 1000) * (1 if seed >= 50 else -1)

    stated = load_claims(PAPER)[14]
    verdicts = [judge(each, made_up(level, range(60)))[0] for each in (stated, claim)]
    assert verdicts == ["contradicted", "supported"]


def test_a_reading_can_turn_a_verdict_and_is_not_run_without_its_runs(tmp_path):
    levels = {("l2", 128): 0.6, ("prioritized_l2", 128): 0.4, ("l2", 512): 0.2}
    of_32 = BATCHES | {"name": "b = 32", "curves": {"figure_1/a/l2": "sensitivity/g/l2_b32"}}
    chosen = load(tmp_path, reading(BATCHES, of_32))

    def level(run, seed):
        error = levels.get((run.agent, run.settings.batch_size))
        return error and error * (1 + seed / 1000)

    read = made_up(level, range(20))
    judged = [(each, one) for each in chosen for one in judge_all(each.claims, PLAN.scale, read)]
    verdicts = {(each.name, one.claim.number): one.verdict for each, one in judged}
    assert verdicts == {("b = 512", 10): "supported", ("b = 32", 10): "not run"}
    assert set(as_table(judged)["reading"]) == {"b = 512", "b = 32"}
