"""What README, docs and findings say in numbers is what `reference/` holds."""

import re

import numpy as np
import pandas as pd
import pytest

from dyna_td.evidence import statistics
from dyna_td.evidence.scores import score
from dyna_td.evidence.verdicts import DISAGREES
from dyna_td.pages import markdown, marked_text, tables
from dyna_td.pages.facts import Facts
from dyna_td.pipeline import published
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.policy import load_policy
from dyna_td.publishing import always_slower, walkers

FACTS = Facts()


def page(name):
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def says(number, *words):
    """Whether the finding of a claim has each of `words`."""
    text = FACTS.findings[number].measured
    missing = [each for each in words if each not in text]
    assert FACTS.findings[number].verdict == FACTS.verdicts[number] and not missing, missing


def by_seed(figure, panel, curve, metric, window="auc", over=None):
    shown = (FACTS.plan.figures | FACTS.plan.studies)[figure].panels[panel]
    return score(FACTS.read(shown.curves[curve]), metric, window, over)


def rows_of(number):
    return FACTS.tests(number).set_index("test")


@pytest.mark.parametrize("part", [markdown.answer, markdown.advice])
def test_the_answer_is_that_of_the_published_verdicts(part):
    begin, end = marked_text.marks(part.__name__)
    assert f"{begin}\n{part(FACTS)}{end}" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_answer_has_at_most_120_words():
    assert len((markdown.answer(FACTS) + markdown.advice(FACTS)).split()) <= 120


def test_a_correction_only_takes_wins_and_losses_away_and_the_uncorrected_ones_are_the_tables():
    means = FACTS.curves("what_to_use")
    panels = FACTS.plan.studies["what_to_use"].panels
    for curve in ("prioritized_er", "laber", "dyna_td", "dyna_td_learned"):
        rows = means.loc[[(key, curve, "return_less_er") for key in panels]]
        plain, sure = tables.wins_and_losses(FACTS, curve, "er")
        assert plain == ((rows["low95"] > 0).sum(), (rows["high95"] < 0).sum())
        assert all(few <= many for few, many in zip(sure, plain, strict=True))
    lost = [
        tables.wins_and_losses(FACTS, curve, "er")[1][1] for curve in ("prioritized_er", "laber", "dyna_td_learned")
    ]
    assert lost == [0, 0, 0] and tables.wins_and_losses(FACTS, "laber_unweighted", "er")[1][1] == 1
    wins = [won for won, _ in tables.wins_and_losses(FACTS, "dyna_td_learned", "er")]
    assert "wins fall from eight to six" in page("docs/beyond-the-paper.md") and wins == [8, 6]
    rivals = [tables.wins_and_losses(FACTS, curve, "prioritized_er") for curve in ("dyna_td", "uniform_states")]
    assert [[won for won, _ in both] for both in rivals] == [[7, 7], [9, 6]]
    assert "Dyna-TD keeps its seven wins, and uniform states six of nine" in page("docs/beyond-the-paper.md")


@pytest.mark.parametrize(("number", "words"), [(28, "in seven of twelve panels"), (36, "in ten of twelve panels")])
def test_a_panel_on_which_the_intervals_disagree_does_not_count_as_won(number, words):
    rows = FACTS.tests(number)
    rows = rows[(rows["verdict"] == "supported") & (rows["expect"] != "computed")]
    disputed = rows["note"].str.contains(DISAGREES)
    assert f"in {markdown.in_words((~disputed).sum())} of twelve panels" == words and disputed.sum() == 1
    says(number, words, "the intervals disagree")


def test_two_seeds_carry_dyna_tds_lead_on_acrobot_at_equal_rates():
    rival = by_seed("rates", "k", "prioritized_er_fixed", "return")
    lead = (by_seed("figure_4", "c", "dyna_td", "return") - rival).dropna().sort_values()
    half = tables.half_width(lead)
    assert len(lead) == 20
    says(
        28,
        f"leads by {lead.mean():.0f} (20 seeds)",
        f"{lead.mean() - half:.0f} to +{lead.mean() + half:.0f} by Student",
    )
    says(28, f"The other 18 average {lead[:-2].mean():.0f}")


def test_long_chains_are_farther_from_the_ideal_than_short_ones():
    of = {panel: FACTS.plan.figures["figure_3"].panels[panel].metric for panel in "ab"}
    gap = {p: by_seed("figure_3", p, "dyna_td_long", of[p]) - by_seed("figure_3", p, "dyna_td", of[p]) for p in of}
    ends = [gap["b"].mean() + sign * tables.half_width(gap["b"]) for sign in (0, -1, 1)]
    mean, low, high = (f"{1e5 * end:.1f}e-5" for end in ends)
    says(22, f"by {mean} ({low} to {high})", "Under on-policy weighting no difference shows")
    assert abs(gap["a"].mean()) < tables.half_width(gap["a"])


def test_chains_that_mix_follow_the_td_error_only_with_acceptance():
    def of(metric):
        return by_seed("frozen", "i", "dyna_td_frozen", metric, "end")

    def distances(*names):
        return tuple(f"{of(f'variation_{name}').mean():.3f}" for name in names)

    adjusted = of("beta_adjusted")
    ends = (adjusted.mean() + sign * tables.half_width(adjusted) for sign in (-1, 1))
    says(45, "|delta|^{:.2f} ({:.2f} to {:.2f} over seeds)".format(adjusted.mean(), *ends))
    says(45, f"From uniform states it is {of('beta_adjusted_uniform').mean():.2f}")
    near, uniform, between = distances("adjusted", "uniform", "between_adjusted")
    says(45, f"total variation {near} against {uniform}", f"two starts differ by {between}")
    far, between = distances("longer", "between_longer")
    says(
        45, f"an exponent of {of('beta_longer').mean():.2f} and a distance of {far}", f"two starts differ by {between}"
    )
    (moved,) = distances("between_constant_y")
    says(46, f"{moved} in total variation, where two starts of the same chains differ by {between}")
    change = (of("variation_longer_constant_y") - of("variation_longer")).abs()
    row = rows_of(46).loc["total variation to |delta|, absolute change"]
    low, high = (f"{float(row[key]):.3f}" for key in ("low90", "high90"))
    says(46, f"{change.mean():.3f} in the mean over seeds, without signs (90%: {low} to {high})")
    says(46, f"In {(change > 0.05).sum()} of {len(change)} seeds")
    beyond = page("docs/beyond-the-paper.md")
    assert f"|delta\\|^{adjusted.mean():.2f}" in beyond and f"|delta\\|^{of('beta_longer').mean():.2f}" in beyond
    assert f"total variation {moved}, where two starts differ by {between}" in beyond


def test_ratios_in_findings_are_ratios_of_means():
    for number, test in ((17, "figure_9/b"), (25, "figure_3/a")):
        row = FACTS.tests(number)
        row = row[(row["test"] == test) & (row["unit"] == "relative")].iloc[0]
        digits = 1 if number == 17 else 0
        says(number, *(f"{abs(100 * float(row[key])):.{digits}f}%" for key in ("effect", "low95", "high95")))
        assert "geometric mean" in row["note"]


def test_dead_seeds_of_hopper_are_those_whose_actions_are_saturated():
    table = pd.read_csv(published.DIRECTORY / "walkers.csv")
    hopper = table[table["environment"] == "Hopper-v4"]
    dead = hopper[hopper["saturated"] > 0.99]
    assert dict(zip(dead["curve"], dead["seed"], strict=True)) == {"dyna_td_learned": 0, "prioritized_er": 3, "er": 0}
    assert (dead["steps"].round() == 22).all()
    means = []
    for curve, seed in zip(dead["curve"], dead["seed"], strict=True):
        returns = by_seed("figure_6", "a", curve, "return")
        means.append((f"{returns.drop(seed).mean():.0f}", f"{returns.mean():.0f}"))
        lengths = (
            FACTS.read(FACTS.plan.figures["figure_6"].panels["a"].curves[curve]).values("episode_length").loc[seed]
        )
        assert lengths[lengths.index >= 15_000].max() <= 23
    (td, _), (per, _), (er, _) = means
    says(37, f"Dyna-TD has {td}, PrioritizedER {per} and ER {er}", "514, 492 and 462", "seed 0 of ER and of Dyna-TD")
    assert [whole for _, whole in means] == ["514", "492", "462"]
    says(38, f"the means are {er} and {per}")


def test_the_distances_of_trained_walkers_are_those_of_20_episodes():
    table = pd.read_csv(published.DIRECTORY / "walkers.csv")
    assert set(table["episodes"]) == {20}
    ends = table[table["environment"] == "Walker2d-v4"].groupby("curve")["distance"].agg(["min", "max"])
    er, dyna_td, prioritized = (ends.loc[curve] for curve in ("er", "dyna_td_learned", "prioritized_er"))
    says(37, "in 20 new episodes", f"end {-prioritized['max']:.1f} to {-prioritized['min']:.1f} m behind their start")
    says(37, f"ER's end {er['min']:.1f} to {er['max']:.1f} m ahead", f"{dyna_td['min']:.1f} to {dyna_td['max']:.1f} m.")
    best = table[table["environment"] == "Hopper-v4"].sort_values("return").groupby("curve").tail(1)
    assert best["distance"].abs().max() < 0.9 and best["steps"].min().round() == 896


def test_the_tables_of_played_policies_can_be_made_again():
    table = pd.read_csv(published.DIRECTORY / "walkers.csv").set_index(["environment", "curve", "seed"])
    run = FACTS.plan.figures["figure_6"].panels["a"].curves["er"]
    policy = load_policy(published.stored(f"{run.name}.policy.npz", published.DIRECTORY))
    found = walkers.walks(policy, 0, episodes=2)
    assert found["saturated"] == 1.0 and found["steps"] == pytest.approx(
        table.loc["Hopper-v4", "er", 0]["steps"], abs=1
    )
    slow = pd.read_csv(published.DIRECTORY / "always_slower.csv").set_index("exploration")
    again = always_slower.always_slower(0.0, episodes=3)
    assert [again[key] for key in ("return", "crashed", "speed")] == pytest.approx(
        [slow.loc[0.0, key] for key in ("return", "crashed", "speed")], rel=1e-4
    )


def test_the_roundabouts_findings_name_the_policy_that_always_slows_down():
    slow = pd.read_csv(published.DIRECTORY / "always_slower.csv").set_index("exploration").loc[0.05]
    said = f"{slow['return']:.2f} (± {slow['return_half95']:.2f})"
    says(39, said)
    ends = [
        by_seed("figure_13", "d", curve, "return", "final") for curve in ("er", "dyna_td_learned", "prioritized_er")
    ]
    low, high = (ends[0].mean() + sign * tables.half_width(ends[0]) for sign in (-1, 1))
    says(39, f"ER has {ends[0].mean():.2f} ({low:.2f} to {high:.2f})", "no agent clearly beats stopping")
    says(39, f"Dyna-TD {ends[1].mean():.2f} and PrioritizedER {ends[2].mean():.2f}")
    assert max(each.mean() - tables.half_width(each) for each in ends) < slow["return"]
    curves = ("dyna_td_learned", "er", "prioritized_er")
    before, after = [], []
    for curve in curves:
        crashes = FACTS.read(FACTS.plan.figures["figure_13"].panels["b"].curves[curve]).values("crashed")
        before.append(crashes.loc[:, crashes.columns <= 5000].sum(axis=1).mean())
        after.append(crashes.loc[:, crashes.columns > 5000].sum(axis=1).mean())
    assert np.ptp(before) == 0.0
    assert f"Its crashes, {before[0]:.1f} a seed," in page("figures/captions/figure_13.rst")
    says(40, f"The first {before[0]:.1f} crashes", "{:.1f}, {:.1f} and {:.1f}".format(*after), f"{slow['crashed']:.1%}")
    says(41, f"slows down drives {slow['speed']:.1f} m/s")
    says(42, f"slows down crashes in {slow['crashed']:.1%}")


def test_a_coins_cost_and_a_readings_number_are_those_of_the_studies():
    means = FACTS.curves("controls")
    worst = [means.loc[(panel, "random_sign", "return_less_dyna_td"), "low95"] for panel in "ba"]
    words = "less than {:.0f} on GridWorld and {:.0f} on MountainCar".format(*(-low for low in worst))
    assert words in page("docs/advice.md") and words in page("docs/beyond-the-paper.md")
    lead = by_seed("sensitivity", "m", "dyna_value_goals", "return")
    lead = statistics.estimate((lead - by_seed("sensitivity", "m", "dyna_frequency_goals", "return")).to_numpy())
    low, high = lead.interval()
    assert f"by {lead.effect:.0f} ({low:.0f} to {high:.0f}, 20 seeds)" in page("docs/beyond-the-paper.md")


def test_so_many_seeds_do_not_meet_the_goal_in_their_warm_up():
    missed = sum(not is_met for is_met in FACTS.met_goal.values())
    assert f"{missed} of {len(FACTS.met_goal)} seeds do not meet the goal" in page("figures/captions/figure_2.rst")


def test_the_70_seeds_of_figure_1c_that_are_not_drawn_show_nothing():
    lead = by_seed("figure_1", "c", "full_prioritized_er", "return") - by_seed(
        "figure_1", "c", "prioritized_er", "return"
    )
    lead = lead.dropna()
    says(19, f"first 30 seeds had {lead[:30].mean():.0f}", f"70 have {lead[30:].mean():.0f}")
    assert len(lead) == 100 and re.search(r"which 30 are\s+drawn", (ROOT / "figures/captions/figure_1.rst").read_text())


def test_prioritized_er_leads_with_the_small_network_of_figure_1c():
    for panel, n in (("c_n1", 1), ("c", 10)):
        lead = by_seed("figure_1", panel, "prioritized_er", "return") - by_seed("figure_1", panel, "er", "return")
        lead = lead.dropna()
        low, high = (lead.mean() + sign * tables.half_width(lead) for sign in (-1, 1))
        assert low > 0 and f"{lead.mean():+.0f} with n = {n} ({low:.0f} to {high:.0f})" in page("docs/advice.md")
