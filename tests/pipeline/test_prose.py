"""Numbers in sentences, recomputed from the published runs with pandas and SciPy alone.

Nothing here imports the package, so an error of its statistics cannot hide. A failing test prints the sentence as the
runs have it.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import stats

ROOT = Path(__file__).parents[2]
RANGES = {"MountainCar-v0": 2000, "GridWorld": 2000, "Acrobot-v1": 500, "CartPole-v1": 500}
BASE = "GridWorld/{}/n10-lr0.001"
LARGER_OR_NEARER = [
    f"GridWorld-{dial}/{{}}/n10-lr0.001" for dial in ("goal0.1", "goal0.2", "goal0.4", "corner0.45", "corner0.25")
]
WORLDS = [BASE, *LARGER_OR_NEARER]
WORLDS += [
    f"GridWorld-{dial}/{{}}/n10-lr0.001" for dial in ("rewardnoise0.5", "rewardnoise2", "stepnoise0", "stepnoise0.05")
]
WORLDS += [f"GridWorld/{{}}/{n}" for n in ("n1-lr0.001", "n5-lr0.001", "n30-lr0.001")]
WORLDS += [f"{BASE}-net8x8", f"{BASE}-buffer5000"]
OTHERS = [f"{environment}/{{}}/n{n}-lr0.001" for environment in RANGES if environment != "GridWorld" for n in (5, 10)]
WARM_UP = "{environment}/{agent}_warm_up/n{n}-lr0.001{shows}"


@cache
def table(run, metric):
    """A metric of a published run by seed and step."""
    records = pd.read_csv(ROOT / "reference" / "runs" / f"{run}.csv.xz")
    return records[records["metric"] == metric].pivot(index="seed", columns="step", values="value")


def returns(run, seeds=20, metric="return", since=5_000):
    """Each seed's mean return, or another metric, from a step on, of the first seeds."""
    values = table(run, metric)
    return values.loc[:, values.columns >= since].mean(axis="columns")[:seeds]


def minus(world, agent, other="er", seeds=20):
    return (returns(world.format(agent), seeds) - returns(world.format(other), seeds)).dropna()


def interval(sample, level=0.95):
    half = stats.t.ppf((1 + level) / 2, len(sample) - 1) * sample.sem()
    return sample.mean(), sample.mean() - half, sample.mean() + half


def words(sample, level=0.95, digits=0):
    """A mean and its interval, as in 409 (171 to 646): without a sign if the interval has one sign, else with it."""
    numbers = np.array(interval(sample, level))
    if numbers.max() < 0:
        numbers = -numbers[[0, 2, 1]]
    mean, low, high = (f"{number:.{digits}f}" for number in numbers)
    return f"{mean} ({low} to {high})" if numbers.min() > 0 else f"{float(mean):+g} ({low} to +{high})"


def again(statistic, *shape, draws=20_000):
    """The 2.5th, 5th and 97.5th percentile of a statistic of seeds (and worlds) that are drawn again."""
    rng = np.random.default_rng(1)
    found = [statistic(*(rng.integers(size, size=size) for size in shape)) for _ in range(draws)]
    return np.percentile(found, [2.5, 5, 97.5])


def holm(differences):
    """How many of several differences are above 0, and below 0, by Holm's method."""
    tests = [stats.ttest_1samp(each, 0.0) for each in differences]
    ordered = sorted((test.pvalue, test.statistic > 0) for test in tests)
    sure = []
    for place, (p, wins) in enumerate(ordered):
        if p * (len(ordered) - place) > 0.05:
            break
        sure.append(wins)
    return sum(sure), len(sure) - sum(sure)


def warm_up(environment, n, shows, agent="prioritized_er"):
    return returns(
        WARM_UP.format(environment=environment, agent=agent, n=n, shows=f"-warmupgoal{shows}" if shows else "")
    )


def lead_after(environment, n, shows):
    return warm_up(environment, n, shows, "dyna_td") - warm_up(environment, n, shows)


def share_of_the_loss():
    leads = {agent: np.array([minus(world, agent) for world in WORLDS]) for agent in ("cubic_dqn", "prioritized_er")}
    own, whole = leads["cubic_dqn"], leads["prioritized_er"]
    low, _, high = again(lambda seeds: own[:, seeds].sum() / whole[:, seeds].sum(), 20)
    least, _, most = again(lambda i, j: own[j][:, i].sum() / whole[j][:, i].sum(), 20, len(WORLDS))
    total = own.sum() / whole.sum()
    ranges = f"seeds give {low:.0%} to {high:.0%}, resampled seeds and settings {least:.0%} to {most:.0%}"
    return f"{total:.0%} of PrioritizedER's. Resampled {ranges}"


def loss_elsewhere():
    percent = sum(100 * minus(world, "cubic_dqn") / RANGES[world.partition("/")[0]] for world in OTHERS) / len(OTHERS)
    return f"gains {words(percent, digits=1).replace(' (', '% of the range on average (')}"


def small_network():
    own, base = (minus(world, "prioritized_er").to_numpy() for world in (f"{BASE}-net8x8", BASE))
    low, _, high = again(lambda seeds: own[seeds].mean() / base[seeds].mean(), 20)
    return f"8 units bring {own.mean() / base.mean():.1f} times the lead ({low:.1f} to {high:.1f})"


def corrected():
    leads = [
        [minus(world, *agents) for world in WORLDS] for agents in (("cubic_dqn",), ("prioritized_er", "cubic_dqn"))
    ]
    won = [sum(interval(lead)[1] > 0 for lead in of_agent) for of_agent in leads]
    sure = [holm(of_agent)[0] for of_agent in leads]
    return f"{won[0]} settings, {sure[0]} after Holm's correction. PrioritizedER leads it in {won[1]}, {sure[1]} after"


def flattened_losses():
    worlds = [f"{environment}/{{}}/n{n}-lr0.001" for environment in RANGES for n in (5, 10)]
    lost = [holm([minus(world, agent) for world in worlds])[1] for agent in ("lap", "pal")]
    return "LAP in {} and PAL in {}".format(*(["none", "five", "six", "seven"][max(0, each - 4)] for each in lost))


def lead_of_nearer_goals():
    mean = sum(minus(world, "prioritized_er") for world in LARGER_OR_NEARER) / len(LARGER_OR_NEARER)
    base = minus(BASE, "prioritized_er")
    assert -interval(mean - base)[1] < base.mean() / 3
    return f"the lead changes by {words(mean - base)}, from {base.mean():.0f}"


def left_of_the_lead(n):
    hidden, last = (lead_after("MountainCar-v0", n, shows) for shows in ("", "last"))
    return interval(last)[2] / hidden.mean()


def kept_by_the_coin(environment):
    er, own, whole = (
        f"{environment}/{name}" for name in ("er/n10-lrselected", "random_sign/n10-lr0.001", "dyna_td/n10-lr0.001")
    )
    gains = pd.DataFrame(
        {"coin": returns(own, 100) - returns(er, 100), "whole": returns(whole, 100) - returns(er, 100)}
    )
    coin, gain = gains.dropna().to_numpy().T
    return again(lambda seeds: coin[seeds].mean() / gain[seeds].mean(), len(gain))[1]


def in_the_roundabout():
    values = table(ROUNDABOUT["prioritized_er"], "return").iloc[:, -20:].mean(axis="columns")
    mean, low, high = interval(values - always_slower("return").item())
    return f"{-mean:.2f} below it ({-high:.2f} to {-low:.2f})"


def coin(environment, level=0.9):
    return words(
        (
            returns(f"{environment}/random_sign/n10-lr0.001", 100) - returns(f"{environment}/dyna_td/n10-lr0.001", 100)
        ).dropna(),
        level,
    )


def in_both_kinds_of_warm_up():
    lead = minus("GridWorld/{}", "dyna_td/n10-lr0.001", "prioritized_er/n10-lrselected", 100)
    goals = pd.read_csv(ROOT / "reference" / "warm_up.csv", index_col=["environment", "seed"])["goals"]
    is_met = goals.loc[GRID].reindex(lead.index) > 0
    return [words(-lead[is_met]), (~is_met).sum(), words(lead[~is_met])]


def gain_by_more_updates(agent):
    return words(returns(f"GridWorld/{agent}/n30-lrselected") - returns(f"GridWorld/{agent}/n10-lrselected"))


def in_the_maze(agent):
    return table(f"MazeGridWorld/{agent}/n30-lrselected-net64x64-m50", "return").iloc[20:, -20:].to_numpy().mean()


def with_goals_in_the_queue():
    value, frequency = (
        returns(f"MazeGridWorld/dyna_{each}/n30-lrselected-net64x64-m50-queuegoalsTrue")
        for each in ("value", "frequency")
    )
    return words(value - frequency)


def benchmark(environment, agent, n, other="er", rate="0.001"):
    return words(minus(f"{environment}/{{}}/n{n}-lr{rate}", agent, other))


def won(claim):
    """In how many panels a claim is supported by both intervals."""
    tests = pd.read_csv(ROOT / "reference" / "claims.csv").query(f"claim == {claim} and plus == plus")
    disputed = tests["note"].str.contains("says otherwise", na=False)
    return ("six", "seven", "eight", "nine", "ten")[((tests["verdict"] == "supported") & ~disputed).sum() - 6]


def lead_of_two_seeds():
    lead = minus("Acrobot-v1/{}/n10-lr0.001", "dyna_td", "prioritized_er").sort_values()
    return *interval(lead), lead[:-2].mean()


def shown_and_added_seeds():
    full, outdated = (f"{CAR}/{agent}/n10-lrselected-net16x16-buffer10000" for agent in OF_FIGURE_1C)
    lead = returns(full, 100) - returns(outdated, 100)
    return lead[:30].mean(), lead[30:].mean()


def farther_with_long_chains():
    runs = f"{GRID}/dyna_td_long/n10-lr0.001", f"{GRID}/dyna_td/n10-lr0.001-chain30"
    long, short = (returns(run, metric="distance_uniform") for run in runs)
    return [1e5 * number for number in interval(long - short)]


def at_the_end(*metrics):
    return [table(FROZEN, metric).iloc[:, -1].mean() for metric in metrics]


def moved_chains():
    distances = (table(FROZEN, f"variation_longer{end}").iloc[:, -1] for end in ("_constant_y", ""))
    return [((next(distances) - next(distances)).abs() > 0.05).sum()]


def on_hopper(*agents, living=True):
    """Mean returns, without the seed of each agent whose actions are saturated or with it."""
    walkers = pd.read_csv(ROOT / "reference" / "walkers.csv").query("environment == 'Hopper-v4' and saturated > 0.99")
    dead = walkers.set_index("curve")["seed"]
    return [returns(HOPPER[agent], since=10_000).drop(dead[agent] if living else []).mean() for agent in agents]


def distances_on_walker(agent, sign=1):
    walkers = pd.read_csv(ROOT / "reference" / "walkers.csv").query("environment == 'Walker2d-v4'")
    return sorted(sign * walkers.query(f"curve == '{agent}'")["distance"].agg(["min", "max"]))


def always_slower(*columns):
    return pd.read_csv(ROOT / "reference" / "always_slower.csv").set_index("exploration").loc[0.05, [*columns]]


def ends_in_the_roundabout():
    dyna_td, er, outdated = (table(run, "return").iloc[:, -20:].mean(axis="columns") for run in ROUNDABOUT.values())
    return *interval(er), dyna_td.mean(), outdated.mean()


def crashes(after):
    """Crashes of a seed's evaluations, up to step 5,000 or after it: Dyna-TD's, ER's and PrioritizedER's."""
    tables = (table(run, "crashed") for run in ROUNDABOUT.values())
    return [each.loc[:, (each.columns > 5_000) == after].sum(axis="columns").mean() for each in tables]


def missed_goals():
    goals = pd.read_csv(ROOT / "reference" / "warm_up.csv").query("environment == 'GridWorld'")["goals"]
    return (goals == 0).sum(), len(goals)


GRID, CAR = "GridWorld", "MountainCar-v0"
OF_FIGURE_1C = ("full_prioritized_er", "prioritized_er")
FROZEN = "GridWorld/dyna_td_frozen/n10-lr0.001-probesteps500000-probelong_chains"
HOPPER = {agent: f"Hopper-v4/{agent}/n5-lr0.001" for agent in ("er", "prioritized_er")}
HOPPER |= {"dyna_td_learned": "Hopper-v4/dyna_td/n5-lr0.001-modelstop100000-chainnoise0.2"}
CHAINS = "-learned-rho0.25-m100-chain500-searchevery50-modelhidden200x200"
ROUNDABOUT = {
    agent: f"roundabout-paper-v0/{agent}/n10-lrselected-b64-net64x64{chains}"
    for agent, chains in {"dyna_td": CHAINS, "er": "", "prioritized_er": ""}.items()
}
BLIND = f"{CAR}/dyna_td_warm_up/n30-lr0.001-learned-terminationlearned"
BEYOND, FINDINGS = "docs/beyond-the-paper.md", "experiments/findings.yaml"
SENTENCES = {  # by page; what fills them
    BEYOND: {
        "PrioritizedER leads ER on GridWorld alone: by {} with n = 5, and by {} with n = 30": lambda: [
            benchmark(GRID, "prioritized_er", 5),
            benchmark(GRID, "prioritized_er", 30),
        ],
        "CartPole with n = 30, by {}": lambda: [
            words(
                returns("CartPole-v1/laber/n30-lr0.001-importanceweightsFalse")
                - returns("CartPole-v1/prioritized_er/n30-lr0.001")
            )
        ],
        "the cubic loss's leads add up to {}": lambda: [share_of_the_loss()],
        "It leads ER in {}": lambda: [corrected()],
        "the same loss {}": lambda: [loss_elsewhere()],
        "goals {}": lambda: [lead_of_nearer_goals()],
        "{}, n = 5 adds": lambda: [small_network()],
        "n = 5 adds {}, and step noise 0.05 takes {}": lambda: [
            words(minus(world, "prioritized_er") - minus(BASE, "prioritized_er"))
            for world in ("GridWorld/{}/n5-lr0.001", "GridWorld-stepnoise0.05/{}/n10-lr0.001")
        ],
        "corrected, {}": lambda: [flattened_losses()],
        "with n = 1, 3 and 10: by {}, {} and {}": lambda: [
            words(minus(f"{CAR}/{{}}/n{n}-lrselected-net16x16-buffer10000", "prioritized_er", seeds=100))
            for n in (1, 3, 10)
        ],
        "PrioritizedER leads with n = 5, by {} on GridWorld and {} on MountainCar": lambda: [
            words(lead_after(environment, 5, "shown")) for environment in (GRID, CAR)
        ],
        "lifts PrioritizedER by {} with n = 5 and {} with n = 10": lambda: [
            words(warm_up(GRID, n, "last") - warm_up(GRID, n, "")) for n in (5, 10)
        ],
        "leads Dyna-TD by {} and {}": lambda: [words(lead_after(GRID, n, "last")) for n in (5, 10)],
        "it takes {} and {} from Dyna-TD's lead": lambda: [
            words(lead_after(CAR, n, "last") - lead_after(CAR, n, "")) for n in (5, 10)
        ],
        "at most {:.0%} (n = 5) and {:.0%} (n = 10) of it can be left": lambda: map(left_of_the_lead, (5, 10)),
        "With n = 5 the path adds {}": lambda: [words(warm_up(CAR, 5, "shown") - warm_up(CAR, 5, "last"))],
        "the difference is {} on MountainCar and {} on Acrobot": lambda: [coin(CAR), coin("Acrobot-v1")],
        "at least {:.0%} of the gain over ER on MountainCar, {:.0%} on GridWorld and {:.0%} on CartPole": lambda: map(
            kept_by_the_coin, (CAR, GRID, "CartPole-v1")
        ),
        "A coin for every step costs {} on MountainCar and {} on GridWorld": lambda: [
            benchmark(environment, "random_sign_each_step", 10, "dyna_td") for environment in (CAR, GRID)
        ],
        "lead Dyna-TD on GridWorld by {}, and uniform states by {}": lambda: [
            benchmark(GRID, "ideal_states", 10, other) for other in ("dyna_td", "uniform_states")
        ],
        "chains without noise do better, by {}": lambda: [
            words(returns("GridWorld/dyna_td/n10-lr0.001-chainnoise0.0") - returns("GridWorld/dyna_td/n10-lr0.001"))
        ],
        "Dyna-Value then leads Dyna-Frequency by {}": lambda: [with_goals_in_the_queue()],
        "it leads ER, by {}": lambda: [words(returns(BLIND) - warm_up(CAR, 30, "", "er"))],
    },
    FINDINGS: {
        "changes them by {} on GridWorld and by {} on MountainCar": lambda: [
            benchmark(environment, "moving_target", 10, "dyna_td") for environment in (GRID, CAR)
        ],
        "it has {:.0f} and Dyna-Frequency {:.0f}": lambda: [in_the_maze("dyna_value"), in_the_maze("dyna_frequency")],
        "PrioritizedER ends {}": lambda: [in_the_roundabout()],
        "PrioritizedER is ahead by {}. In the other {} Dyna-TD is ahead by {}": in_both_kinds_of_warm_up,
        "on GridWorld it gains {}, and PrioritizedER {}": lambda: map(gain_by_more_updates, ("er", "prioritized_er")),
        "It does in {} of twelve panels": lambda: [won(28)],
        "not worse than ER in {} of twelve panels": lambda: [won(36)],
        "shows: {0:.0f} (-3 to +87) over 20 seeds. Two seeds carry it. The other 18 average {3:.0f}": lead_of_two_seeds,
        "The first 30 seeds had {:.0f} (-37 to +362), so 70 were added. These 70 have {:.0f}": shown_and_added_seeds,
        "by {:.1f}e-5 ({:.1f}e-5 to {:.1f}e-5)": farther_with_long_chains,
        "of {:.2f} and a distance of {:.3f}, farther than uniform states at {:.3f}. Two starts differ by {:.3f}": (
            lambda: at_the_end("beta_longer", "variation_longer", "variation_uniform", "variation_between_longer")
        ),
        "|delta|^{:.2f} ({:.2f} to {:.2f} over seeds)": lambda: interval(table(FROZEN, "beta_adjusted").iloc[:, -1]),
        "From uniform states it is {:.2f}. They lie at a total variation of {:.3f}, and two starts differ by {:.3f}": (
            lambda: at_the_end("beta_adjusted_uniform", "variation_adjusted", "variation_between_adjusted")
        ),
        "differ by {:.3f} in total variation, where two starts of the same chains differ by {:.3f}": lambda: at_the_end(
            "variation_between_constant_y", "variation_between_longer"
        ),
        "In {} of 20 seeds it changes by over 0.05": moved_chains,
        "Dyna-TD has {:.0f}, PrioritizedER {:.0f} and ER {:.0f}": lambda: on_hopper(
            "dyna_td_learned", "prioritized_er", "er"
        ),
        "With them it is {:.0f}, {:.0f} and {:.0f}": lambda: on_hopper(
            "dyna_td_learned", "prioritized_er", "er", living=False
        ),
        "Without them the means are {:.0f} and {:.0f}": lambda: on_hopper("er", "prioritized_er"),
        "PrioritizedER's five end {:.1f} to {:.1f} m behind": lambda: distances_on_walker("prioritized_er", -1),
        "ER's end {:.1f} to {:.1f} m ahead": lambda: distances_on_walker("er"),
        "Dyna-TD's {:.1f} to {:.1f} m": lambda: distances_on_walker("dyna_td_learned"),
        "nearly stops, returns {:.2f} (± {:.2f})": lambda: always_slower("return", "return_half95"),
        "slows down crashes in {:.1%}. The first": lambda: always_slower("crashed"),
        "slows down crashes in {:.1%} of its episodes": lambda: always_slower("crashed"),
        "slows down drives {:.1f} m/s": lambda: always_slower("speed"),
        "ER has {:.2f} ({:.2f} to {:.2f}), Dyna-TD {:.2f} and PrioritizedER {:.2f}": ends_in_the_roundabout,
        "The first {:.1f} crashes": lambda: crashes(after=False),
        "From then on they are {:.1f}, {:.1f} and {:.1f}": lambda: crashes(after=True),
    },
    "figures/captions/figure_2.rst": {"{} of {} seeds do not meet the goal": missed_goals},
}
PLACES = [(page, sentence) for page, sentences in SENTENCES.items() for sentence in sentences]


@pytest.mark.parametrize(("page", "sentence"), PLACES, ids=map(str, range(len(PLACES))))
def test_the_numbers_of_a_sentence_are_those_of_the_runs(page, sentence):
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert sentence.format(*SENTENCES[page][sentence]()) in text


NUMBER = r"(?<![\w.,^|-])[-+]?\d[\d,]*(?:\.\d+)?(?:e-\d)?"
INTERVAL = re.compile(rf"({NUMBER})[^()\d]*\((?:90%: )?({NUMBER})%? to ({NUMBER})")
NO_EFFECTS = {19: 1, 22: 1, 28: 2, 31: 2, 34: 1, 39: 2, 44: 1, 45: 1, 46: 2}  # no effects of a test


def test_intervals_in_findings_are_effects_of_tests_or_readings_of_the_claim():
    tables = pd.concat(pd.read_csv(ROOT / "reference" / f"{name}.csv") for name in ("claims", "readings"))
    others = {}
    for finding in yaml.safe_load((ROOT / FINDINGS).read_text())["findings"]:
        own = tables[tables["claim"] == finding["claim"]]
        ends = [own[["effect", f"low{level}", f"high{level}"]].to_numpy() for level in (90, 95)]
        effects = np.concatenate([*ends, *(-each[:, [0, 2, 1]] for each in ends)])
        effects = np.concatenate([effects, 100 * effects])  # in per cent
        for texts in INTERVAL.findall(" ".join(finding["measured"].split())):
            numbers = [float(text.replace(",", "")) for text in texts]
            rounding = [0.501 * 10.0 ** -len(text.partition(".")[2]) for text in texts]
            if not (abs(effects - numbers) <= rounding).all(axis=1).any():
                others[finding["claim"]] = others.get(finding["claim"], 0) + 1
    assert others == NO_EFFECTS
