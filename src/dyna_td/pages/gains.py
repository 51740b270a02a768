"""What PrioritizedER gains over ER on the benchmarks: README's first answer, and its table in beyond-the-paper.md."""

import pandas as pd
from scipy import stats

from dyna_td.envs import KNOWN
from dyna_td.evidence import labels, statistics
from dyna_td.evidence.statistics import half_width
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import table
from dyna_td.pages.studies import lead, panels_of

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
    found = {}
    for environment in dict.fromkeys(environment for environment, _ in of_end):
        own = {n: gain for (of, n), gain in of_end.items() if of == environment}
        fresh = {n: gain.loc[_SEEN:] for n, gain in own.items()}
        tests = {n: stats.ttest_1samp(fresh[n] if len(fresh[n]) else gain, 0.0) for n, gain in own.items()}
        decisive, p = tests[0], tests[0].pvalue
        if environment == _FRESH_FOR_5 and len(fresh[5]):
            decisive, p = tests[5], statistics.holm([tests[n].pvalue for n in (5, 10, 30)])[0]
        found[environment] = p if decisive.statistic > 0 else 1.0
    corrected = dict(zip(found, statistics.holm(list(found.values())), strict=True))
    won, surely = ([name for name, p in each.items() if p <= statistics.LEVEL] for each in (found, corrected))
    return won, surely


def paid(facts: Facts) -> str:
    """A line for each benchmark and n, and for the mean over n: PrioritizedER's gain at one rate and at swept ones."""
    over_learning, final = gains(facts), gains(facts, "final")
    rows = []
    for environment, n in over_learning[""]:
        cells = []
        for end, of_end in over_learning.items():
            pair = of_end[environment, n], final[end][environment, n]
            cells += [str(len(pair[0])), *(gain_words(gain, is_bold=True) for gain in pair)]
        rows.append([f"{labels.task(environment)}, {f'n = {n}' if n else 'mean over n'}", *cells])
    return table(["panel", "seeds", "at one rate", "at its end", "seeds", "at swept rates", "at their end"], rows)


def gain_words(gain: pd.Series, is_bold: bool = False) -> str:
    """The mean and Student's interval; with `is_bold`, bold if the interval excludes 0."""
    mean, half = gain.mean(), half_width(gain)
    stars = "**" if is_bold and abs(mean) > half else ""
    return f"{stars}{mean:+.1f}{stars} ({mean - half:+.1f} to {mean + half:+.1f})"
