"""What PrioritizedER gains over ER on the benchmarks: README's first answer, and its table in beyond-the-paper.md."""

import pandas as pd
from scipy import stats

from dyna_td.envs import KNOWN
from dyna_td.evidence import labels, statistics
from dyna_td.evidence.statistics import interval
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import table
from dyna_td.pages.studies import bold, lead, panels_of

_SEEN = 20  # seeds that had been seen when the rule of `pays_on` was declared
_FRESH_FOR_5 = "Acrobot-v1"  # with n = 10 and 30 all its seeds had been seen


def gains(facts: Facts, window: str = "auc") -> dict[str, dict[tuple[str, int], pd.Series]]:
    """PrioritizedER's lead over ER in per cent of the range of returns, for each seed; `window` as in `scores`.

    By the end of the curves' keys, "" at one rate and "_swept" at swept ones, then by environment and n; n = 0 is the
    mean over n. A panel of the table `paid`, which may have more seeds, replaces the picture's.
    """
    panels = [*panels_of(facts, "what_to_use").values(), *panels_of(facts, "what_to_use", "paid").values()]
    found: dict[str, dict[tuple[str, int], pd.Series]] = {"": {}, "_swept": {}}
    for panel, end in ((panel, end) for panel in panels for end in found if f"er{end}" in panel.curves):
        run = panel.curves[f"er{end}"]
        ahead = lead(facts, panel, f"prioritized_er{end}", f"er{end}", window)
        found[end][run.environment, run.settings.planning_updates] = 100 * ahead / KNOWN[run.environment].span
    for of_end in found.values():
        for environment in dict.fromkeys(environment for environment, _ in of_end):
            each = [gain for (of, _), gain in of_end.items() if of == environment]
            of_end[environment, 0] = (sum(each) / len(each)).dropna()
    return found


def pays_on(of_end: dict[tuple[str, int], pd.Series]) -> tuple[list[str], list[str]]:
    """The benchmarks on which PrioritizedER beats ER, by `gains` at one end of keys, and those after Holm's correction.

    As the study's caption declares: by the mean over n, and by fresh seeds alone where there are any. On Acrobot only
    n = 5 has seeds that nobody had seen, and counts with Holm's correction over its three panels.
    """
    decided = {}
    for environment in dict.fromkeys(environment for environment, _ in of_end):
        own = {n: gain for (of, n), gain in of_end.items() if of == environment}
        fresh = {n: gain.loc[_SEEN:] for n, gain in own.items()}
        tests = {n: stats.ttest_1samp(fresh[n] if len(fresh[n]) else gain, 0.0) for n, gain in own.items()}
        decisive, p = tests[0], tests[0].pvalue
        if environment == _FRESH_FOR_5 and len(fresh[5]):
            decisive, p = tests[5], statistics.holm([tests[n].pvalue for n in (5, 10, 30)])[0]
        decided[environment] = p, decisive.statistic > 0
    one_by_one, is_ahead = zip(*decided.values(), strict=True)
    won, corrected = (
        [name for name, p, ahead in zip(decided, each, is_ahead, strict=True) if ahead and p <= statistics.LEVEL]
        for each in (one_by_one, statistics.holm(one_by_one))
    )
    return won, corrected


def paid(facts: Facts) -> str:
    """A line for each benchmark and n, and for the mean over n: PrioritizedER's gain at one rate and at swept ones."""
    over_learning, final = gains(facts), gains(facts, "final")
    rows = []
    for environment, n in over_learning[""]:
        cells = []
        for end, of_end in over_learning.items():
            pair = of_end[environment, n], final[end][environment, n]
            cells += [str(len(pair[0])), *(f"{mean_words(gain)} {interval_words(gain)}" for gain in pair)]
        rows.append([f"{labels.task(environment)}, {f'n = {n}' if n else 'mean over n'}", *cells])
    windows = ("seeds", "{}", "{}, last 20 evaluations")
    heads = [head.format(rates) for rates in ("at one rate", "at swept rates") for head in windows]
    return table(["panel", *heads], rows)


def mean_words(gain: pd.Series) -> str:
    """The mean, bold if Student's interval excludes 0."""
    return bold(f"{gain.mean():+.1f}", interval(gain))


def interval_words(gain: pd.Series) -> str:
    """Student's 95% interval of the mean, in parentheses."""
    _, low, high = interval(gain)
    return f"({low:+.1f} to {high:+.1f})"
