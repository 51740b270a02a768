"""Tables of docs/beyond-the-paper.md, in Markdown: returns, and the test errors of the sine task."""

from collections.abc import Callable, Iterable
from dataclasses import replace

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
from dyna_td.runs.registry import AGENTS
from dyna_td.runs.run import Run

_OF_THE_PAPER = ("er", "prioritized_er", "dyna_td")
_STRATA = ["n", "agent", "seeds: goal met", "return", "minus Dyna-TD", "seeds: not met", "return", "minus Dyna-TD"]
_OVER_LEARNING, _LESS = "return" + aggregate.OVER_LEARNING, "return" + aggregate.LESS
_LENGTHS = (12_500, 50_000, 200_000)  # updates: a quarter of figure 1's, all of them, four times as many
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
    means = facts.curves("controls")
    panels = {"MountainCar": "a", "GridWorld": "b"}

    def cell(curve: str, panel: str) -> str:
        row = (panel, curve, _LESS + "dyna_td")
        if row not in means.index:
            return "0" if curve == "dyna_td" else "-"
        return _difference(means.loc[row])

    curves = facts.plan.studies["controls"].panels["b"].curves
    words = {curve: labels.summary(curve) if curve in AGENTS else labels.name_of(curve) for curve in curves}
    rows = [[f"`{key}`", escaped(text), *(cell(key, at) for at in panels.values())] for key, text in words.items()]
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
        rows.append([labels.task(environment), str(len(difference)), words, f"{margin:.0f}", verdict])
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
    means = facts.curves("goal")
    tasks = {key: panel.run for key, panel in panels.items()}

    def cell(panel: str, curve: str, end: str) -> str:
        baseline = f"prioritized_er{end}"
        own = f"{curve}{end}" == baseline
        row = means.loc[(panel, f"{curve}{end}", _OVER_LEARNING if own else _LESS + baseline)]
        return f"({row['mean']:,.0f})" if own else _difference(row)

    parts = []
    for environment in dict.fromkeys(run.environment for run in tasks.values()):
        here = [key for key, run in tasks.items() if run.environment == environment]
        columns = [f"n = {tasks[key].settings.planning_updates}, {words}" for key in here for words in ends.values()]
        first = panels[here[0]].curves.items()
        curves = [curve for curve, run in first if run.settings.warm_up_goal == "hidden"]
        rows = [[f"`{curve}`", *(cell(key, curve, end) for key in here for end in ends)] for curve in curves]
        parts.append(table([labels.task(environment), *columns], rows))
    return "\n".join(parts)


def when(facts: Facts) -> str:
    """A line for each world: how rare its reward is, returns, and how PrioritizedER's lead over ER changes with it."""
    panels = panels_of(facts, "when")
    goals = [facts.warm_up_goals[panel.curves["er"].environment][: panel.seeds].mean() for panel in panels.values()]
    changes = ["", *(_words(change, _whole) for change in changes_of_the_lead(facts).values())]
    shares = ["", *(_words(change, "{:+.2f}".format) for change in changes_of_the_share(facts).values())]
    after = {"change of `prioritized_er`'s lead": changes, "change of its share of the gap": shares}
    return _minus_er(facts, panels, "world", {"goals in the warm-up": [f"{mean:.1f}" for mean in goals]}, after)


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


def _minus_er(
    facts: Facts, panels: dict[str, Panel], heading: str, before: dict[str, list[str]], after: dict[str, list[str]]
) -> str:
    """A line for each of these panels of the study when, then wins and losses; `before` and `after` add columns."""
    means, rows = facts.curves("when"), []
    curves = next(iter(panels.values())).curves

    def cell(key: str, curve: str) -> str:
        row = (key, curve, _LESS + "er")
        return _difference(means.loc[row]) if row in means.index else "-"  # declared, not yet trained

    for number, (key, panel) in enumerate(panels.items()):
        own = f"{means.loc[(key, 'er', _OVER_LEARNING), 'mean']:,.0f}"
        others = [cell(key, curve) for curve in curves if curve != "er"]
        first, last = ([cells[number] for cells in columns.values()] for columns in (before, after))
        rows.append([panel.title, *first, own, *others, *last])
    for words, other in (("won, lost against ER", "er"), ("won, lost against PrioritizedER", "prioritized_er")):
        cells = [_won_and_lost(means, panels, curve, _LESS + other) for curve in curves]
        rows.append([words, *("" for _ in before), *cells, *("" for _ in after)])
    return table([heading, *before, *(f"`{curve}`" for curve in curves), *after], rows)


def _won_and_lost(means: pd.DataFrame, panels: Iterable[str], curve: str, metric: str) -> str:
    """In how many panels a difference's 95% interval lies above 0, and in how many below 0."""
    found = [means.loc[(key, curve, metric)] for key in panels if (key, curve, metric) in means.index]
    won, lost = sum(row["low95"] > 0 for row in found), sum(row["high95"] < 0 for row in found)
    return f"**{won}, {lost}** of {len(found)}" if found else ""


def bold(text: str, found: Interval) -> str:
    """`text`, bold if the interval excludes 0."""
    return f"**{text}**" if found.excludes_zero else text


def _difference(row: pd.Series) -> str:
    """The mean of a row of curves.csv with its 95% interval."""
    return _words(Interval(row["mean"], row["low95"], row["high95"]), _whole)


def _words(found: Interval, written: Callable[[float], str]) -> str:
    """A mean with its interval, as +3 (+1 to +5); see `bold`."""
    mean, low, high = map(written, found)
    return f"{bold(mean, found)} ({low} to {high})"


def _whole(number: float) -> str:
    """A number without decimals; a small one with its first digit."""
    return f"{number:+,.0f}" if abs(number) >= 0.5 else f"{number:+.1g}"


def what_to_use(facts: Facts) -> str:
    """Returns minus ER's for each environment and n; then panels won and lost, and processor time."""
    study, baseline, swept = "what_to_use", "er", "_swept"
    means = facts.curves(study)
    panels = panels_of(facts, study)
    curves = _at_fixed_rates(panels)

    def counts(curve: str, other: str = baseline) -> str:
        return _won_and_lost(means, panels, curve, _LESS + other)

    def time(curve: str) -> str:
        runs = [(panel.curves[curve], panel.curves[baseline]) for panel in panels.values()]
        return f"{np.median([_core_seconds(facts, run) / _core_seconds(facts, er) for run, er in runs]):.1f}"

    rows = []
    for key, panel in panels.items():
        run = panel.curves[baseline]
        own = f"{means.loc[(key, baseline, _OVER_LEARNING), 'mean']:,.0f}"
        others = [_difference(means.loc[(key, curve, _LESS + baseline)]) for curve in curves[1:]]
        rows.append([f"{labels.task(run.environment)}, n = {run.settings.planning_updates}", own, *others])
    rows.append(["won, lost against ER", "", *map(counts, curves[1:])])
    rows.append(["both at swept rates", "", *(counts(curve + swept, baseline + swept) for curve in curves[1:])])
    rows.append(["won, lost against PrioritizedER", *(counts(curve, "prioritized_er") for curve in curves)])
    rows.append(["processor time, ER: 1", *map(time, curves)])
    return table(["panel", *(f"`{curve}`" for curve in curves)], rows)


def panels_of(facts: Facts, study: str, table: str = "") -> dict[str, Panel]:
    """The panels of a study, by key, that a table of this name shows; by default those of its picture."""
    return {key: panel for key, panel in facts.plan.studies[study].panels.items() if panel.table == table}


def _at_fixed_rates(panels: dict[str, Panel]) -> list[str]:
    """The curves of the first panel whose learning rate is not swept."""
    return [curve for curve, run in next(iter(panels.values())).curves.items() if not run.sweep]


def multiplicity(facts: Facts) -> str:
    """Panels won and lost by the agents of `what_to_use`, one by one and after Holm's correction for all panels."""
    panels = panels_of(facts, "what_to_use")
    curves = _at_fixed_rates(panels)
    pairs = [("", "er"), ("_swept", "er_swept"), ("", "prioritized_er")]
    rows = []
    for curve in curves[1:]:
        found = [wins_and_losses(facts, curve + end, baseline) or ("", "") for end, baseline in pairs]
        rows.append([f"`{curve}`", *(f"{pair[0]}, {pair[1]}" if pair else "" for each in found for pair in each)])
    heads = ["against ER", "at swept rates", "against PrioritizedER"]
    return table(["won, lost", *(cell for head in heads for cell in (head, "Holm"))], rows)


def wins_and_losses(facts: Facts, curve: str, baseline: str) -> list[tuple[int, int]]:
    """Panels of `what_to_use` that a curve wins and loses: uncorrected, then by Holm's method; empty without panels."""
    panels = [panel for panel in panels_of(facts, "what_to_use").values() if curve in panel.curves]
    if curve == baseline or not panels:
        return []
    tests = [stats.ttest_1samp(lead(facts, panel, curve, baseline), 0.0) for panel in panels]
    signs, p = np.array([np.sign(test.statistic) for test in tests]), np.array([test.pvalue for test in tests])
    sure = [p_values <= statistics.LEVEL for p_values in (p, statistics.holm(p))]
    return [(int(np.sum(each & (signs > 0))), int(np.sum(each & (signs < 0)))) for each in sure]


def _core_seconds(facts: Facts, run: Run) -> float:
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
        task = escaped(f"|T| = {data.examples}, sigma = {data.noise:g}, b = {data.batch_size}")
        for length in _LENGTHS:
            errors = {curve: _test_errors(measured, length) for curve, measured in shown.items()}
            own = errors.pop("l2")
            cells = {curve: _percent(100 * (error - own) / own.mean()) for curve, error in errors.items()}
            own_and_others = [f"{own.mean():.4f}", *(cells.get(curve, "-") for curve in labels.SINE if curve != "l2")]
            rows.append([task, f"{length:,}", *own_and_others])
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
