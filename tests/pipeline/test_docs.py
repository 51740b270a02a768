"""README and docs: README is short, every link has a target, every command exists, and the example agent trains.

Numbers in them and in the findings are those of `reference/`.
"""

import inspect
import os
import re
import shutil
from dataclasses import fields
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from files import edit, python
from scipy import stats

import dyna_td
from dyna_td import cli
from dyna_td.evidence.claims import MeasuredTest
from dyna_td.evidence.scores import score
from dyna_td.evidence.statistics import half_width
from dyna_td.evidence.verdicts import DISAGREES
from dyna_td.pages import agents, api, markdown, marked_text, studies
from dyna_td.pages.facts import Facts
from dyna_td.plan.plans import STUDIES
from dyna_td.publishing import always_slower, walkers
from dyna_td.records import published
from dyna_td.records.files import ROOT
from dyna_td.records.policy import load_policy
from dyna_td.runs import registry

FACTS = Facts()
PAGES = ("README.md", "reference/README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))))


def read(page):
    return (ROOT / page).read_text(encoding="utf-8")


def anchors(page):
    """The anchors of a page: its headings, as GitHub and MkDocs name them, and explicit ids."""
    headings = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="(.+?)">', read(page)))


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files_and_anchors_that_exist(page):
    broken = []
    for link in re.findall(r"\]\((?!https://)([^)]+)\)", read(page)):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


@pytest.mark.parametrize("page", PAGES)
def test_commands_that_pages_name_exist(page, capsys):
    text = read(page)
    targets = {"mine", *(f"figure_{n}" for n in range(1, 15))}
    for line in re.findall(r"^([\w%-]+(?: [\w%-]+)*):(?!=)", read("Makefile"), re.MULTILINE):
        targets |= set(line.split())
    commands = re.findall(r"(?:`|^)make ([a-z][^`\n#]*)", text, re.MULTILINE)
    named = {word for command in commands for word in command.split("&&")[0].split() if "=" not in word}
    assert named <= targets, named - targets
    for command in set(re.findall(r"python -m dyna_td (\w+)", text)):
        with pytest.raises(SystemExit) as ended:
            cli.main([command, "--help"])
        assert ended.value.code == 0, command
    assert set(re.findall(r"bin/snakemake (\w+)", text)) <= targets | {*STUDIES, "all_figures"}
    for script in re.findall(r"python ((?:figures|tests)/[\w/]+\.py)", text):
        assert (ROOT / script).exists(), script


def test_every_agent_has_a_page_with_its_settings_and_the_claims_on_it():
    listed = read("docs/agents.md")
    for name, agent in registry.AGENTS.items():
        text = agents.page(FACTS, name)
        options = {f"| `--{setting.name.replace('_', '-')}` |" for setting in fields(agent.settings)}
        assert f"[{name}](" in listed and all(option in text for option in options)
    text = agents.page(FACTS, "dyna_td_long")
    assert "(claims.md#claim-22)" in text and "(deviations.md#deviation-45)" in text and "claim-44" not in text


def test_the_page_of_python_describes_each_public_name():
    text = api.page()
    for name in dyna_td.__all__:
        assert f"\n## dyna_td.{name}\n" in text and inspect.getdoc(getattr(dyna_td, name)).partition("\n")[0] in text
    assert "- `evaluate_every`: steps between two evaluations." in text


def test_a_page_says_how_many_seeds_claims_judge_where_the_picture_shows_fewer():
    more = "100 seeds of PrioritizedER (c), 100 seeds of Full-PrioritizedER (c)"  # the picture shows 30
    assert markdown.more_seeds(FACTS, FACTS.plan.figure("figure_1")) == f"Claims judge 1,000 seeds of L2 (a), {more}."
    assert markdown.more_seeds(FACTS, FACTS.plan.figure("figure_5")) == ""


def test_readme_and_all_prose_without_tables_are_short():
    assert len(read("README.md").splitlines()) <= 160 and (ROOT / "README.md").stat().st_size <= 12_000
    lines = [line for each in PAGES if each != "reference/README.md" for line in read(each).splitlines()]
    assert sum(len(line.split()) for line in lines if not line.startswith("|")) <= 18_000


def test_the_example_agent_trains_as_it_is_written(tmp_path):
    page = read("docs/extending.md")
    agent, settings, entry, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    path = re.search(r"^`(src/dyna_td/agents/\w+\.py)`:$", page, re.MULTILINE)[1]
    for folder in ("src", "envs", "experiments"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / path).write_text(agent, encoding="utf-8")
    declared = tmp_path / "src" / "dyna_td" / "agents" / "settings.py"
    declared.write_text(f"{read(declared)}\n\n{settings}", encoding="utf-8")
    edit(tmp_path / "src" / "dyna_td" / "runs" / "registry.py", "\nAGENTS = {\n", f"\nAGENTS = {{\n{entry}")
    words = ["train", "--env", "CartPole-v1", "--agent", Path(path).stem, "--newest", "50", "--warm-up-steps", "100"]
    words += ["--planning-updates", "1", "--seeds", "0,1", "--steps", "200", "--evaluate-every", "100"]
    words += ["--output", "recent.csv"]
    imports = {"PYTHONPATH": str(tmp_path / "src")}
    outcome = python("-m", "dyna_td", *words, env=os.environ | imports, cwd=tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    records = pd.read_csv(tmp_path / "recent.csv")
    assert set(records["seed"]) == {0, 1} and set(records["step"]) == {0, 100, 200}
    assert not records.loc[records["metric"] == "diverged", "value"].any()


# Tests of numbers.


def page(name):
    return " ".join(read(name).split())


def says(number, *words):
    """Whether the finding of a claim has each of `words`."""
    text = FACTS.findings[number]["measured"]
    missing = [each for each in words if each not in text]
    assert FACTS.findings[number]["verdict"] == FACTS.verdicts[number] and not missing, missing


def by_seed(figure, panel, curve, metric, window="auc"):
    return score(FACTS.read(FACTS.plan.drawn[figure].panels[panel].curves[curve]), metric, window)


def interval(sample):
    """The mean over seeds, and the ends of Student's interval."""
    half = half_width(sample)
    return sample.mean(), sample.mean() - half, sample.mean() + half


def test_the_answer_is_that_of_the_published_verdicts_and_has_at_most_180_words():
    parts = {part.__name__: part(FACTS) for part in (markdown.answer, markdown.advice)}
    for name, text in parts.items():
        begin, end = marked_text.marks(name)
        assert f"{begin}\n{text}{end}" in read("README.md")
    assert len("".join(parts.values()).split()) <= 180


def test_a_correction_only_takes_wins_and_losses_away_and_the_uncorrected_ones_are_the_tables():
    means, panels = FACTS.curves("what_to_use"), studies.benchmarks(FACTS)
    for curve in ("prioritized_er", "laber", "dyna_td", "dyna_td_learned"):
        rows = means.loc[[(key, curve, "return_less_er") for key in panels]]
        plain, sure = studies.wins_and_losses(FACTS, curve, "er")
        assert plain == ((rows["low95"] > 0).sum(), (rows["high95"] < 0).sum())
        assert all(few <= many for few, many in zip(sure, plain, strict=True))


@pytest.mark.parametrize(("number", "words"), [(28, "in seven of twelve panels"), (36, "in ten of twelve panels")])
def test_a_panel_on_which_the_intervals_disagree_does_not_count_as_won(number, words):
    outcomes = [tested.outcome for tested in FACTS.judged[number].tests if isinstance(tested.test, MeasuredTest)]
    disputed = [DISAGREES in outcome.note for outcome in outcomes if outcome.verdict == "supported"]
    assert f"in {markdown.in_words(disputed.count(False))} of twelve panels" == words and disputed.count(True) == 1
    says(number, words, "the intervals disagree")


def test_two_seeds_carry_dyna_tds_lead_on_acrobot_at_equal_rates():
    rival = by_seed("rates", "k", "prioritized_er_fixed", "return")
    lead = (by_seed("figure_4", "c", "dyna_td", "return") - rival).dropna().sort_values()
    mean, low, high = interval(lead)
    says(28, f"leads by {mean:.0f} ({len(lead)} seeds)", f"{low:.0f} to +{high:.0f} by Student")
    says(28, f"The other {len(lead) - 2} average {lead[:-2].mean():.0f}")


def test_long_chains_are_farther_from_the_ideal_than_short_ones():
    of = {panel: FACTS.plan.figures["figure_3"].panels[panel].metric for panel in "ab"}
    gap = {p: by_seed("figure_3", p, "dyna_td_long", of[p]) - by_seed("figure_3", p, "dyna_td", of[p]) for p in of}
    mean, low, high = (f"{1e5 * end:.1f}e-5" for end in interval(gap["b"]))
    says(22, f"by {mean} ({low} to {high})", "Under on-policy weighting no difference shows")
    assert abs(gap["a"].mean()) < half_width(gap["a"])


def test_chains_that_mix_follow_the_td_error_only_with_acceptance():
    def of(metric):
        return by_seed("frozen", "i", "dyna_td_frozen", metric, "end")

    def distances(*names):
        return tuple(f"{of(f'variation_{name}').mean():.3f}" for name in names)

    adjusted, low, high = interval(of("beta_adjusted"))
    says(45, f"|delta|^{adjusted:.2f} ({low:.2f} to {high:.2f} over seeds)")
    says(45, f"From uniform states it is {of('beta_adjusted_uniform').mean():.2f}")
    near, uniform, between = distances("adjusted", "uniform", "between_adjusted")
    says(45, f"total variation of {near}", f"states at {uniform}", f"two starts differ by {between}")
    far, between, moved = distances("longer", "between_longer", "between_constant_y")
    longer = of("beta_longer").mean()
    says(45, f"an exponent of {longer:.2f} and a distance of {far}", f"Two starts differ by {between}")
    says(46, f"{moved} in total variation, where two starts of the same chains differ by {between}")
    change = (of("variation_longer_constant_y") - of("variation_longer")).abs()
    says(46, f"In {(change > 0.05).sum()} of {len(change)} seeds")


def test_dead_seeds_of_hopper_are_those_whose_actions_are_saturated():
    table = pd.read_csv(published.DIRECTORY / "walkers.csv")
    hopper = table[table["environment"] == "Hopper-v4"]
    dead = hopper[hopper["saturated"] > 0.99].set_index("curve")
    assert dead["seed"].to_dict() == {"dyna_td_learned": 0, "prioritized_er": 3, "er": 0}
    assert (dead["steps"].round() == 22).all()
    living, whole = {}, []
    for curve, seed in dead["seed"].items():
        returns = by_seed("figure_6", "a", curve, "return")
        living[curve] = f"{returns.drop(seed).mean():.0f}"
        whole.append(f"{returns.mean():.0f}")
        run = FACTS.plan.figures["figure_6"].panels["a"].curves[curve]
        lengths = FACTS.read(run).values("episode_length").loc[seed]
        assert lengths[lengths.index >= 15_000].max() <= 23
    says(37, "Dyna-TD has {}, PrioritizedER {} and ER {}".format(*living.values()), "{}, {} and {}".format(*whole))
    says(37, "seed 0 of ER and of Dyna-TD")
    says(38, f"the means are {living['er']} and {living['prioritized_er']}")


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
    steps = table.loc["Hopper-v4", "er", 0]["steps"]
    assert found["saturated"] == 1.0 and found["steps"] == pytest.approx(steps, abs=1)
    slow = pd.read_csv(published.DIRECTORY / "always_slower.csv").set_index("exploration").loc[0.0]
    again, names = always_slower.always_slower(0.0, episodes=3), ["return", "crashed", "speed"]
    assert [again[name] for name in names] == pytest.approx(list(slow[names]), rel=1e-4)


def test_the_roundabouts_findings_name_the_policy_that_always_slows_down():
    slow = pd.read_csv(published.DIRECTORY / "always_slower.csv").set_index("exploration").loc[0.05]
    curves = ("er", "dyna_td_learned", "prioritized_er")
    ends = [by_seed("figure_13", "d", curve, "return", "final") for curve in curves]
    mean, low, high = interval(ends[0])
    says(39, f"{slow['return']:.2f} (± {slow['return_half95']:.2f})", f"ER has {mean:.2f} ({low:.2f} to {high:.2f})")
    says(39, f"Dyna-TD {ends[1].mean():.2f} and PrioritizedER {ends[2].mean():.2f}", "no agent clearly beats stopping")
    assert max(interval(each)[1] for each in ends) < slow["return"]
    before, after = [], []
    for curve in ("dyna_td_learned", "er", "prioritized_er"):
        crashes = FACTS.read(FACTS.plan.figures["figure_13"].panels["b"].curves[curve]).values("crashed")
        before.append(crashes.loc[:, crashes.columns <= 5000].sum(axis=1).mean())
        after.append(crashes.loc[:, crashes.columns > 5000].sum(axis=1).mean())
    assert np.ptp(before) == 0.0
    assert f"Its crashes, {before[0]:.1f} a seed," in page("figures/captions/figure_13.rst")
    says(40, f"The first {before[0]:.1f} crashes", "{:.1f}, {:.1f} and {:.1f}".format(*after), f"{slow['crashed']:.1%}")
    says(41, f"slows down drives {slow['speed']:.1f} m/s")
    says(42, f"slows down crashes in {slow['crashed']:.1%}")


def test_a_coin_is_equivalent_on_all_benchmarks():
    by_panel = {}
    for panel in ("coin_mountain_car", "coin_acrobot", "coin_grid_world", "coin_cart_pole"):
        own, other = (by_seed("controls", panel, curve, "return") for curve in ("random_sign", "dyna_td"))
        difference = (own - other).dropna()[:100]
        found = stats.ttest_1samp(difference, 0.0).confidence_interval(0.9)
        margin = 0.05 * studies.RANGES[FACTS.plan.studies["controls"].panels[panel].curves["dyna_td"].environment]
        assert len(difference) == 100 and -margin < found.low < found.high < margin, panel
        by_panel[panel] = difference.mean(), found.low, found.high
    assert all(low < 0 < high for _, low, high in (by_panel["coin_grid_world"], by_panel["coin_cart_pole"]))


def test_so_many_seeds_do_not_meet_the_goal_in_their_warm_up():
    missed = sum(not is_met for is_met in FACTS.met_goal.values())
    assert f"{missed} of {len(FACTS.met_goal)} seeds do not meet the goal" in page("figures/captions/figure_2.rst")


def test_the_70_seeds_of_figure_1c_that_are_not_drawn_show_nothing():
    full, outdated = (by_seed("figure_1", "c", name, "return") for name in ("full_prioritized_er", "prioritized_er"))
    lead = (full - outdated).dropna()
    says(19, f"first 30 seeds had {lead[:30].mean():.0f}", f"70 have {lead[30:].mean():.0f}")
    assert len(lead) == 100 and "which 30 are drawn" in page("figures/captions/figure_1.rst")


def test_three_dials_change_prioritized_ers_lead_and_six_others_its_share():
    changes = {key: interval(change) for key, change in studies.changes_of_the_lead(FACTS).items()}
    shares = studies.changes_of_the_share(FACTS)
    shown = [{key for key, (_, low, high) in each.items() if low > 0 or high < 0} for each in (changes, shares)]
    others = ["corner_0_45", "corner_0_25", "goal_0_4", "n_30", "n_1", "reward_noise_0_5"]
    assert shown == [{"width_8", "n_5", "step_noise_0_05"}, set(others)]
    near, nearest, wide, often, seldom, noisy = (f"{shares[key][0]:+.2f}" for key in others)
    assert wide == often
    text = f"nearer goals ({near} and {nearest}), the goal 0.4 wide and n = 30 ({wide} each)"
    assert f"{text}. Smaller ones come with n = 1 ({seldom}) and reward noise 0.5 ({noisy})." in page(
        "docs/beyond-the-paper.md"
    )
