"""Each claim is judged from runs in which it is true, runs in which it is false, and runs that are too few."""

import zlib
from fnmatch import fnmatchcase

import numpy as np
import pandas as pd
import pytest
import yaml

from dyna_td import cli
from dyna_td.evidence.claims import Claim, MeasuredTest, Term, load_claims
from dyna_td.evidence.scorecard import as_csv, lines, scorecard
from dyna_td.evidence.verdicts import judge
from dyna_td.pipeline import results
from dyna_td.pipeline.plans import DIRECTORY, load_plan
from dyna_td.pipeline.scores import Measured, reader
from dyna_td.settings import ControlSettings, Run

# What each curve's metric is in runs in which a claim is true, by hand from the claim's text; the last pattern wins.
# A pattern is a curve, or a curve and a metric after a colon.
GOOD, BAD = -100.0, -600.0  # returns
TRUE = {
    2: {"figure_11/[ac]/cubic": 0.4, "figure_11/[ac]/full_prioritized_l2": 0.6, "figure_11/[bd]/*": 0.5},
    8: {"*/full_prioritized_l2": 0.4, "*/prioritized_l2": 0.6},
    9: {"*/full_prioritized_l2": 0.4, "*/l2": 0.6},
    10: {"*/l2": 0.4, "*/prioritized_l2": 0.6},
    11: {"figure_1/a/*": 0.4, "figure_1/b/*": 0.6},
    12: {"figure_1/a/full_prioritized_l2": 0.3, "figure_1/a/l2": 0.5, "figure_1/b/*": 0.6},
    13: {
        "*/full_prioritized_l2": 0.3,
        "figure_10/a/l2": 0.5,
        "figure_10/b/l2": 0.35,
        "*/prioritized_l2": 0.6,
    },
    14: {"*:test_rmse_low": 0.2, "*:test_rmse_high": 0.6},
    15: {"figure_9/a/*": 0.4, "figure_9/b/*": 0.6},
    16: {"*/cubic": 0.4, "*/power4": 0.4, "*/l2": 0.6},
    17: {"*/cubic": 0.5, "*/l2": 0.5, "*/power4": 0.7},
    18: {"figure_9/a/*": 0.4, "figure_9/b/*": 0.7, "figure_9/b/l2": 0.5},
    19: {"*/full_prioritized_er": GOOD, "*/prioritized_er": BAD},
    20: {"*/full_prioritized_er": GOOD, "*/er": BAD},
    21: {
        "*:occupied_cells*": 500.0,
        "*:mass_*": 0.1,
        "*:entropy_*": 3.5,
        "*/dyna_td:occupied_cells": 1000.0,
        "*/dyna_td:mass_*": 0.3,
        "*/dyna_td:entropy_*": 4.4,
    },
    22: {"*/prioritized_er:*": 0.6, "*/dyna_td_long:*": 0.3},
    23: {"*/prioritized_er:*": 0.6, "*:*_exact_uniform": 0.3},
    24: {"*/prioritized_er:*": 0.6, "*/dyna_td*": 0.3},
    25: {"*": 0.5},
    26: {"*/dyna_td": GOOD, "*/er": BAD, "*/prioritized_er": BAD},
    27: {"*": 1.0},  # of the jobs' seconds alone
    28: {"*/dyna_td": GOOD, "*/prioritized_er": BAD},
    29: {"*/er": GOOD, "*/prioritized_er": BAD},
    30: {"*": BAD, "figure_4/[bdfh]/dyna_td": GOOD},
    31: {"*": BAD, "figure_4/[bdfh]/er": -500.0, "figure_4/[bdfh]/dyna_td": GOOD},
    32: {"*/dyna_value": BAD, "*/dyna_td": 450.0},
    33: {"*/dyna_value:*": 3.9, "*/dyna_td:*": 4.5},
    34: {"*:*_steps_made": 1000.0, "*:*_vanished_gradients": 300.0, "*:*_nonfinite_gradients": 20.0},
    35: {"*/dyna_td*": GOOD, "*/prioritized_er": BAD},
    36: {"*/dyna_td": GOOD, "*/er": BAD},
    37: {"*/dyna_td_learned": 2000.0, "*er": 1000.0},
    38: {"*/er": 2000.0, "*/prioritized_er": 1000.0},
    39: {"*": 4.0},
    40: {"*:episode_length": 10.0, "*/dyna_td_learned:crashed": 0.1, "*er:crashed": 0.4},
    41: {"*/dyna_td_learned:*": 8.0, "*er:speed": 12.0},
    42: {"*:episode_length": 10.0, "*/dyna_td_learned:crashed": 0.1, "*er:crashed": 0.4},
    43: {"*/dyna_frequency": BAD, "*/dyna_td*": GOOD},
    44: {"*/dyna_value": BAD, "*/dyna_frequency": GOOD},
    45: {"*:beta_*": 1.0, "*:variation_*": 0.1, "*:variation_uniform": 0.3},
    46: {"*:cosine_*": 0.97},
    47: {"*:bound_slack": 0.95},
}
# Where a claim is not false as soon as what is larger were smaller.
FALSE = {
    2: {"figure_11/[ac]/*": 0.5, "figure_11/[bd]/cubic": 0.4, "figure_11/[bd]/full_prioritized_l2": 0.6},
    17: {"*/cubic": 0.5, "*/l2": 0.7, "*/power4": 0.5},
    25: {"*": 0.5, "*/dyna_td_learned:*": 0.7},
    34: {"*:*_steps_made": 1000.0, "*:*_vanished_gradients": 10.0, "*:*_nonfinite_gradients": 0.0},
    39: {"*": 4.0, "*/er": 3.0},
    40: {"*:episode_length": 10.0, "*/dyna_td_learned:crashed": 0.4, "*er:crashed": 0.1},
    42: {
        "*:episode_length": 10.0,
        "*/dyna_td_learned:crashed": 0.4,
        "*/prioritized_er:crashed": 0.1,
        "*/er:crashed": 0.3,
    },
    45: {"*:beta_*": 1.0, "*:variation_*": 0.1, "*:variation_uniform": 0.3, "*:beta_algorithm_4": 20.0},
    46: {"*:cosine_*": 0.3},
    47: {"*:bound_slack": -0.5},
}
COMPUTED = (1, 3, 4, 5, 6, 7)
STEPS, SEEDS = 12, 8


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """Makes a plan of short runs with `seeds` seeds each, and its claims."""

    def make(seeds):
        directory = tmp_path_factory.mktemp("experiments")
        for path in DIRECTORY.iterdir():
            (directory / path.name).write_bytes(path.read_bytes())
        scale = yaml.safe_load((directory / "scales.yaml").read_text())["smoke"]
        for extent in scale.values():
            extent |= {"seeds": seeds, "steps": STEPS, "evaluate_every": 1}
            if "settings" in extent:
                extent["settings"] = {"warm_up_steps": 2}
        (directory / "scales.yaml").write_text(yaml.safe_dump({"short": scale}))
        plan = load_plan("short", directory)
        return plan, {claim.number: claim for claim in load_claims(plan, directory)}

    return {seeds: make(seeds) for seeds in (3, SEEDS)}


def write_run(directory, plan, run, metrics, seconds=10.0):
    """Results of `run` whose metrics have the given means over seeds that differ by about a hundredth."""
    steps = range(0, run.steps + 1, run.evaluate_every)
    rng = np.random.default_rng(zlib.crc32(run.name.encode()))
    frames = []
    for metric, mean in metrics.items():
        by_seed = mean * (1.0 + 0.01 * rng.normal(size=len(run.seeds)))
        frames += [
            pd.DataFrame({"seed": run.seeds, "step": step, "metric": metric, "value": by_seed}) for step in steps
        ]
    details = {
        **results.describe(run),
        "train_seconds": seconds,
        "trained_seeds": len(run.seeds),
        "train_seconds_at": [[step, seconds * step / run.steps] for step in steps],
    }
    results.write(results.run_csv(plan.scale, run.name, directory), pd.concat(frames), details)


def jobs(er):
    """The training seconds of each agent's job, by its name."""
    return lambda agent: er if agent == "er" else 10.0


def write_runs(directory, plan, claim, values, seconds):
    """Results of all runs that `claim` compares."""
    runs: dict[Run, dict[str, float]] = {}
    for test in claim.tests:
        for term in getattr(test, "terms", ()):
            metrics = runs.setdefault(term.run, {})
            for metric in [*term.metric.split("+"), *([test.over] if test.over else [])]:
                for pattern, value in values.items():
                    if fnmatchcase(f"{term.path}:{metric}", pattern if ":" in pattern else f"{pattern}:*"):
                        metrics[metric] = value
    for run, metrics in runs.items():
        write_run(directory, plan, run, metrics, seconds(run.agent))


def verdict_on(number, setting, directory, values, seconds):
    plan, claims = setting
    write_runs(directory, plan, claims[number], values, seconds)
    return judge(claims[number], plan, reader(plan.scale, directory))[0]


def mirrored(values):
    """The same numbers, the largest for the smallest and so on."""
    return {pattern: max(values.values()) + min(values.values()) - value for pattern, value in values.items()}


@pytest.mark.parametrize("number", TRUE)
def test_a_true_claim_is_supported_a_false_one_contradicted_and_with_too_little_data_undecided(number, short, tmp_path):
    true, false = TRUE[number], FALSE.get(number) or mirrored(TRUE[number])
    assert verdict_on(number, short[SEEDS], tmp_path / "true", true, jobs(er=6.0)) == "supported"
    assert verdict_on(number, short[SEEDS], tmp_path / "false", false, jobs(er=3.0)) == "contradicted"
    assert verdict_on(number, short[3], tmp_path / "few", true, jobs(er=0.5)) == "undecided"


@pytest.mark.parametrize("number", COMPUTED)
def test_a_computed_claim_needs_no_runs(number, short, tmp_path):
    plan, claims = short[SEEDS]
    assert judge(claims[number], plan, reader(plan.scale, tmp_path))[0] == "supported"


def in_memory(*samples, metric="return"):
    """Runs whose seeds have the given values at every evaluation, and what reads them."""
    found = {}
    for agent, sample in zip(("er", "prioritized_er", "full_prioritized_er"), samples, strict=False):
        run = Run("GridWorld", agent, ControlSettings(warm_up_steps=0), tuple(range(len(sample))), 2, 1)
        rows = [(seed, step, metric, value) for step in range(3) for seed, value in enumerate(sample)]
        records = pd.DataFrame(rows, columns=["seed", "step", "metric", "value"])
        found[run] = Measured(run, records, {}, "make it")
    return [Term(f"figure_4/a/{run.agent}", run, metric) for run in found], found.get


def compare(plus, minus, expect="greater", **changes):
    return MeasuredTest("x", ((plus,),), ((minus,),), expect, **changes)


def outcomes_of(tests, read):
    return judge(Claim(1, "t", "p", ("figure_4",), "all", tuple(tests)), None, read)[1]


def test_runs_with_the_same_seeds_are_paired_and_others_are_not():
    base = np.array([1.0, 5.0, 9.0, 20.0, 30.0])
    (a, b, c), read = in_memory(base + np.array([1.0, 1.1, 0.9, 1.0, 1.05]), base, base[:4])
    paired, unpaired = outcomes_of([compare(a, b), compare(a, c)], read)
    assert (paired.verdict, paired.pairing, paired.n) == ("supported", "paired", "5")
    assert (unpaired.verdict, unpaired.pairing, unpaired.n) == ("undecided", "unpaired", "5+4")
    assert paired.effect == pytest.approx(1.01) and unpaired.effect == pytest.approx(14.01 - 8.75)


def test_a_relative_effect_is_a_ratio_less_one():
    (a, b), read = in_memory([2.2, 4.5, 6.5, 8.7, 10.0], [2.0, 4.0, 6.0, 8.0, 9.0])
    (found,) = outcomes_of([compare(a, b, "equivalent", relative=True, margin=0.2)], read)
    assert found.verdict == "supported"
    assert found.effect == pytest.approx(0.1, abs=0.005)
    assert 0.05 < found.low95 < found.effect < found.high95 < 0.15


def test_tests_of_one_claim_share_its_error_rate():
    values = np.array([0.2, 1.0, 1.5, 0.4, 2.0, -0.2, 1.2, 0.6])
    (a, b), read = in_memory(values, np.zeros(8))
    (alone,) = outcomes_of([compare(a, b)], read)
    assert alone.verdict == "supported" and alone.low95 > 0
    noise = [compare(b, b)] * 99
    among_many = outcomes_of([compare(a, b), *noise], read)[0]
    assert among_many.verdict == "undecided" and among_many.low95 == alone.low95
    assert among_many.p_supported == pytest.approx(min(1.0, 100 * alone.p_supported))


def test_a_seed_that_diverged_is_left_out_and_named():
    (a, b), read = in_memory([3.0, np.nan, 3.1, 3.3, 2.9, 3.2], [1.0, 1.0, 1.1, 0.9, 1.0, 1.2])
    (found,) = outcomes_of([compare(a, b)], read)
    assert (found.verdict, found.n, found.note) == ("supported", "5", "left out, not finite: seed 1")


def test_how_often_counts_seeds_and_a_diverged_one_as_stuck():
    (a, b), read = in_memory([1.0] * 7 + [np.nan, 9.0, 9.0], [9.0] * 10)
    (found,) = outcomes_of([compare(a, b, "more_often", below=5.0)], read)
    assert (found.verdict, found.effect, found.note) == ("supported", 0.8, "8 of 10 against 0 of 10 below 5")
    # 8 of the 10 in one row: 10! 12! / (2! 20!) of all tables, twice for both directions.
    assert found.p_supported == pytest.approx(2 * 45 / 125970)


def test_without_runs_nothing_is_trained_and_the_commands_that_would_are_told(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["claims", "--scale", "smoke"]) == 0
    out, err = capsys.readouterr()
    assert err == "" and not (tmp_path / "results" / "smoke" / "runs").exists()
    assert "results/smoke/claims.csv (scale smoke: no evidence): 6 supported, 0 contradicted" in out
    assert "claims 21: make figure_2 SCALE=smoke\n" in out and "claims 45, 46, 47: make frozen SCALE=smoke\n" in out
    card = pd.read_csv("results/smoke/claims.csv")
    stated = card[card["row"] == "claim"].set_index("claim")
    assert list(stated.index) == list(range(1, 48))
    assert set(stated.loc[list(COMPUTED), "verdict"]) == {"supported"}
    assert set(stated["verdict"].drop(list(COMPUTED))) == {"not run"}


def test_verdicts_are_the_same_bytes_each_time_and_say_their_scale_and_sources(short, tmp_path):
    plan, claims = short[SEEDS]
    write_runs(tmp_path, plan, claims[43], TRUE[43], jobs(er=1.0))
    chosen = [claims[number] for number in (1, 43, 44, 45)]
    cards = [scorecard(chosen, plan, reader(plan.scale, tmp_path)) for _ in range(2)]
    assert as_csv(cards[0]) == as_csv(cards[1])
    rows = cards[0].set_index(["claim", "row"])
    assert list(rows.loc[[(43, "claim")], "evidence"]) == ["no"]
    assert list(rows.loc[[(1, "test")], "evidence"]) == ["yes"]
    assert set(rows.loc[[(43, "test")], "sources"]) == {"current"}
    assert list(rows.loc[[(43, "test")], "window"]) == ["auc 2..12"] * 2
    assert list(rows.loc[[(44, "claim")], "verdict"]) == ["not run"]
    assert [line.split()[:2] for line in lines(cards[0], chosen)] == [["1", "supported"], ["43", "supported"]]
