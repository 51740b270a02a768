"""claims.yaml states all claims, and every mistake in it gets one sentence."""

import math

import pytest
import yaml
from files import sentence_of

from dyna_td.evidence import identities
from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.evidence.verdicts import combined
from dyna_td.plan.plans import load_plan
from dyna_td.theory import hitting_times

PLAN = load_plan("quick")


def claim(tests, **content):
    """A claims file with one claim."""
    return {"claims": [{"number": 1, "text": "t", "place": "p", "figures": [1], "tests": tests, **content}]}


def measured(**content):
    return {"panels": ["figure_1/a"], "expect": "greater", "plus": ["l2"], "minus": ["prioritized_l2"], **content}


def load(tmp_path, content):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump(content))
    return load_claims(PLAN, tmp_path)


@pytest.mark.parametrize(
    ("content", "region"),
    [
        ({"expect": "greater"}, (0.0, math.inf)),
        ({"expect": "greater", "margin": 0.5, "why": "w"}, (0.5, math.inf)),
        ({"expect": "not_less", "margin": 2, "why": "w"}, (-2, math.inf)),
        ({"expect": "equivalent", "margin": 2, "why": "w"}, (-2, 2)),
        ({"expect": "equivalent", "margin": 0.25, "relative": True, "why": "w"}, (-math.log(1.25), math.log(1.25))),
    ],
)
def test_the_region_of_a_claim(tmp_path, content, region):
    (only,) = load(tmp_path, claim([measured(**content)]))
    assert only.tests[0].region == pytest.approx(region)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"claim": []}, ["unknown key 'claim'", "did you mean 'claims'?"]),
        (claim([measured()], figures=[2]), ["claim 1: it compares figure_1/a/l2 but does not list figure 1"]),
        (claim([measured(), measured()]), ["it has several tests: say by `combine`"]),
        ({"claims": claim([measured()])["claims"] * 2}, ["claim 1: its number is given twice"]),
        (claim([measured(plus=["l3"])]), ["unknown curve of figure_1/a 'l3'", "did you mean 'l2'?"]),
        (claim([measured(plus=["l2:return"])]), ["unknown metric of l2 on sin 'return'"]),
        (claim([measured(panels=["figure_8/a"])], figures=[8]), ["figure_8/a is a closed form", "use `compute`"]),
        (claim([measured(expect="not_less")]), ["`not_less` needs a margin"]),
        (claim([measured(expect="more_often", margin=1, why="w", plus=["l2", "l2"])]), ["`more_often` compares two"]),
        (claim([{"compute": "theorem_3"}]), ["unknown identity 'theorem_3'", "did you mean 'theorem_2'?"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, content, words):
    sentence = sentence_of(load, tmp_path, content)
    assert sentence.startswith(str(tmp_path / "claims.yaml"))
    assert all(word in sentence for word in words), sentence


def test_the_verdict_on_a_claim_follows_from_those_on_its_tests():
    yes, no, open_, waiting = "supported", "contradicted", "undecided", "not run"
    assert [combined("all", tests) for tests in ([yes, yes], [yes, open_], [yes, no, waiting])] == [yes, open_, no]
    assert [combined("any", tests) for tests in ([no, no], [no, open_], [yes, no, waiting])] == [no, open_, yes]
    assert combined("all", [yes, waiting]) == combined("any", [no, waiting]) == waiting


@pytest.mark.parametrize("name", identities.IDENTITIES)
def test_every_identity_holds_and_some_claim_rests_on_it(name):
    check = identities.IDENTITIES[name](PLAN)
    assert check.holds is (None if name.startswith("cubic_sooner") else True)  # it depends on targets that are ours
    assert math.isfinite(check.effect) and check.note
    tests = [test for claim in load_claims(PLAN) for test in claim.tests if not isinstance(test, MeasuredTest)]
    assert name in [test.label for test in tests]


@pytest.mark.parametrize(
    ("name", "function", "wrong"),
    [
        ("theorem_2", "theorem_2_condition", lambda *case: True),
        ("theorem_2", "theorem_2_condition", lambda *case: False),
        ("theorem_2", "total_cubic_hitting_time", lambda *case: math.inf),
        ("sharper_cubic_gradient", "figure_8b", hitting_times.figure_8a),  # x^2 and x^3 cross at 1
        ("gap_maximum", "gap_function", lambda x: -abs(x - 1.5)),
        ("cubic_slower_near_minimum", "hitting_time_ratio", lambda start, target: 1.0 / target),
    ],
)
def test_a_wrong_identity_is_found_out(monkeypatch, name, function, wrong):
    monkeypatch.setattr(hitting_times, function, wrong)
    assert not identities.IDENTITIES[name](PLAN).holds
