"""The generated parts of README.md and docs/, from reference/ and experiments/; figures/scorecard.py draws the picture.

Verdicts are those of `Facts`; `gains` and `studies` judge what no claim asks. The report takes texts from here.
"""

from collections.abc import Callable
from string import ascii_lowercase

from dyna_td.evidence import labels
from dyna_td.evidence.claims import MeasuredTest
from dyna_td.evidence.outcomes import VERDICTS
from dyna_td.evidence.scorecard import figures_of
from dyna_td.evidence.statistics import half_width
from dyna_td.pages import agents, claims_page, gains, marked_text, studies
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.plan import costs as expense  # `costs` is a part of a page
from dyna_td.plan.planned import Figure, Panel, Plan
from dyna_td.records import published
from dyna_td.records.files import ROOT
from dyna_td.runs.registry import task

DEVIATION_HEADINGS = ["#", "what", "paper", "released code", "here", "other reading"]
COST_HEADINGS = ["figure or study", "jobs", "core-minutes", "longest job, minutes", "most memory, MiB"]


def fill(facts: Facts) -> None:
    """Writes every generated part into its page: `answer` between <!-- answer --> and <!-- end of answer -->."""
    pages = {
        "README.md": (scorecard, answer, contradicted, advice, results, figures),
        "docs/claims.md": (
            answer,
            claims_page.overview,
            claims_page.history,
            claims_page.undecided,
            claims_page.claims,
        ),
        "docs/deviations.md": (deviations,),
        "docs/costs.md": (costs,),
        "docs/beyond-the-paper.md": (
            studies.what_to_use,
            studies.multiplicity,
            gains.paid,
            studies.controls,
            studies.coin,
            studies.goal,
            studies.episode,
            studies.when,
            studies.losses,
            studies.network_and_buffer,
            studies.by_warm_up,
            studies.regression,
        ),
        "docs/figures.md": (gallery,),
        "docs/agents.md": (agents.agents,),
    }
    for page, parts in pages.items():
        marked_text.replace(ROOT / page, {part.__name__: part(facts) for part in parts})


def scorecard(facts: Facts) -> str:
    """The line that shows the picture, with its content in words."""
    words = ", ".join(f"{count} {verdict} ({labels.LETTERS[verdict]})" for verdict, count in counts(facts).items())
    return f"![Scorecard of {len(facts.verdicts)} claims: {words}](reference/scorecard.png)\n"


def answer(facts: Facts) -> str:
    """Sentences that count verdicts, identities, changes by rewording, and verdicts that depend on a choice.

    Only the first if the verdicts are no evidence.
    """
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts(facts).items())
    counted = f"{len(facts.verdicts)} claims: **{words}**."
    if facts.judged_plan.scale != published.SCALE:
        return f"{counted}\n"
    turned: dict[str, set[int]] = {verdict: set() for verdict in VERDICTS}
    printed: dict[tuple[str, str], set[int]] = {}  # the key is what a reading changes, and its verdict
    for number, others in facts.turned.items():
        for reading, one in others:
            if reading.changes:
                turned[facts.verdicts[number]].add(number)
            if reading.printed == "this one":
                printed.setdefault((reading.changes, one.verdict), set()).add(number)
    contradicted, supported = (in_words(len(turned[verdict])) for verdict in ("contradicted", "supported"))
    sentences = [
        counted,
        f"{in_words(len(facts.identities)).capitalize()} supported are mathematical.",
        f"{in_words(len(facts.reworded)).capitalize()} verdicts changed when we reworded claims after results.",
        f"Another setting turns {contradicted} contradicted and {supported} supported claims.",
    ]
    for (changes, verdict), numbers in sorted(printed.items()):
        words = _listed([str(number) for number in sorted(numbers)])
        sentences.append(f"With {changes} that the paper prints, {words} are {verdict}.")
    return " ".join(sentences) + "\n"


def contradicted(facts: Facts) -> str:
    """The contradicted claims in short."""
    found = [number for number, verdict in facts.verdicts.items() if verdict == "contradicted"]
    texts = (f"**{number}** {claims_page.in_short(facts.stated[number])}" for number in found)
    return f"Contradicted: {'; '.join(texts)}.\n"


def advice(facts: Facts) -> str:
    """What PrioritizedER gains over ER at one rate and at swept ones, and the panels that agents with a model win."""
    worlds, panels = studies.panels_of(facts, "when"), studies.panels_of(facts, "what_to_use")
    of_panels = facts.curves("what_to_use")
    dyna_td, uniform = (
        (studies.leaders(of_panels, panels, curve, "er")[0] > 0).sum() for curve in ("dyna_td", "uniform_states")
    )
    goals = studies.panels_of(facts, "goal")
    shown, _ = studies.leaders(facts.curves("goal"), goals, "dyna_td_shown", "prioritized_er_shown")
    tasks = _listed(sorted({task(panel.run.environment) for panel in goals.values()}))
    leads = facts.curves("when")["mean"].xs("return_less_er", level="metric").loc[[*worlds]].groupby("curve").sum()
    return (
        "**Without a model:** the gain of prioritized replay (PrioritizedER) over uniform replay (ER). Unit: % of the "
        "range of returns, mean over n = 5, 10 and 30. Bold: 95% interval without 0. \\*: by fresh seeds, if any, and "
        "Holm-corrected.\n\n"
        f"{gains.in_short(facts)}\n"
        "- **PrioritizedER's loss** on uniform draws reaches "
        f"{100 * leads['mixed_dqn'] / leads['prioritized_er']:.0f}% of its gain, summed over {len(worlds)} GridWorld "
        "settings.\n"
        f"- **With a true model**, Dyna-TD beats ER in {dyna_td} of {len(panels)} panels. Its variant with uniform "
        f"states beats ER in {uniform}.\n"
        f"- **After one stored episode that reaches the goal**, Dyna-TD leads PrioritizedER in "
        f"{in_words((shown > 0).sum())} of {in_words(len(goals))} panels of {tasks}. "
        f"It trails in {in_words((shown < 0).sum())}.\n"
        "- Networks and tasks are small.\n"
    )


def _listed(words: list[str]) -> str:
    """The words in a row: A, B and C."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def results(facts: Facts) -> str:
    """The mean return over learning of each agent in each panel of figure 4, with Student's 95% interval over seeds."""
    rows = []
    for panel in facts.plan.figures["figure_4"].panels.values():
        found = {curve: _mean_return(facts, panel, curve) for curve in labels.BENCHMARK if curve in panel.curves}
        best = max(mean for mean, _ in found.values())
        words = {curve: f"{mean:,.0f} ± {half:,.0f}" for curve, (mean, half) in found.items()}
        cells = [f"**{words[curve]}**" if found[curve][0] == best else words[curve] for curve in found]
        run = panel.curves["er"]
        rows.append([task(run.environment), str(run.settings.planning_updates), *cells])
    return table(["environment", "n", *(labels.CURVES[curve] for curve in labels.BENCHMARK)], rows)


def figures(facts: Facts) -> str:
    """A line for each figure: its picture, what it shows, the claims on it, and its minutes at the default scale."""
    rows = []
    for name, figure in facts.plan.figures.items():
        number = name.removeprefix("figure_")
        picture, shows = f"[{number}](reference/{name}/{name}.png)", figure.shows[0].upper() + figure.shows[1:]
        rows.append([picture, shows, claims_page.verdicts_on(facts, name), _quick_minutes(facts, name)])
    return table(["figure", "shows", "claims", "minutes"], rows)


def _quick_minutes(facts: Facts, name: str) -> str:
    """The minutes of a figure at the default scale on two idle cores."""
    minutes = expense.minutes(facts.quick, [facts.quick.drawn[name]], 2, expense.estimated)
    return f"{minutes:.0f}" if minutes > 0.5 else "< 1"


def gallery(facts: Facts) -> str:
    """A section for each published figure and study: its verdicts, command and cost, its picture and caption."""
    lines = []
    for name, figure in facts.plan.drawn.items():
        if not (ROOT / "reference" / name / f"{name}.png").exists():
            continue
        jobs = expense.by_job(facts.plan, [figure], _published).values()
        published_cost = _two_digits(sum(job.core_seconds for job in jobs) / 60)
        cost = f"`make {name}`: {_quick_minutes(facts, name)} min on two cores"
        cost += "" if published_cost == "none" else f"; `SCALE=paper`: {published_cost} core-minutes"
        facts_line = ". ".join(filter(None, [claims_page.verdicts_on(facts, name, "claims.md"), cost]))
        lines += [f"## {name.replace('_', ' ').capitalize()}: {figure.title}", "", f"{facts_line}.", ""]
        lines += [
            f"![{figure.title}](../reference/{name}/{name}.png)",
            "",
            "\n".join(filter(None, [caption_of(name)[0], more_seeds(facts, figure)])),
            "",
            *_beside_paper(facts, figure),
        ]
    return "\n".join(lines)


def caption_of(figure: str) -> tuple[str, str]:
    """What a figure's caption says of its marks, and below a comment its questions and predictions; may be empty.

    Its marks mean the same in reStructuredText and Markdown.
    """
    path = ROOT / "figures" / "captions" / f"{figure}.rst"
    marks, _, rest = (path.read_text(encoding="utf-8") if path.exists() else "").partition("\n\n.. ")
    return marks.strip(), rest.partition("\n\n")[2].strip()


def more_seeds(facts: Facts, figure: Figure) -> str:
    """Such as "Claims judge 100 seeds of ER (a, b)."; empty where the picture shows all seeds that claims judge."""
    seeds_of: dict[str, int] = {}
    for test in (tested.test for one in facts.judged.values() for tested in one.counted):
        if isinstance(test, MeasuredTest):
            seeds = set.intersection(*(set(term.run.seeds) for term in test.terms))
            count = sum(seed >= test.first_seed for seed in seeds)
            seeds_of |= {term.path: max(count, seeds_of.get(term.path, 0)) for term in test.terms}
    letters: dict[tuple[int, str], list[str]] = {}
    for letter, panel in figure.panels.items():
        for curve in panel.curves:
            count = seeds_of.get(f"{figure.name}/{letter}/{curve}", 0)
            if panel.is_drawn and panel.seeds and count > panel.seeds:
                label = panel.labels.get(curve, labels.name_of(curve))
                letters.setdefault((count, label), []).append(letter)
    by_count: dict[int, list[str]] = {}
    for (count, label), where in letters.items():
        is_range = len(where) > 3 and "".join(where) in ascii_lowercase
        panels = f"{where[0]} to {where[-1]}" if is_range else ", ".join(where)
        by_count.setdefault(count, []).append(f"{label} ({panels})")
    parts = [f"{count:,} seeds of {_listed(curves)}" for count, curves in sorted(by_count.items())]
    return f"Claims judge {'; '.join(parts)}." if parts else ""


def _beside_paper(facts: Facts, figure: Figure) -> list[str]:
    """A table of the paper's statements on a figure, in our words, and our measurements; empty without statements."""
    rows = []
    for claim in claims_page.claims_on(facts, figure.name):
        one = facts.judged[claim]
        here = [tested for tested in one.tests if figure.name in figures_of(one.claim, tested.test)]
        tests = [tested for tested in here if not tested.test.secondary] or here
        text = f"{escaped(facts.stated[claim].text)} [(claim {claim})](claims.md#claim-{claim})"
        rows.append([text, escaped(claims_page.measured(tests))])
    for number in figure.paper:
        panel, _, curve = number["curve"].partition("/")
        last = facts.curves(figure.name).sort_index().loc[panel, curve, figure.panels[panel].metric].iloc[-1]
        rows.append([escaped(number["says"]), f"{last['mean']:.3g}"])
    return table(["the paper", "here"], rows).split("\n") if rows else []


def deviations(facts: Facts) -> str:
    """The table of `experiments/deviations.yaml`; a row's number is its anchor."""
    keys = ("what", "paper", "code", "here", "other")
    rows = [
        [f'<a id="deviation-{row["number"]}"></a>{row["number"]}', *(escaped(row[key]) or "-" for key in keys)]
        for row in facts.deviations
    ]
    return table(DEVIATION_HEADINGS, rows)


def costs(facts: Facts) -> str:
    """A line for each figure and study, see `cost_rows`."""
    return table(COST_HEADINGS, cost_rows(facts.plan, _published))


def _published(plan: Plan, job: str) -> expense.Cost | None:
    return expense.published_cost(job)


def cost_rows(plan: Plan, cost: Callable[[Plan, str], expense.Cost | None]) -> list[list[str]]:
    """For each figure and study: jobs, core-minutes, longest job, memory; and for all of them, shared jobs once."""
    figures, drawn = plan.figures, plan.drawn
    rows = {name.replace("_", " "): [figure] for name, figure in drawn.items()}
    rows |= {"all figures": list(figures.values()), "figures and studies": list(drawn.values())}
    lines = []
    for name, shown in rows.items():
        if jobs := expense.by_job(plan, shown, cost).values():
            minutes = [job.core_seconds / 60 for job in jobs]
            memory = max(job.memory_mib for job in jobs)
            lines.append([name, str(len(jobs)), *map(_two_digits, (sum(minutes), max(minutes))), f"{memory:,.0f}"])
    return lines


def counts(facts: Facts) -> dict[str, int]:
    """The number of claims of each verdict, of those that occur."""
    found = list(facts.verdicts.values())
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def in_words(number: int) -> str:
    """A small number as a word."""
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    return words[number] if number < len(words) else str(number)


def _mean_return(facts: Facts, panel: Panel, curve: str) -> tuple[float, float]:
    """The mean return over learning of the seeds that the panel shows, and half its interval."""
    seeds = studies.mean_returns(facts, panel.curves[curve])[: panel.seeds]
    return seeds.mean(), half_width(seeds)


def _two_digits(minutes: float) -> str:
    return "none" if not minutes else "< 0.1" if minutes < 0.1 else f"{float(f'{minutes:.2g}'):g}"
