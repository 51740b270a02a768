"""What PrioritizedER gains over ER on the benchmarks: README's first answer, and its table in beyond-the-paper.md."""

import pandas as pd
from scipy import stats

from dyna_td.envs import KNOWN
from dyna_td.evidence import statistics
from dyna_td.evidence.statistics import interval
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import table
from dyna_td.pages.studies import SWEPT, interval_words, lead, panels_of
from dyna_td.runs.registry import task

_SEEN = 20  # seeds that had been seen when the rule of `pays_on` was declared
_FRESH_FOR_5 = "Acrobot-v1"  # with n = 10 and 30 all its seeds had been seen


def gains(facts: Facts, end: str = "", window: str = "auc") -> pd.DataFrame:
    """PrioritizedER's lead over ER in per cent of the range of returns, a row for each seed; `window` as in `scores`.

    Columns are pairs of an environment and n, or "mean", which is over n. `end` is that of the curves' keys: "" at one
    rate, `SWEPT` at swept ones. A panel of the table `paid`, which may have more seeds, replaces the picture's.
    """
    panels = [*panels_of(facts, "what_to_use").values(), *panels_of(facts, "what_to_use", "paid").values()]
    found = {}
    for panel in (panel for panel in panels if f"er{end}" in panel.curves):
        run = panel.curves[f"er{end}"]
        ahead = lead(facts, panel, f"prioritized_er{end}", f"er{end}", window)
        found[run.environment, run.settings.planning_updates] = 100 * ahead / KNOWN[run.environment].span
    gained = pd.DataFrame(found)
    for environment in gained.columns.unique(0):
        gained[environment, "mean"] = gained[environment].mean(axis="columns", skipna=False)
    return gained


def pays_on(gained: pd.DataFrame) -> list[str]:
    """The benchmarks on which PrioritizedER beats ER after Holm's correction over all, by a table of `gains`.

    As the study's caption declares: by the mean over n, and by fresh seeds alone where there are any. On Acrobot only
    n = 5 has seeds that nobody had seen, and counts with Holm's correction over its three panels.
    """
    decided = {}
    for environment in gained.columns.unique(0):
        own = gained[environment]
        fresh = own.loc[_SEEN:]
        tests = {n: stats.ttest_1samp((fresh if fresh[n].count() else own)[n].dropna(), 0.0) for n in own}
        decided[environment] = tests["mean"].statistic, tests["mean"].pvalue
        if environment == _FRESH_FOR_5 and fresh[5].count():
            decided[environment] = tests[5].statistic, statistics.holm([tests[n].pvalue for n in (5, 10, 30)])[0]
    _, corrected = statistics.signs(*zip(*decided.values(), strict=True))
    return [environment for environment, sign in zip(decided, corrected, strict=True) if sign > 0]


def in_short(facts: Facts) -> str:
    """The mean gain over n on each benchmark, over learning and at its end; a star marks those of `pays_on`."""
    kinds = {
        "one learning rate": ("", "auc"),
        "swept rates": (SWEPT, "auc"),
        "swept rates, last 20 evaluations": (SWEPT, "final"),
    }
    rows = []
    for words, (end, window) in kinds.items():
        gained = gains(facts, end, window)
        paying = pays_on(gained)
        means = gained.xs("mean", axis="columns", level=1)
        cells = {each: interval_words(interval(means[each]), "{:+.1f}".format) for each in means}
        rows.append([words, *(cell + "\\*" * (each in paying) for each, cell in cells.items())])
    return table(["", *map(task, means)], rows)


def paid(facts: Facts) -> str:
    """A line for each benchmark and n, and for the mean over n: PrioritizedER's gain at one rate and at swept ones."""
    by_rates = [[gains(facts, end, window) for window in ("auc", "final")] for end in ("", SWEPT)]
    rows = []
    for environment, n in by_rates[0][0]:
        cells = []
        for over_learning, final in by_rates:
            pair = over_learning[environment, n], final[environment, n]
            cells += [str(pair[0].count()), *(interval_words(interval(gain), "{:+.1f}".format) for gain in pair)]
        rows.append([f"{task(environment)}, {'mean over n' if n == 'mean' else f'n = {n}'}", *cells])
    windows = ("seeds", "{}", "{}, last 20 evaluations")
    heads = [head.format(rates) for rates in ("at one rate", "at swept rates") for head in windows]
    return table(["panel", *heads], rows)
