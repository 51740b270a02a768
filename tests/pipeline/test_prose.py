"""Numbers in sentences, recomputed from the published runs (verdicts: claims.csv) with pandas and SciPy alone.

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

REFERENCE = Path(__file__).parents[2] / "reference"
RANGES = {"MountainCar-v0": 2000, "Acrobot-v1": 500, "GridWorld": 2000, "CartPole-v1": 500}
TASKS = [environment.partition("-")[0] for environment in RANGES]
GRID, CAR = "GridWorld", "MountainCar-v0"
BASE = f"{GRID}/{{}}/n10-lr0.001"
LARGER_OR_NEARER = [
    f"{GRID}-{dial}/{{}}/n10-lr0.001" for dial in ("goal0.1", "goal0.2", "goal0.4", "corner0.45", "corner0.25")
]
NOISY = [
    f"{GRID}-{dial}/{{}}/n10-lr0.001" for dial in ("rewardnoise0.5", "rewardnoise2", "stepnoise0", "stepnoise0.05")
]
WORLDS = [BASE, *LARGER_OR_NEARER, *NOISY, f"{BASE}-net8x8", f"{BASE}-buffer5000"]
WORLDS += [f"{GRID}/{{}}/n{n}-lr0.001" for n in (1, 5, 30)]
BENCHMARKS = [f"{environment}/{{}}/n{n}-lr0.001" for environment in RANGES for n in (5, 10)]
PANELS = [(environment, n) for environment in RANGES for n in (5, 10, 30)]
OTHERS = [world for world in BENCHMARKS if not world.startswith(GRID)]
IN_WORDS = ["none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MAZE = "MazeGridWorld/{}/n30-lrselected-net64x64-m50"
SETTINGS_1C = "n10-lrselected-net16x16-buffer10000"
SHORT = "GridWorld/dyna_td_frozen/n10-lr0.001"
FROZEN = f"{SHORT}-probesteps500000-probelong_chains"
STEPS = ("longer", "tenth", "hundredth")  # steps a, a / 10, a / 100
HOPPER = {agent: f"Hopper-v4/{agent}/n5-lr0.001" for agent in ("er", "prioritized_er")}
HOPPER |= {"dyna_td_learned": "Hopper-v4/dyna_td/n5-lr0.001-modelstop100000-chainnoise0.2"}
ROUNDABOUT = {
    agent: f"roundabout-paper-v0/{agent}/n10-lrselected-b64-net64x64{chains}"
    for agent, chains in {
        "dyna_td": "-learned-rho0.25-m100-chain500-searchevery50-modelhidden200x200",
        "er": "",
        "prioritized_er": "",
    }.items()
}


@cache
def table(run, metric):
    """A metric of a published run by seed and step."""
    records = pd.read_csv(REFERENCE / "runs" / f"{run}.csv.xz")
    return records[records["metric"] == metric].pivot(index="seed", columns="step", values="value")


def returns(run, seeds=20, metric="return", since=5_000):
    """Each seed's mean return, or another metric, from a step on, of the first seeds."""
    values = table(run, metric)
    return values.loc[:, values.columns >= since].mean(axis="columns")[:seeds]


def at_the_end(run, metric="return", evaluations=20, seeds=None):
    """Each seed's mean over the last evaluations, of the first seeds or of all."""
    return table(run, metric).iloc[:seeds, -evaluations:].mean(axis="columns")


def minus(world, agent, other="er", seeds=20):
    return (returns(world.format(agent), seeds) - returns(world.format(other), seeds)).dropna()


def interval(sample, level=0.95):
    half = stats.t.ppf((1 + level) / 2, len(sample) - 1) * sample.sem()
    return sample.mean(), sample.mean() - half, sample.mean() + half


def words(sample, level=0.95):
    """A mean and its interval, as in 409 (171 to 646): without a sign if the interval has one sign, else with it."""
    numbers = np.array(interval(sample, level))
    if numbers.max() < 0:
        numbers = -numbers[[0, 2, 1]]
    mean, low, high = (f"{number:.0f}" for number in numbers)
    return f"{mean} ({low} to {high})" if numbers.min() > 0 else f"{float(mean):+g} ({low} to +{high})"


def lead(world, agent="prioritized_er", other="er", seeds=20, level=0.95):
    return words(minus(world, agent, other, seeds), level)


def span(values):
    values = [*values]
    return min(values), max(values)


def resampled(statistic, *shape, draws=20_000):
    """The 2.5th, 5th and 97.5th percentile of a statistic of resampled seeds (and worlds)."""
    rng = np.random.default_rng(1)
    found = [statistic(*(rng.integers(size, size=size) for size in shape)) for _ in range(draws)]
    return np.percentile(found, [2.5, 5, 97.5])


def corrected(p):
    """Which of several p-values hold by Holm's method."""
    held, order = np.zeros(len(p), bool), np.argsort(p)
    held[order] = np.cumprod(np.sort(p) * np.arange(len(p), 0, -1) <= 0.05)
    return held


def holm(differences):
    """How many of several differences are above 0, and below 0, by Holm's method."""
    tests = [stats.ttest_1samp(each, 0.0) for each in differences]
    held, wins = corrected([test.pvalue for test in tests]), np.array([test.statistic > 0 for test in tests])
    return (held & wins).sum(), (held & ~wins).sum()


def share_of_the_loss(agent="mixed_dqn"):
    own, whole = (np.array([minus(world, each) for world in WORLDS]) for each in (agent, "prioritized_er"))
    low, _, high = resampled(lambda seeds: own[:, seeds].sum() / whole[:, seeds].sum(), 20)
    least, _, most = resampled(lambda i, j: own[j][:, i].sum() / whole[j][:, i].sum(), 20, len(WORLDS))
    return own.sum() / whole.sum(), low, high, least, most


def elsewhere(agent="mixed_dqn"):
    percent = sum(100 * minus(world, agent) / RANGES[world.partition("/")[0]] for world in OTHERS) / len(OTHERS)
    return interval(percent)


def small_network():
    own, base = (minus(world, "prioritized_er").to_numpy() for world in (f"{BASE}-net8x8", BASE))
    low, _, high = resampled(lambda seeds: own[seeds].mean() / base[seeds].mean(), 20)
    return own.mean() / base.mean(), low, high


def what_the_draws_add():
    """PrioritizedER's lead over its loss on uniform draws: on average, and the worlds before and after Holm's."""
    leads = [minus(world, "prioritized_er", "mixed_dqn") for world in WORLDS]
    return words(sum(leads) / len(leads)), sum(interval(each)[1] > 0 for each in leads), holm(leads)[0]


def gain(environment, n, rate, mean=returns):
    """PrioritizedER's lead over ER in per cent of the range: over learning, or `at_the_end`."""
    has_100 = environment == CAR or (environment, rate) == ("Acrobot-v1", "lrselected")
    own, other = (mean(f"{environment}/{agent}/n{n}-{rate}", seeds=100) for agent in ("prioritized_er", "er"))
    return 100 * (own - other).dropna()[: 100 if has_100 else 20] / RANGES[environment]


def fresh(gains):
    """Seeds 20 to 99 alone, where a benchmark has them."""
    return gains[20:] if len(gains) > 20 else gains


def fresh_on_acrobot():
    """The gain on seeds 20 to 99 with n = 5 at swept rates, and its p, corrected for three panels by Holm."""
    gains = [fresh(gain("Acrobot-v1", n, "lrselected")) for n in (5, 10, 30)]
    p = [stats.ttest_1samp(each, 0).pvalue for each in gains]
    assert p[0] == min(p) and gains[0].mean() > 0
    return *interval(gains[0]), 3 * p[0]


def mean_gain(environment, rate, mean=returns):
    return (sum(gain(environment, n, rate, mean) for n in (5, 10, 30)) / 3).dropna()


def row_of_gains(rate, mean=returns):
    """The mean gain over n on each benchmark, as README has it. For a star, fresh seeds decide, corrected by Holm."""
    found = [mean_gain(environment, rate, mean) for environment in RANGES]
    tests = [stats.ttest_1samp(fresh(each), 0) for each in found]
    p = np.array([test.pvalue for test in tests])
    if (rate, mean) == ("lrselected", returns):
        p[TASKS.index("Acrobot")] = fresh_on_acrobot()[-1]
    for each, test, held in zip(found, tests, corrected(p), strict=True):
        gained, low, high = interval(each)
        star = "\\*" if held and test.statistic > 0 else ""
        bold = "**" if low > 0 or high < 0 else ""
        yield f"{bold}{gained:+.1f}{bold} ({low:+.1f} to {high:+.1f}){star}"


def gains(rate, mean=returns):
    return [gain(environment, n, rate, mean) for environment, n in PANELS]


def won_and_lost(leads):
    """How many of several leads lie above 0, and below 0, then the same after Holm's correction; in words."""
    leads = list(leads)
    ends = [interval(each)[1:] for each in leads]
    counts = sum(low > 0 for low, _ in ends), sum(high < 0 for _, high in ends), *holm(leads)
    return [IN_WORDS[int(count)] for count in counts]


def lost_benchmarks(agent, other="er"):
    """In how many panels an agent loses, before and after Holm's correction."""
    return won_and_lost(minus(world, agent, other) for world in BENCHMARKS)[1::2]


def losses_of_lap_and_pal():
    """In how many panels LAP and PAL lose to ER, which must be one number, before and after Holm's correction."""
    (count,) = {*lost_benchmarks("lap"), *lost_benchmarks("pal")}
    return count


def lead_of_nearer_goals():
    base = minus(BASE, "prioritized_er")
    change = sum(minus(world, "prioritized_er") for world in LARGER_OR_NEARER) / len(LARGER_OR_NEARER) - base
    assert -interval(change)[1] < base.mean() / 5
    return words(change), base.mean()


def lead_after_warm_up(n, shows, environment=CAR):
    return minus(f"{environment}/{{}}_warm_up/n{n}-lr0.001{shows}", "dyna_td", "prioritized_er")


def left_of_the_lead(n):
    left, whole = (lead_after_warm_up(n, shows).to_numpy() for shows in ("-warmupgoallast", ""))
    return resampled(lambda seeds: left[seeds].mean() / whole[seeds].mean(), len(whole))[2]


def on_mountain_car_the_episode_brings():
    """What the episode brings ER with n = 5, 10 and 30, and PrioritizedER's lead with it, where one shows."""
    runs = [f"{CAR}/{{}}_warm_up/n{n}-lr0.001" for n in (5, 10, 30)]
    for run in runs:
        brought, low, _ = interval(returns(f"{run}-warmupgoalshown".format("er")) - returns(run.format("er")))
        assert low > 0
        yield brought
    for run in runs:
        mean, low, high = interval(minus(f"{run}-warmupgoalshown", "prioritized_er"))
        yield f"{mean:.0f}" if low > 0 or high < 0 else "nothing that shows"


def kept_by_the_coin():
    names = ("er/n10-lrselected", "random_sign/n10-lr0.001", "dyna_td/n10-lr0.001")
    for environment in (CAR, GRID, "CartPole-v1"):
        found = pd.DataFrame({name: returns(f"{environment}/{name}", 100) for name in names}).dropna()
        own, whole = (found.to_numpy()[:, 1:] - found.to_numpy()[:, :1]).T  # the gains over ER
        yield resampled(lambda seeds, own=own, whole=whole: own[seeds].mean() / whole[seeds].mean(), len(own))[1]


def by_warm_up(*agents):
    """A lead with n = 10 in seeds with a goal in the warm-up, how many others there are, and the lead in these."""
    sides = [f"{agent}/n10-lr{'0.001' if agent == 'dyna_td' else 'selected'}" for agent in agents]
    found = minus(f"{GRID}/{{}}", *sides, seeds=100)
    is_met = goals_of_warm_ups().reindex(found.index) > 0
    return words(found[is_met]), (~is_met).sum(), words(found[~is_met])


def goals_of_warm_ups():
    return pd.read_csv(REFERENCE / "warm_up.csv", index_col=["environment", "seed"])["goals"].loc[GRID]


def cells_of_regression():
    """The last 20 testing errors of each learner, by seed, in each cell: examples, mini-batch and length."""
    for examples, batch in ((4000, 32), (4000, 128), (4000, 512), (400, 32), (400, 128)):
        for steps in (12_500, 50_000, 200_000):
            tables = {
                agent: table(f"sin/{agent}/t{examples}-sigma0.5-b{batch}-lr0.01", "test_rmse")[:20]
                for agent in ("l2", "prioritized_l2", "full_prioritized_l2", "plain_cubic")
            }
            ends = {agent: of.loc[:, of.columns <= steps].iloc[:, -20:].mean(axis=1) for agent, of in tables.items()}
            yield (examples, batch, steps), pd.DataFrame(ends)


def fresh_priorities_lead():
    """In how many cells fresh priorities lead L2, by which shares of its error; and in how many they lead Cubic."""
    cells = dict(cells_of_regression()).values()
    leads = [interval(100 * (cell["l2"] - cell["full_prioritized_l2"]) / cell["l2"].mean()) for cell in cells]
    shown = [mean for mean, low, _ in leads if low > 0]
    cubic = sum(interval(cell["plain_cubic"] - cell["full_prioritized_l2"])[1] > 0 for cell in cells)
    return len(shown), min(shown), max(shown), cubic


def outdated_against_fresh(batch, sign):
    """By how many per cent the error with outdated priorities is larger (1) or smaller (-1) at 50,000 updates."""
    cell = dict(cells_of_regression())[4000, batch, 50_000]
    new = cell["full_prioritized_l2"]
    return interval(sign * 100 * (cell["prioritized_l2"] - new) / new.mean())


def with_equal_activations():
    """Dyna-Value minus Dyna-Frequency in the maze, with ReLU for both and with tanh for both."""
    runs = {"": MAZE} | {name: f"MazeGridWorld/{{}}/n30-lr0.001-net64x64-{name}-m50" for name in ("relu", "tanh")}
    names = ((("", "dyna_value"), ("relu", "dyna_frequency")), (("tanh", "dyna_value"), ("", "dyna_frequency")))
    for pair in names:
        value, frequency = (returns(runs[kind].format(agent)) for kind, agent in pair)
        yield words(value - frequency)


def er_within_the_margin():
    """In how many panels ER ends at most 5% of the range below Dyna-TD with the true model."""
    count = 0
    for environment in RANGES:
        for n in (10, 30):
            er, own = (at_the_end(f"{environment}/{run}") for run in (f"er/n{n}-lrselected", f"dyna_td/n{n}-lr0.001"))
            count += interval((er - own).dropna())[1] > -RANGES[environment] / 20
    return IN_WORDS[count]


def won(claim):
    """In how many panels a claim is supported by both intervals."""
    tests = pd.read_csv(REFERENCE / "claims.csv").query(f"claim == {claim} and plus == plus")
    disputed = tests["note"].str.contains("says otherwise", na=False)
    return IN_WORDS[((tests["verdict"] == "supported") & ~disputed).sum()]


def farther_with_long_chains():
    runs = f"{GRID}/dyna_td_long/n10-lr0.001", f"{GRID}/dyna_td/n10-lr0.001-chain30"
    long, short = (returns(run, metric="distance_uniform") for run in runs)
    return interval(1e5 * (long - short))


def last(run, metric):
    return at_the_end(run, metric, evaluations=1)


def last_means(run, *metrics):
    return [last(run, metric).mean() for metric in metrics]


def lost_by_learning():
    """What the two worst seeds with a learned model lose at the end."""
    found = [at_the_end(f"{GRID}/dyna_td/n10-lr0.001{model}", seeds=20) for model in ("", "-learned")]
    return sorted(found[0] - found[1])[:-3:-1]


def secondary(claim, verdict, other):
    """The effects of a claim's secondary tests against another agent that have a verdict, by figure and panel."""
    rows = pd.read_csv(REFERENCE / "claims.csv").query("claim == @claim and row == 'secondary' and verdict == @verdict")
    return rows[rows["minus"].str.endswith(f"/{other}")].set_index("test")["effect"]


def early_cost_of_learning():
    """Over all of learning, where it shows; panels c and d of figure 4 are Acrobot's."""
    costs = -secondary(35, "contradicted", "dyna_td")
    (acrobot,) = costs[costs.index.isin(["figure_4/c", "figure_4/d"])]
    return *span(costs[costs != acrobot]), acrobot


def moved_chains():
    constant_y, moving_y = (last(FROZEN, f"variation_longer{end}") for end in ("_constant_y", ""))
    return ((constant_y - moving_y).abs() > 0.05).sum()


def on_hopper(agents=("dyna_td_learned", "prioritized_er", "er"), living=True):
    """Mean returns, without the seed of each agent whose actions are saturated or with it."""
    walkers = pd.read_csv(REFERENCE / "walkers.csv").query("environment == 'Hopper-v4' and saturated > 0.99")
    dead = walkers.set_index("curve")["seed"]
    return [returns(HOPPER[agent], since=10_000).drop(dead[agent] if living else []).mean() for agent in agents]


def gain_that_remains():
    """The share of the mean gain on GridWorld that the last 20 evaluations keep. On MountainCar no gain shows then."""
    assert interval(mean_gain(CAR, "lrselected", at_the_end))[1] < 0
    yield mean_gain(GRID, "lrselected", at_the_end).mean() / mean_gain(GRID, "lrselected").mean()


def always_slower(*columns):
    return pd.read_csv(REFERENCE / "always_slower.csv").set_index("exploration").loc[0.05, [*columns]]


def ends_in_the_roundabout():
    dyna_td, er, outdated = (at_the_end(run) for run in ROUNDABOUT.values())
    return *interval(er), dyna_td.mean(), outdated.mean()


def cells_early(place):
    """Cells that the queue, uniform draws and prioritized draws reach at step 10,000."""
    queue, draws = f"{GRID}/dyna_td/n10-lr0.001", f"{GRID}/prioritized_er/n10-lrselected"
    shown = ((queue, place), (draws, f"{place}_buffer"), (draws, place))
    return [table(run, metric)[10_000].mean() for run, metric in shown]


def distance_and_return():
    """Spearman's correlation of Dyna agents' distances and returns: with its p, of all and without Dyna-Frequency."""
    scores = pd.read_csv(REFERENCE / "controls" / "scores.csv").groupby(["curve", "panel"])["score"].mean().unstack()
    others = scores.index.str.endswith(("_learned", "_er")) | scores.index.isin(["er", "cubic_dqn"])
    dyna = scores[~others]
    pairs = [stats.spearmanr(each["c"], each["b"]) for each in (dyna, dyna.drop("dyna_frequency"))]
    return len(dyna), *pairs[0], *pairs[1]


def learned_at_the_end():
    learned, true = (
        at_the_end(f"{GRID}/dyna_td/n10-lr0.001{model}-chain30", "distance_uniform").mean()
        for model in ("-learned", "")
    )
    return learned / true - 1


def vanished(environment, n):
    """The share of Dyna-Frequency's chain steps whose gradient vanishes, for each training."""
    run = f"{environment}/dyna_frequency/n{n}-lrselected"
    lost, made = (last(run, f"frequency_{of}") for of in ("vanished_gradients", "steps_made"))
    return lost / made


def trainings_that_vanish():
    """Trainings of which most gradients vanish, and all: on GridWorld, elsewhere; and their share of all."""
    shares = {environment: pd.concat([vanished(environment, n) for n in (5, 10, 30)]) for environment in RANGES}
    of_grid, others = shares.pop(GRID) > 0.5, pd.concat(shares.values()) > 0.5
    found = pd.read_csv(REFERENCE / "claims.csv").query("claim == 34 and metric == metric")
    interval_of_twelve = found[["low95", "high95"]].to_numpy()[0]
    counts = of_grid.sum(), len(of_grid), others.sum() or "none", len(others)
    return *counts, pd.concat([of_grid, others]).mean(), *(interval_of_twelve / 12)


def vanished_where_it_learns():
    """Least and most vanished gradients of trainings without GridWorld's goal at the end, then of the others."""
    runs = [f"{GRID}/dyna_frequency/n{n}-lrselected" for n in (5, 10, 30)]
    lost, ends = pd.concat([vanished(GRID, n) for n in (5, 10, 30)]), pd.concat(map(at_the_end, runs))
    reached = pd.concat([(table(run, "return") > -2000).sum(axis="columns") for run in runs])
    never, once = (ends == -2000).to_numpy(), (reached == 1).to_numpy()
    rare = lost[~never & once]
    return lost[never].min(), lost[never].max(), rare.min(), IN_WORDS[len(rare)], lost[~never & ~once].max()


def roundabout(metric, rate="selected"):
    """Means of Dyna-TD, ER and PrioritizedER."""
    return [returns(run.replace("selected", rate), 50, metric).mean() for run in ROUNDABOUT.values()]


def crashes(after):
    """Crashes of a seed's evaluations, up to step 5,000 or after it: Dyna-TD's, ER's and PrioritizedER's."""
    tables = (table(run, "crashed") for run in ROUNDABOUT.values())
    return [each.loc[:, (each.columns > 5_000) == after].sum(axis="columns").mean() for each in tables]


def judged(table, query):
    """A test's effect and the ends of its interval, in claims.csv or readings.csv."""
    return pd.read_csv(REFERENCE / f"{table}.csv").query(query)[["effect", "low95", "high95"]].to_numpy()[0]


def exchanged(table, query):
    """The same, with the two sides of the test exchanged."""
    return -judged(table, query)[[0, 2, 1]]


ALGORITHM_4 = "claim == 28 and plus == 'controls/b/dyna_td_algorithm_4'"  # minus PrioritizedER on GridWorld


def with_relu_for_both():
    """Dyna-Value minus Dyna-Frequency in the maze over the fresh seeds, as the reading of claim 44 has it."""
    return exchanged("readings", "row == 'test' and plus == 'sensitivity/o/dyna_frequency_relu'")


def restarts_of_algorithm_4():
    """The share of restarts in all moves of its chains: the smaller of MountainCar's and GridWorld's, in per cent."""
    shares = []
    for run in (f"{environment}/dyna_td/n10-lr0.001-algorithm_4" for environment in (CAR, GRID)):
        restarts, steps = (last(run, f"chain_{of}").sum() for of in ("restarts", "steps_made"))
        shares.append(100 * restarts / (restarts + steps))
    return min(shares)


def undecided_over_all_claims():
    """How many claims have a p-value, and those that Holm's method over all of them would leave undecided."""
    rows = pd.read_csv(REFERENCE / "claims.csv").query("row != 'secondary' and p_supported == p_supported")
    needs_any = set(pd.read_csv(REFERENCE / "claims.csv").query("row == 'claim' and expect == 'any'")["claim"])
    of_claims = {}
    for claim, of in rows.groupby("claim"):
        sides = of["p_supported"], of["p_contradicted"]
        one, every = sides if claim in needs_any else sides[::-1]  # one test settles the first side
        of_claims[claim] = min(one.min(), every.max())
    found = pd.Series(of_claims)
    lost = sorted(found.index[(found <= 0.05) & ~corrected(found)])
    return len(found), IN_WORDS[len(lost)], *lost


BEYOND, FINDINGS = "docs/beyond-the-paper.md", "experiments/findings.yaml"
SENTENCES = {  # by page; what fills them
    "docs/advice.md": {
        "PrioritizedER then led ER in {} of six [panels](#words) of GridWorld and MountainCar, and lost {}.": lambda: (
            won_and_lost(
                minus(f"{environment}/{{}}_warm_up/n{n}-lr0.001-warmupgoalshown", "prioritized_er")
                for environment in (GRID, CAR)
                for n in (5, 10, 30)
            )
        ),
        "larger testing errors than fresh priorities in [{} of 15": lambda: fresh_priorities_lead()[3:],
        "PrioritizedER then leads ER in [{} panels]": lambda: won_and_lost(gains("lrselected", at_the_end))[0],
        "beats ER in {} of 12 panels with sweeps, in {} at one rate": lambda: (
            won_and_lost(gains(rate))[0] for rate in ("lrselected", "lr0.001")
        ),
        "swept rates {:.0%} of the mean gain remain in the last 20 evaluations on GridWorld": gain_that_remains,
        "Dyna-TD beats ER at one rate in {0} panels, {2} after correction. It loses {1}.": lambda: won_and_lost(
            returns(f"{environment}/dyna_td/n{n}-lr0.001-learned") - returns(f"{environment}/er/n{n}-lr0.001")
            for environment, n in PANELS
        ),
    },
    "docs/claims.md": {
        "{} that have a p-value would leave {} more undecided, {}, {}, {} and {}.": undecided_over_all_claims
    },
    "README.md": {
        "on GridWorld with n = 10: {:.0f} ({:.0f} to {:.0f})": lambda: judged("readings", ALGORITHM_4),
        "Dyna-TD leads PrioritizedER in {} of six panels of GridWorld and MountainCar. It trails in {}.": lambda: (
            won_and_lost(
                lead_after_warm_up(n, "-warmupgoalshown", environment)
                for environment in (GRID, CAR)
                for n in (5, 10, 30)
            )
        ),
        "| one learning rate | {} | {} | {} | {} |": lambda: row_of_gains("lr0.001"),
        "| swept rates | {} | {} | {} | {} |": lambda: row_of_gains("lrselected"),
        "| swept rates, last 20 evaluations | {} | {} | {} | {} |": lambda: row_of_gains("lrselected", at_the_end),
        "PrioritizedER then leads ER on MountainCar with n = 10 by {:.0f}, here by {:.0f}.": lambda: (
            minus(f"{CAR}/{{}}/n10-lrselected", "prioritized_er", seeds=seeds).mean() for seeds in (100, 20)
        ),
    },
    BEYOND: {
        "{0} panels, {2} after Holm's correction over 12, and loses {1}": lambda: won_and_lost(gains("lrselected")),
        "it wins {} and loses {}.": lambda: won_and_lost(gains("lr0.001")),
        "{:+.1f}% of the range ({:.1f} to {:.1f}) at one rate, {:+.1f}% ({:.1f} to {:.1f}) at swept ones": lambda: (
            number for rate in ("lr0.001", "lrselected") for number in interval(fresh(mean_gain(CAR, rate)))
        ),
        "n = 5 gives {:+.1f}% of the range ({:.1f} to {:.1f}; Holm over three panels: p = {:.3f})": fresh_on_acrobot,
        "PrioritizedER's loss on uniform draws has {:.0%} of that lead": lambda: share_of_the_loss()[0],
        "The cubic loss has {:.0%}.": lambda: share_of_the_loss("cubic_dqn")[0],
        "the mixed loss reaches {:.0%} of PrioritizedER's lead ({:.0%} to {:.0%} over seeds, {:.0%} to {:.0%} over "
        "seeds and settings)": share_of_the_loss,
        "leads it by {} on average. That shows in {} settings, in {} after Holm's correction": what_the_draws_add,
        "the mixed loss gains {:+.1f}% of the range on average ({:+.1f} to {:+.1f})": elsewhere,
        "PrioritizedER {:+.1f}% ({:+.1f} to {:+.1f})": lambda: elsewhere("prioritized_er"),
        "With n = 10 and 30 they add {}": lambda: words(
            sum(minus(f"{GRID}/{{}}/n{n}-lr0.001", "prioritized_er", "mixed_dqn") for n in (10, 30)) / 2
        ),
        "uniform states win {} panels and lose {}, after Holm's correction {} and {}": lambda: won_and_lost(
            minus(f"{environment}/{{}}/n{n}-lr0.001", "uniform_states", "dyna_td") for environment, n in PANELS
        ),
        "Over 100 seeds the lead is {}": lambda: lead(f"{GRID}/{{}}/n10-lrselected", seeds=100),
        "brings ER {:.0f}, {:.0f} and {:.0f} with n = 5, 10 and 30. Prioritizing then adds {}, {} and {}.": (
            on_mountain_car_the_episode_brings
        ),
        "by {0} where the goal was met and {2} elsewhere": lambda: by_warm_up("prioritized_er", "er"),
        "has a lead of {1:.0f}. These goals change it by {0}": lead_of_nearer_goals,
        "8 units bring {:.1f} times the lead ({:.1f} to {:.1f})": small_network,
        "each lose to ER in {} of eight panels, also after Holm's correction.": losses_of_lap_and_pal,
        "Huber's loss on uniform draws loses in all {}": lambda: lost_benchmarks("huber_dqn")[1:],
        "LAP leads Huber's loss in {}.": lambda: lost_benchmarks("huber_dqn", "lap")[1:],
        "network and buffer bring {} at swept rates": lambda: lead(f"{CAR}/{{}}/n10-lrselected", seeds=100),
        "though 0.001 brings it {}": lambda: [
            words(
                returns(f"{CAR}/prioritized_er/{SETTINGS_1C.replace('lrselected', 'lr0.001')}", seeds=100)
                - returns(f"{CAR}/er/{SETTINGS_1C}", seeds=100)
            )
        ],
        "by {} with n = 1 and by {} with n = 3, over 30 seeds. With n = 10 it leads by {}, over 100": lambda: (
            lead(f"{CAR}/{{}}/{SETTINGS_1C.replace('n10', n)}", seeds=100) for n in ("n1", "n3", "n10")
        ),
        "the step alone takes {} and {} from Dyna-TD's lead": lambda: (
            words(lead_after_warm_up(n, "-warmupgoallast") - lead_after_warm_up(n, "")) for n in (5, 10)
        ),
        "At most {:.0%} (n = 5) and {:.0%} (n = 10) remain": lambda: map(left_of_the_lead, (5, 10)),
        "returns fall by {} on MountainCar and rise by {} on Acrobot": lambda: (
            lead(f"{environment}/{{}}/n10-lr0.001", "random_sign", "dyna_td", 100, 0.9)
            for environment in (CAR, "Acrobot-v1")
        ),
        "least {:.0%} of the gain over ER on MountainCar, {:.0%} on GridWorld and {:.0%} on CartPole": kept_by_the_coin,
        "Fresh priorities lead L2 in {} of 15 cells, by {:.0f}% to {:.0f}%": lambda: fresh_priorities_lead()[:3],
        "Cubic is behind Full-PrioritizedL2 in {} of 15 cells": lambda: fresh_priorities_lead()[3:],
        "{:.0f}% lower than fresh ones with b = 32 ({:.0f}% to {:.0f}%)": lambda: outdated_against_fresh(32, -1),
        "With 512 it is {:.0f}% higher ({:.0f}% to {:.0f}%)": lambda: outdated_against_fresh(512, 1),
        "Dyna-Value minus Dyna-Frequency is {:+.0f} ({:+.0f} to {:+.0f}) over 80 fresh seeds": with_relu_for_both,
        "then leads Dyna-Frequency by {}": lambda: lead(f"{MAZE}-queuegoalsTrue", "dyna_value", "dyna_frequency"),
    },
    FINDINGS: {
        "PrioritizedER on GridWorld with n = 10 by {:.0f} ({:.0f} to {:.0f}). Over {:.0f}% of the chains": lambda: (
            *exchanged("readings", ALGORITHM_4),
            np.floor(restarts_of_algorithm_4()),
        ),
        "fresh seeds have Dyna-Value ahead by {:+.0f} ({:+.0f} to {:+.0f})": with_relu_for_both,
        "on Walker2d Dyna-TD is {:.0f} behind ER ({:.0f} to {:.0f}).": lambda: exchanged(
            "readings", "plus == 'sensitivity/n/dyna_td_to_the_end' and minus == 'figure_6/b/er'"
        ),
        "On Walker2d ER is {:.0f} ahead ({:.0f} to {:+.0f})": lambda: judged(
            "claims", "claim == 38 and figure == '6' and row == 'test' and test == 'figure_6/b'"
        ),
        "they lie at {:.1f}e-4, Dyna-TD's draws at {:.1f}e-4, those of long chains at {:.1f}e-4": lambda: (
            1e4 * returns(f"{GRID}/{agent}/n10-lr0.001", metric="distance_uniform").mean()
            for agent in ("uniform_states", "dyna_td", "dyna_td_long")
        ),
        "a domain needs {} without an exception": lambda: next(n for n in range(1, 999) if 0.95**n < 0.025),
        "changes them by {} on GridWorld and by {} on MountainCar": lambda: (
            lead(f"{environment}/{{}}/n10-lr0.001", "moving_target", "dyna_td") for environment in (GRID, CAR)
        ),
        "minus Dyna-Frequency is {} with ReLU and {} with tanh": with_equal_activations,
        "In {} of the eight, ER ends within the same 5% without any model": er_within_the_margin,
        "In the known ones Dyna-Value is ahead by {}.": lambda: lead(MAZE, "dyna_value", "dyna_frequency"),
        "it has {:.0f} and Dyna-Frequency {:.0f}": lambda: (
            at_the_end(MAZE.format(agent)).iloc[20:].mean() for agent in ("dyna_value", "dyna_frequency")
        ),
        "PrioritizedER ends {:.2f} below it ({:.2f} to {:.2f})": lambda: interval(
            always_slower("return").item() - at_the_end(ROUNDABOUT["prioritized_er"])
        ),
        # a mean below 0 is printed without its sign
        "is ahead by {}. In the other {} Dyna-TD is ahead by {}": lambda: by_warm_up("dyna_td", "prioritized_er"),
        "on GridWorld it gains {}, and PrioritizedER {}": lambda: (
            lead(f"{GRID}/{agent}/{{}}-lrselected", "n30", "n10") for agent in ("er", "prioritized_er")
        ),
        "On MountainCar ER gains {}.": lambda: lead(f"{CAR}/er/{{}}-lrselected", "n30", "n10", 100),
        "it returns {:.0f} with 0.0001, against {:.0f} with 0.001, over 20 seeds": lambda: (
            returns(f"Acrobot-v1/prioritized_er/n10-{rate}").mean() for rate in ("lrselected", "lr0.001")
        ),
        "beat Dyna-TD on CartPole, by {:.0f} to {:.0f} at equal rates": lambda: span(
            minus(f"CartPole-v1/{{}}/n{n}-lr0.001", "uniform_states", "dyna_td").mean() for n in (5, 10, 30)
        ),
        "It does in {} of twelve panels": lambda: won(28),
        "not worse than ER in {} of twelve panels": lambda: won(36),
        "Two seeds carry it. The other 18 average {:.0f}": lambda: (
            minus("Acrobot-v1/{}/n10-lr0.001", "dyna_td", "prioritized_er").sort_values()[:-2].mean()
        ),
        "by {:.1f}e-5 ({:.1f}e-5 to {:.1f}e-5)": farther_with_long_chains,
        "of {:.2f}, with steps a / 10 {:.2f}, with a / 100 {:.2f}. Their distances are {:.3f}, {:.3f} and {:.3f}; "
        "uniform states have {:.3f}. Two starts differ by {:.3f}, {:.3f} and {:.3f}": lambda: last_means(
            FROZEN,
            *(f"{kind}_{step}" for kind in ("beta", "variation") for step in STEPS),
            "variation_uniform",
            *(f"variation_between_{step}" for step in STEPS),
        ),
        "|delta|^{:.2f} ({:.2f} to {:.2f} over seeds)": lambda: interval(last(FROZEN, "beta_adjusted")),
        "random walks by |delta|^{:.2f}. They lie at distances of {:.3f} and {:.3f}": lambda: last_means(
            FROZEN, "beta_walk", "variation_adjusted", "variation_walk"
        ),
        " {} of 20 seeds each step of Algorithm 4's": lambda: (last(SHORT, "variation_algorithm_4") == 1).sum(),
        "released rule has an exponent of {:.2f} ({:.2f} to {:+.2f})": lambda: interval(last(SHORT, "beta_released")),
        " {:.2f} at uniform states and {:.2f} at queued": lambda: last_means(SHORT, "cosine_uniform", "cosine_queue"),
        "right side is {:.0f} times": lambda: last_means(SHORT, "bound_ratio"),
        "differ by {:.3f} in total variation. Two starts of the same chains differ by {:.3f}": (
            lambda: last_means(FROZEN, "variation_between_constant_y", "variation_between_longer")
        ),
        "In {} of 20 seeds it changes by over 0.05": moved_chains,
        "fill asks for 100 states, and finds {:.1f} on Hopper and {:.1f} on Walker2d": lambda: (
            table(HOPPER["dyna_td_learned"].replace("Hopper", name), "chain_states")[100_000].mean() / 1_800
            for name in ("Hopper", "Walker2d")  # a fill each 50 steps, from step 10,000 on
        ),
        "Dyna-TD has {:.0f}, PrioritizedER {:.0f} and ER {:.0f}": on_hopper,
        "With them it is {:.0f}, {:.0f} and {:.0f}": lambda: on_hopper(living=False),
        "Without them the means are {:.0f} and {:.0f}": lambda: on_hopper(("er", "prioritized_er")),
        "nearly stops, returns {:.2f} (± {:.2f})": lambda: always_slower("return", "return_half95"),
        "slows down crashes in {:.1%}. The first": lambda: always_slower("crashed"),
        "slows down drives {:.1f} m/s": lambda: always_slower("speed"),
        "reaches {:,.0f}, uniform draws {:.0f} and prioritized draws {:.0f}": lambda: cells_early("occupied_cells"),
        "{} of 20 seeds never reach the goal": lambda: (
            table("MazeGridWorld/dyna_td/n30-lr0.001-net64x64-learned-m50", "return").max(axis=1) == -2000
        ).sum(),
        "On GridWorld PrioritizedER leads by {:.0f} to {:.0f}": lambda: span(
            -judged("claims", f"claim == 29 and plus == 'figure_{panel}/er'")[0] for panel in ("12/c", "4/e", "4/f")
        ),
        "{:.0%} of the buffer lie there, and {:.0%} of the queue": lambda: cells_early("mass_top_left")[1::-1],
        "Over the {} Dyna agents of the controls that have the true model, this distance's rank correlation with the "
        "return is {:.2f} (p = {:.2f}). Without Dyna-Frequency it is {:.2f} (p = {:.2f})": distance_and_return,
        "and {:.0%} at the end": learned_at_the_end,
        "from the {} seeds in which the random warm-up": lambda: (goals_of_warm_ups()[:100] == 0).sum(),
        "{} of 20 seeds end below -200, against {} of the same with n = 10": lambda: (
            (at_the_end(f"{CAR}/dyna_td/n{n}-lr0.001")[:20] < -200).sum() for n in (30, 10)
        ),
        "vanish in {} of the {} trainings on GridWorld and in {} of the {} others. That is {:.1%} of all trainings "
        "({:.1%} to {:.1%})": trainings_that_vanish,
        "{:.0%} to {:.0%} vanish in trainings that do not reach the goal at the end. At least {:.0%} vanish in {} that "
        "reached it once. In the others it is at most {:.0%}": vanished_where_it_learns,
        "On GridWorld with n = 10 one seed of 20 ends {:,.0f} lower, the others at most {:.0f}": lost_by_learning,
        "it is {:.0f} to {:.0f} on MountainCar and GridWorld, and {:.0f} on Acrobot": early_cost_of_learning,
        "It leads PrioritizedER in {} panels and trails it in {}.": lambda: [
            IN_WORDS[len(secondary(35, verdict, "prioritized_er"))] for verdict in ("supported", "contradicted")
        ],
        "single seeds from {:.0f} to {:,.0f}": lambda: span(
            pd.concat([returns(HOPPER[agent], since=10_000) for agent in ("er", "prioritized_er")])
        ),
        "With 0.0001 for all they return {:.1f} to {:.1f} an episode": lambda: span(roundabout("return")),
        "with 0.001 for all {:.1f} to {:.1f}": lambda: span(roundabout("return", "0.001")),
        " {:.0%} of its evaluation episodes, ER in {:.0%}, PrioritizedER in {:.0%}": lambda: roundabout("crashed"),
        "With 0.001 for all they drive {:.1f} to {:.1f} m/s": lambda: span(roundabout("speed", "0.001")),
        "Dyna-TD drives {:.1f} m/s": lambda: roundabout("speed")[:1],
        "ER has {:.2f} ({:.2f} to {:.2f}), Dyna-TD {:.2f} and PrioritizedER {:.2f}": ends_in_the_roundabout,
        "The first {:.1f} crashes": lambda: crashes(after=False),
        "From then on they are {:.1f}, {:.1f} and {:.1f}": lambda: crashes(after=True),
    },
    "figures/captions/figure_2.rst": {
        "{} of {} seeds do not meet the goal": lambda: ((goals_of_warm_ups() == 0).sum(), len(goals_of_warm_ups()))
    },
}
PLACES = [(page, sentence) for page, sentences in SENTENCES.items() for sentence in sentences]


def in_one_line(text):
    return " ".join(text.split())


def read(page):
    return (REFERENCE.parent / page).read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "sentence"), PLACES, ids=map(str, range(len(PLACES))))
def test_the_numbers_of_a_sentence_are_those_of_the_runs(page, sentence):
    found = SENTENCES[page][sentence]()
    assert sentence.format(*([found] if np.isscalar(found) else found)) in in_one_line(read(page))


NUMBER = r"(?<![\w.,^|-])[-+]?\d[\d,]*(?:\.\d+)?(?:e-\d)?"
INTERVAL = re.compile(rf"({NUMBER})[^()\d]*\((?:90%: )?({NUMBER})%? to ({NUMBER})")
FILLED = r"(?:nothing that shows|\S+(?: \(\S+ to \S+\))?)"  # what replaces a pair of braces


def without_tested(page, text):
    """The text without the sentences above."""
    for sentence in SENTENCES[page]:
        text = re.sub(re.sub(r"\\\{.*?\\\}", lambda braces: FILLED, re.escape(sentence)), "", text)
    return text


def unknown(page, text, rows):
    """The intervals of a text that stand in no sentence above, and in none of `rows` [N, 3] with either sign."""
    text = without_tested(page, text)
    rows = np.concatenate([rows, -rows[:, [0, 2, 1]]])
    for found in INTERVAL.finditer(text):
        numbers = [float(number.replace(",", "")) for number in found.groups()]
        rounding = [0.501 * 10.0 ** -len(number.partition(".")[2]) for number in found.groups()]
        if not (abs(rows - numbers) <= rounding).all(axis=1).any():
            yield found[0]


def test_intervals_beyond_the_paper_are_differences_in_the_table_of_their_study():
    prose, others = re.sub(r"<!-- (\w+) -->.*?<!-- end of \1 -->", "", read(BEYOND), flags=re.DOTALL), []
    for section in prose.split("\n## "):
        for study in re.findall(r"\(../reference/(\w+)/", section):
            curves = pd.read_csv(REFERENCE / study / "curves.csv")
            differences = curves.loc[curves["metric"].str.contains("_less_"), ["mean", "low95", "high95"]]
            others += unknown(BEYOND, in_one_line(section), differences.to_numpy())
    assert others == []


def test_intervals_and_counts_of_seeds_in_findings_are_those_of_tests_or_readings_of_the_claim():
    tables = pd.concat(pd.read_csv(REFERENCE / f"{name}.csv") for name in ("claims", "readings"))
    for finding in yaml.safe_load(read(FINDINGS))["findings"]:
        claim, measured = finding["claim"], in_one_line(finding["measured"])
        own = tables[tables["claim"] == claim]
        effects = np.concatenate([own[["effect", f"low{level}", f"high{level}"]].to_numpy() for level in (90, 95)])
        rows = np.concatenate([effects, 100 * effects])  # also in per cent
        assert [*unknown(FINDINGS, measured, rows)] == [], claim
        text = without_tested(FINDINGS, measured)
        named = [claim, *map(int, re.findall(r"claim (\d+)", text))]
        notes = " ".join(tables.loc[tables["claim"].isin(named), "note"].dropna())
        counts = set(re.findall(r"\b\d+ of (?:20|50|100|140|230)\b", text))
        assert counts <= set(re.findall(r"\d+ of \d+", notes)), claim


def test_the_verdicts_that_depend_on_learning_rates_are_all_named():
    of_claims, of_readings = (
        pd.read_csv(REFERENCE / f"{name}.csv").query("row == 'claim'") for name in ("claims", "readings")
    )
    rates = of_readings[of_readings["reading"].str.contains("learning rate")].merge(of_claims, on="claim")
    changed = set(rates.loc[rates["verdict_x"] != rates["verdict_y"], "claim"])
    page = read(BEYOND)
    section = page.partition("\n## Rates")[2].partition("\n### ")[0]
    named = set(map(int, re.findall(r"claims.md#claim-(\d+)", section)))
    assert changed <= named
    assert f"| {IN_WORDS[len(changed)].capitalize()} verdicts depend on learning rates. |" in page
