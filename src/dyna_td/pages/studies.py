"""Tables of docs/beyond-the-paper.md, in Markdown: returns, and the test errors of the sine task."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product, zip_longest

import numpy as np
import pandas as pd
from scipy import stats

from dyna_td.envs import KNOWN
from dyna_td.evidence import aggregate, labels, statistics
from dyna_td.evidence.profiles import FIGURES
from dyna_td.evidence.scores import Measured, score
from dyna_td.evidence.statistics import Interval, half_width, interval
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.plan.costs import published_cost
from dyna_td.plan.planned import Panel
from dyna_td.runs.registry import AGENTS, task
from dyna_td.runs.run import Run

_OF_THE_PAPER = ("er", "prioritized_er", "dyna_td")
_STRATA = ["n", "agent", "seeds: goal met", "return", "minus Dyna-TD", "seeds: not met", "return", "minus Dyna-TD"]
_OVER_LEARNING, _LESS = "return" + aggregate.OVER_LEARNING, "return" + aggregate.LESS
_LENGTHS = (12_500, 50_000, 200_000)  # updates: a quarter of figure 1's, all of them, four times as many
SWEPT = "_swept"  # end of the keys of curves at swept rates
_PAIRS = (("", "er"), (SWEPT, f"er{SWEPT}"), ("", "prioritized_er"))  # ends of curves' keys and their baselines
_Columns = dict[str, list[str]]  # of a table: cells from top to bottom, by the column's head
_COIN_MARGIN = 0.05  # a share of the span of returns; the caption of the study controls declares it


def by_warm_up(facts: Facts) -> str:
    """GridWorld's returns by whether the random warm-up reached the goal, for each n; see `warm_up_goals`."""
    panels = {
        panel.run.settings.planning_updates: panel
        for figure in FIGURES
        for panel in facts.plan.figures[figure].panels.values()
        if panel.run.environment == "GridWorld"
    }
    goals, rows = facts.warm_up_goals["GridWorld"], []
    for n, panel in sorted(panels.items()):
        scores = {curve: mean_returns(facts, panel.curves[curve]) for curve in _OF_THE_PAPER}
        for curve, returns in scores.items():
            cells = []
            for is_met in (True, False):
                chosen = [seed for seed in returns.index if (goals[seed] > 0) == is_met]
                difference = (returns - scores["dyna_td"])[chosen]
                minus = "0" if curve == "dyna_td" else _interval(difference, sign=True)
                cells += [str(len(chosen)), _interval(returns[chosen]), minus]
            rows.append([str(n), labels.CURVES[curve], *cells])
    return table(_STRATA, rows)


def controls(facts: Facts) -> str:
    """A line for each agent of the study: what it is, and its return minus Dyna-TD's."""
    means, rows = facts.curves("controls"), []
    panels = {"MountainCar": "a", "GridWorld": "b"}
    for curve in facts.plan.studies["controls"].panels["b"].curves:
        words = labels.summary(curve) if curve in AGENTS else labels.name_of(curve)
        cells = [_cell(means, key, curve, "dyna_td", own="0") for key in panels.values()]
        rows.append([f"`{curve}`", escaped(words), *cells])
    return table(["agent", "in short", *panels], rows)


def coin(facts: Facts) -> str:
    """A line for each benchmark: what the coin costs Dyna-TD, and whether two one-sided tests find it equivalent."""
    rows = []
    for panel in panels_of(facts, "controls", "coin").values():
        difference, environment = lead(facts, panel, "random_sign", "dyna_td"), panel.curves["dyna_td"].environment
        margin = _COIN_MARGIN * KNOWN[environment].span
        found = interval(difference, 2 * statistics.LEVEL)  # two one-sided tests
        is_inside = -margin < found.low and found.high < margin
        verdict = "equivalent" if is_inside else "worse" if found.high < -margin else "open"
        words = "{:+.1f} ({:+.1f} to {:+.1f})".format(*found)
        rows.append([task(environment), str(len(difference)), words, f"{margin:.0f}", verdict])
    return table(["benchmark", "seeds", "coin minus Dyna-TD, 90% interval", "margin", "the coin is"], rows)


def goal(facts: Facts) -> str:
    """By environment, mean returns with the goal hidden and shown, minus PrioritizedER's with the same warm-up."""
    return _goal_table(facts, panels_of(facts, "goal"), {"": "hidden", "_shown": "shown"})


def episode(facts: Facts) -> str:
    """By environment, returns where the warm-up shows parts of an episode, minus PrioritizedER's with the same one."""
    ends = {"": "hidden", "_last": "last step", "_walk": "random walk", "_shown": "scripted episode"}
    return _goal_table(facts, panels_of(facts, "goal", "episode"), ends)


def _goal_table(facts: Facts, panels: dict[str, Panel], ends: dict[str, str]) -> str:
    """A table for each environment of the panels; `ends` of curves' keys name their warm-up."""
    means, parts = facts.curves("goal"), []
    for environment in dict.fromkeys(panel.run.environment for panel in panels.values()):
        here = [panel for panel in panels.values() if panel.run.environment == environment]
        curves = [curve for curve, run in here[0].curves.items() if run.settings.warm_up_goal == "hidden"]
        columns = {task(environment): [f"`{curve}`" for curve in curves]}
        for panel, (end, words) in product(here, ends.items()):
            columns[f"n = {panel.run.settings.planning_updates}, {words}"] = [
                _cell(means, panel.key, f"{curve}{end}", f"prioritized_er{end}", own="({:,.0f})") for curve in curves
            ]
        parts.append(_by_columns(columns))
    return "\n".join(parts)


def when(facts: Facts) -> str:
    """A line for each world: how rare its reward is, returns, and how PrioritizedER's lead over ER changes with it."""
    panels = panels_of(facts, "when")
    goals = [facts.warm_up_goals[panel.curves["er"].environment][: panel.seeds].mean() for panel in panels.values()]
    leads = [interval_words(change, _whole) for change in changes_of_the_lead(facts).values()]
    shares = [interval_words(change, "{:+.2f}".format) for change in changes_of_the_share(facts).values()]
    before = {"goals in the warm-up": [f"{mean:.1f}" for mean in goals]}
    after = {"change of `prioritized_er`'s lead": ["", *leads], "change of its share of the gap": ["", *shares]}
    return _minus_er(facts, panels, "world", before, after)


def changes_of_the_lead(facts: Facts) -> dict[str, Interval]:
    """PrioritizedER's lead over ER in each world, minus its lead in the paper's, by panel."""
    leads = _leads(facts)
    base, *others = leads
    return {world: interval(leads[world] - leads[base]) for world in others}


def changes_of_the_share(facts: Facts) -> dict[str, Interval]:
    """The same as a share of the gap between ER and the best return, by panel.

    The share is a ratio of means over seeds. The best return is the highest of any seed and agent of the world, in the
    last 20 evaluations. Seeds are resampled 5,000 times, the same ones in both worlds.
    """
    leads = _leads(facts)
    gaps = pd.DataFrame({key: _gap(facts, panel) for key, panel in panels_of(facts, "when").items()}).loc[leads.index]
    own, gap = leads.to_numpy(), gaps.to_numpy()  # [seeds, worlds]
    drawn = np.random.default_rng(0).integers(len(own), size=(5_000, len(own)))
    shares = own.mean(axis=0) / gap.mean(axis=0)
    resampled = own[drawn].mean(axis=1) / gap[drawn].mean(axis=1)  # [5000, worlds]
    low, high = np.percentile(resampled - resampled[:, :1], [2.5, 97.5], axis=0)
    changes = map(Interval, shares - shares[0], low, high)
    return dict(list(zip(leads, changes, strict=True))[1:])


def _leads(facts: Facts) -> pd.DataFrame:
    """PrioritizedER's lead over ER in each world of the picture (columns), the paper's first, for each seed."""
    panels = panels_of(facts, "when")
    return pd.DataFrame({key: lead(facts, panel, "prioritized_er", "er") for key, panel in panels.items()})


def _gap(facts: Facts, panel: Panel) -> pd.Series:
    """The best return, see `changes_of_the_share`, minus ER's over learning, for each seed."""
    best = max(score(facts.read(run), "return", "final")[: panel.seeds].max() for run in panel.curves.values())
    return best - mean_returns(facts, panel.curves["er"])


def losses(facts: Facts) -> str:
    """A line for each benchmark: ER's return, and those of other losses and draws minus ER's."""
    return _minus_er(facts, panels_of(facts, "when", "losses"), "panel", {}, {})


def network_and_buffer(facts: Facts) -> str:
    """A line for figure 1c's small network, its small buffer, and both, on MountainCar: returns as in `losses`."""
    return _minus_er(facts, panels_of(facts, "when", "small_network"), "with n = 10", {}, {})


def _minus_er(facts: Facts, panels: dict[str, Panel], heading: str, before: _Columns, after: _Columns) -> str:
    """A line for each of these panels of the study when, then wins and losses; `before` and `after` add columns."""
    means = facts.curves("when")
    names = [panel.title for panel in panels.values()]
    names += ["won, lost against ER", "won, lost against PrioritizedER"]
    agents = {}
    for curve in next(iter(panels.values())).curves:
        counts = [_won_and_lost(means, panels, curve, other) for other in ("er", "prioritized_er")]
        agents[f"`{curve}`"] = [*(_cell(means, key, curve, "er") for key in panels), *counts]
    return _by_columns({heading: names, **before, **agents, **after})


def _by_columns(columns: _Columns) -> str:
    """A table; empty cells end a short column."""
    return table([*columns], map(list, zip_longest(*columns.values(), fillvalue="")))


def _cell(means: pd.DataFrame, panel: str, curve: str, baseline: str, own: str = "{:,.0f}") -> str:
    """A curve's return minus the baseline's, and for the baseline its `own`; "-" if the curve is not yet trained."""
    if curve == baseline:
        return own.format(means.loc[(panel, curve, _OVER_LEARNING), "mean"])
    if (row := (panel, curve, _LESS + baseline)) not in means.index:
        return "-"
    return interval_words(Interval(*means.loc[row, ["mean", "low95", "high95"]]), _whole)


def _won_and_lost(means: pd.DataFrame, panels: Iterable[str], curve: str, baseline: str) -> str:
    """In how many panels a curve leads the baseline, and in how many it trails; see `leaders`."""
    uncorrected, _ = leaders(means, panels, curve, baseline)
    return f"**{_counts(uncorrected)}** of {len(uncorrected)}" if len(uncorrected) else ""


def leaders(means: pd.DataFrame, panels: Iterable[str], curve: str, baseline: str) -> tuple[np.ndarray, np.ndarray]:
    """Where a curve leads a baseline (1), trails it (-1), or neither is shown (0): uncorrected, then by Holm's method.

    By t-tests of the paired differences in `means`, the rows of curves.csv, for each of the panels that has them.
    """
    rows = means.loc[[row for key in panels if (row := (key, curve, _LESS + baseline)) in means.index]]
    p = 2 * stats.t.sf((rows["mean"] / rows["standard_error"]).abs(), rows["n"] - 1)
    return statistics.signs(rows["mean"], p)


def _counts(signs: np.ndarray) -> str:
    return f"{np.sum(signs > 0)}, {np.sum(signs < 0)}"


def bold(text: str, found: Interval) -> str:
    """`text`, bold if the interval excludes 0."""
    return f"**{text}**" if found.excludes_zero else text


def interval_words(found: Interval, written: Callable[[float], str]) -> str:
    """A mean with its interval, as +3 (+1 to +5); see `bold`."""
    mean, low, high = map(written, found)
    return f"{bold(mean, found)} ({low} to {high})"


def _whole(number: float) -> str:
    """A number without decimals; a small one with its first digit."""
    return f"{number:+,.0f}" if abs(number) >= 0.5 else f"{number:+.1g}"


def what_to_use(facts: Facts) -> str:
    """Returns minus ER's for each environment and n; then panels won and lost, and processor time."""
    means, panels = facts.curves("what_to_use"), panels_of(facts, "what_to_use")
    names = [panel.title for panel in panels.values()]
    names += ["won, lost against ER", "both at swept rates", "won, lost against PrioritizedER", "processor time, ER: 1"]
    columns = {"panel": names}
    for curve in _at_fixed_rates(panels):
        pairs = [(panel.curves[curve], panel.curves["er"]) for panel in panels.values()]
        time = np.median([_core_seconds(run) / _core_seconds(er) for run, er in pairs])
        counts = [_won_and_lost(means, panels, curve + end, baseline) for end, baseline in _PAIRS]
        columns[f"`{curve}`"] = [*(_cell(means, key, curve, "er") for key in panels), *counts, f"{time:.1f}"]
    return _by_columns(columns)


def panels_of(facts: Facts, study: str, table: str = "") -> dict[str, Panel]:
    """The panels of a study, by key, that a table of this name shows; by default those of its picture."""
    return {key: panel for key, panel in facts.plan.studies[study].panels.items() if panel.table == table}


def _at_fixed_rates(panels: dict[str, Panel]) -> list[str]:
    """The curves of the first panel whose learning rate is not swept."""
    return [curve for curve, run in next(iter(panels.values())).curves.items() if not run.sweep]


def multiplicity(facts: Facts) -> str:
    """Panels won and lost by the agents of `what_to_use`, one by one and after Holm's correction for all panels."""
    means, panels = facts.curves("what_to_use"), panels_of(facts, "what_to_use")
    rows = []
    for curve in _at_fixed_rates(panels)[1:]:
        found = [signs for end, baseline in _PAIRS for signs in leaders(means, panels, curve + end, baseline)]
        rows.append([f"`{curve}`", *(_counts(signs) if len(signs) else "" for signs in found)])
    heads = ["against ER", "at swept rates", "against PrioritizedER"]
    return table(["won, lost", *(cell for head in heads for cell in (head, "Holm"))], rows)


def _core_seconds(run: Run) -> float:
    """Processor seconds for each seed of a run."""
    cost = published_cost(run.name)
    return cost.core_seconds / len(run.seeds) if cost else np.nan


def mean_returns(facts: Facts, run: Run, window: str = "auc") -> pd.Series:
    """The mean return of each seed over learning, or in another window of `scores`, from the published run."""
    return score(facts.read(run), "return", window)


def lead(facts: Facts, panel: Panel, curve: str, other: str, window: str = "auc") -> pd.Series:
    """A curve's mean return minus another's, see `mean_returns`, for each seed that the panel shows."""
    mine, theirs = (mean_returns(facts, panel.curves[name], window)[: panel.seeds] for name in (curve, other))
    return (mine - theirs).dropna()  # the runs may have other seeds


def _interval(values: pd.Series, sign: bool = False) -> str:
    """Mean and half of Student's 95% interval."""
    mean = round(values.mean()) + 0.0  # no "-0"
    return f"{mean:{'+' if sign else ''},.0f} ± {half_width(values):,.0f}"


def regression(facts: Facts) -> str:
    """Test errors minus L2's, in per cent of L2's, for each task of the study and three lengths of training."""
    rows = []
    for panel in facts.plan.studies["regression"].panels.values():
        shown = {curve: facts.read(panel.curves[curve]) for curve in labels.SINE if curve in panel.curves}
        data = shown["l2"].run.settings
        cell = escaped(f"|T| = {data.examples}, sigma = {data.noise:g}, b = {data.batch_size}")
        for length in _LENGTHS:
            errors = {curve: _test_errors(measured, length) for curve, measured in shown.items()}
            own = errors.pop("l2")
            cells = {curve: _percent(100 * (error - own) / own.mean()) for curve, error in errors.items()}
            own_and_others = [f"{own.mean():.4f}", *(cells.get(curve, "-") for curve in labels.SINE if curve != "l2")]
            rows.append([cell, f"{length:,}", *own_and_others])
    return table(["task", "updates", *(labels.CURVES[curve] for curve in labels.SINE)], rows)


def _test_errors(whole: Measured, length: int) -> pd.Series:
    """Each seed's test error at the end of the first `length` updates: the mean of the last 20 evaluations."""
    records = whole.records[whole.records["step"] <= length]
    beginning = Measured(replace(whole.run, steps=length), records, {}, whole.rebuild)
    return score(beginning, "test_rmse", "final")


def _percent(differences: pd.Series) -> str:
    """A mean in per cent and half of Student's 95% interval; bold if the interval excludes 0."""
    mean = round(differences.mean(), 1) + 0.0  # no "-0"
    return f"{bold(f'{mean:+.1f}%', interval(differences))} ± {half_width(differences):.1f}"
