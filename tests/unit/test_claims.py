"""claims.yaml states all claims, and every mistake in it is told in one sentence."""

import json
import math
import shutil
from pathlib import Path

import pytest
import yaml

from dyna_td.errors import UserError
from dyna_td.evidence import identities
from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.evidence.scores import WINDOWS
from dyna_td.evidence.verdicts import combined
from dyna_td.measures import hitting_times
from dyna_td.pipeline.plans import DIRECTORY, load_plan

PLAN = load_plan("quick")


def claim(tests, **content):
    """A claims file with one claim."""
    return {"claims": [{"number": 1, "text": "t", "place": "p", "figures": [1], "tests": tests, **content}]}


def measured(**content):
    return {"panels": ["figure_1/a"], "expect": "greater", "plus": ["l2"], "minus": ["prioritized_l2"], **content}


def load(tmp_path, content):
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump(content))
    return load_claims(PLAN, tmp_path)


@pytest.mark.parametrize("scale", ["smoke", "quick", "paper"])
def test_all_47_claims_load_at_every_scale_with_a_test_each(scale):
    claims = load_claims(load_plan(scale))
    assert [claim.number for claim in claims] == list(range(1, 48))
    assert all(claim.text and claim.place and claim.tests for claim in claims)


def test_every_margin_and_bound_says_why():
    contents = yaml.safe_load((DIRECTORY / "claims.yaml").read_text())["claims"]
    tests = [test for content in contents for test in content.get("tests", ())]
    assert all(test["why"] for test in tests if "margin" in test or "below" in test)


def test_the_schema_knows_the_windows_and_no_other():
    schema = json.loads((DIRECTORY / "schema.json").read_text())["$defs"]["measured_test"]["properties"]
    assert tuple(schema["window"]["enum"]) == WINDOWS


def test_a_test_below_panels_is_one_test_for_each_with_the_metric_of_the_panel(tmp_path):
    (only,) = load(tmp_path, claim([measured(panels=["figure_1/a", "figure_1/b"])], combine="all"))
    first, second = only.tests
    assert (first.label, second.label) == ("figure_1/a", "figure_1/b")
    assert first.plus[0].metric == "test_rmse" and first.window == "auc"
    assert second.plus[0].run == PLAN.figures["figure_1"].panels["b"].curves["l2"]


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


def test_a_pair_is_an_absolute_difference_and_a_metric_of_its_own_follows_a_colon(tmp_path):
    path = "figure_1/a/l2:test_rmse_high"
    content = {"label": "x", "expect": "greater", "plus": [[path, "figure_1/b/l2"]]}
    (only,) = load(tmp_path, claim([content]))
    ((high, other),) = only.tests[0].plus
    assert (high.metric, other.metric) == ("test_rmse_high", "test_rmse")
    assert only.tests[0].metrics == ["test_rmse_high", "test_rmse"]


@pytest.mark.parametrize(("file", "number"), [("figure_14", 44), ("frozen", 47)])
def test_a_figure_or_study_without_its_file_is_no_mistake(tmp_path, file, number):
    directory = Path(shutil.copytree(DIRECTORY, tmp_path / "experiments"))
    (directory / f"{file}.yaml").unlink()
    claims = {claim.number: claim for claim in load_claims(load_plan("quick", directory), directory)}
    assert all(term.run is None for test in claims[number].tests for term in test.terms)


def test_a_claim_may_compare_curves_of_a_study_which_are_no_figure_that_it_lists(tmp_path):
    test = {"label": "x", "expect": "greater", "plus": ["controls/d/dyna_td"], "minus": ["figure_1/a/l2:test_rmse"]}
    (only,) = load(tmp_path, claim([test]))
    assert only.tests[0].plus[0].run == PLAN.studies["controls"].panels["d"].curves["dyna_td"]
    assert [term.figure for term in only.tests[0].terms] == ["controls", "figure_1"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"claims": []}, ["claims is [], expected a list of at least 1 values"]),
        ({"claim": []}, ["unknown key 'claim'", "did you mean 'claims'?"]),
        (claim([measured()], number=48), ["claims.0.number is 48, expected at most 47"]),
        (claim([measured()], placed="x"), ["unknown key 'placed'", "did you mean 'place'?"]),
        (claim([measured()], figures=[2]), ["claim 1: it compares figure_1/a/l2 but does not list figure 1"]),
        (claim([]), ["claims.0.tests is [], expected a list of at least 1 values"]),
        (claim([measured(), measured()]), ["it has several tests: say by `combine`"]),
        ({"claims": claim([measured()])["claims"] * 2}, ["claim 1: its number is given twice"]),
        (claim([measured(plus=["l3"])]), ["unknown curve of figure_1/a 'l3'", "did you mean 'l2'?"]),
        (claim([measured(panels=["figure_1/z"])]), ["unknown panel of figure_1 'z'", "choose one of a, b, c"]),
        (claim([measured(panels=["figure_99/a"])]), ["unknown figure 'figure_99'"]),
        (claim([measured(panels=["a"])]), ["'a/l2' names no curve: write it as figure_4/a/dyna_td"]),
        (claim([measured(metric="test_rms")]), ["'test_rms'", "did you mean 'test_rmse'?"]),
        (claim([measured(metric="train_rmse+return")]), ["unknown metric of l2 on sin 'return'"]),
        (claim([measured(over="returns")]), ["unknown metric of l2 on sin 'returns'"]),
        (claim([measured(plus=["l2:return"])]), ["unknown metric of l2 on sin 'return'"]),
        (claim([measured(panels=["figure_8/a"])], figures=[8]), ["figure_8/a is a closed form", "use `compute`"]),
        (claim([measured(window="late")]), ["tests.0.window", '"late"']),
        (claim([measured(expect="bigger")]), ["tests.0.expect", '"bigger"']),
        (claim([measured(expect="not_less")]), ["`not_less` needs a margin"]),
        (claim([measured(expect="equivalent")]), ["`equivalent` needs a margin"]),
        (claim([measured(margin=0.1)]), ["'why'", "'margin'"]),
        (claim([measured(margin=0, why="w")]), ["margin is 0, expected a number above 0"]),
        (claim([measured(below=0.1, why="w")]), ["`more_often` needs `below`"]),
        (claim([measured(expect="more_often")]), ["`more_often` needs `below`"]),
        (
            claim([measured(expect="more_often", below=1, why="w", plus=["l2", "l2"])]),
            ["`more_often` compares two curves: give one in plus and one in minus"],
        ),
        (claim([measured(label="x")]), ["a test needs either panels, or a label"]),
        (claim([{"compute": "theorem_3"}]), ["unknown identity 'theorem_3'", "did you mean 'theorem_2'?"]),
        (claim([{"compute": "theorem_1", "margin": 1}]), ["unknown key 'margin'", "allowed are compute"]),
    ],
)
def test_a_mistake_is_one_sentence_that_names_the_file(tmp_path, content, words):
    with pytest.raises(UserError) as error:
        load(tmp_path, content)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".") and sentence.startswith(str(tmp_path / "claims.yaml"))
    assert all(word in sentence for word in words), sentence


@pytest.mark.parametrize(
    ("combine", "verdicts", "verdict"),
    [
        ("all", ["supported", "supported"], "supported"),
        ("all", ["supported", "undecided"], "undecided"),
        ("all", ["supported", "contradicted", "not run"], "contradicted"),
        ("all", ["supported", "not run"], "not run"),
        ("any", ["supported", "contradicted", "not run"], "supported"),
        ("any", ["contradicted", "contradicted"], "contradicted"),
        ("any", ["contradicted", "undecided"], "undecided"),
        ("any", ["contradicted", "not run"], "not run"),
    ],
)
def test_the_verdict_on_a_claim_follows_from_those_on_its_tests(combine, verdicts, verdict):
    assert combined(combine, verdicts) == verdict


@pytest.mark.parametrize("name", identities.IDENTITIES)
def test_every_identity_holds_and_some_claim_rests_on_it(name):
    finding = identities.IDENTITIES[name](PLAN)
    assert finding.holds and math.isfinite(finding.effect) and finding.note
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
def test_an_identity_that_were_wrong_would_be_found_out(monkeypatch, name, function, wrong):
    monkeypatch.setattr(hitting_times, function, wrong)
    assert not identities.IDENTITIES[name](PLAN).holds
