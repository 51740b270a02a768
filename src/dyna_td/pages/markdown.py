"""The generated parts of README.md and docs/, from reference/ and experiments/; figures/scorecard.py draws the picture.

Nothing is judged here: verdicts are those of claims.csv and readings.csv. The report takes its words from here, too.
"""

import re
from collections.abc import Callable, Collection

import pandas as pd
from scipy import stats

from dyna_td.evidence import labels, statistics
from dyna_td.evidence.claims import ComputedTest, MeasuredTest, Term
from dyna_td.evidence.scorecard import side_words
from dyna_td.evidence.verdicts import VERDICTS
from dyna_td.pages import marked_text, tables
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.pipeline import costs as expense  # `costs` is a part of a page
from dyna_td.pipeline import published
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.planned import Figure, Panel, Plan
from dyna_td.pipeline.plans import load_plan
from dyna_td.pipeline.yaml_files import read_checked

THEMES = {  # the claims by what they are about, and the figures or the study that show it
    "Prioritizing is a cubic loss": (range(1, 8), (7, 8, 11)),
    "Outdated priorities, few examples": ((*range(8, 15), 19, 20), (1, 10)),
    "Noisy targets": (range(15, 19), (9,)),
    "Where the states lie": (range(21, 28), (2, 3)),
    "Returns on benchmarks": (range(28, 37), (4, 5, 12)),
    "MuJoCo, roundabout, maze": (range(37, 45), (6, 13, 14)),
    "Theory on a trained Q": (range(45, 48), ("frozen",)),
}
CHANGES = "what-changed-since-the-first-edition"  # the heading of docs/claims.md with the reasons
DEVIATION_HEADINGS = ["#", "what", "paper", "released code", "here", "other reading"]
COST_HEADINGS = ["figure or study", "jobs", "core-minutes", "longest job, minutes", "most memory, MiB"]


def fill() -> None:
    """Writes every generated part into its page."""
    facts = Facts()
    pages = {
        "README.md": (scorecard, answer, advice, results, figures),
        "docs/README.md": (answer,),
        "docs/claims.md": (overview, tables.history, tables.undecided, claims),
        "docs/deviations.md": (deviations,),
        "docs/costs.md": (costs,),
        "docs/beyond-the-paper.md": (
            tables.what_to_use,
            tables.multiplicity,
            tables.controls,
            tables.goal,
            tables.when,
            tables.by_warm_up,
            tables.regression,
            tables.selection,
        ),
        "docs/figures.md": (gallery,),
    }
    for page, parts in pages.items():
        marked_text.replace(ROOT / page, {part.__name__: part(facts) for part in parts})


def scorecard(facts: Facts) -> str:
    """The line that shows the picture, with its content in words."""
    words = ", ".join(f"{count} {verdict} ({labels.LETTERS[verdict]})" for verdict, count in counts(facts).items())
    return f"![Scorecard of {len(facts.verdicts)} claims: {words}](reference/scorecard.png)\n"


def answer(facts: Facts) -> str:
    """How many claims have which verdict, what these rest on, and which contradictions turn under another reading."""
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts(facts).items())
    benchmarks, _ = THEMES["Returns on benchmarks"]
    found = [facts.verdicts[number] for number in benchmarks]
    stand = [f"{in_words(found.count(verdict))} {verdict}" for verdict in VERDICTS if verdict in found]
    contradicted = [number for number, verdict in facts.verdicts.items() if verdict == "contradicted"]
    turned = facts.turned[facts.turned["claim"].isin(contradicted) & (facts.turned["kind"] == "curves")]
    turns: list[str] = []
    of_them = f" of the {in_words(len(contradicted))} contradictions"
    ends = {True: "if {} departs from the paper's protocol", False: "with {} that the paper leaves open"}
    for is_departing, end in ends.items():
        rows = turned[turned["departs"] == is_departing]
        if number := rows["claim"].nunique():
            numbers = " or ".join(dict.fromkeys(rows["changes"]))
            begin = f"{in_words(number).capitalize()}{'' if turns else of_them}"
            turns.append(f"{begin} turn{'s' * (number == 1)} {end.format(numbers)}.")
    sentences = [
        f"Verdicts on the paper's {len(facts.verdicts)} claims: **{words}**.",
        f"{in_words(len(facts.identities)).capitalize()} supported ones are identities.",
        f"{in_words(len(facts.reworded)).capitalize()} verdicts changed when we reworded claims whose results we knew.",
        f"The {in_words(len(benchmarks))} claims on benchmarks: {', '.join(stand)}.",
        *turns,
    ]
    return " ".join(sentences) + "\n"


def advice(facts: Facts) -> str:
    """What PrioritizedER gains over ER, and the panels that agents with a true model win, at equal rates."""
    panels = facts.plan.studies["what_to_use"].panels.values()
    gains: dict[str, list[pd.Series]] = {}
    for panel in panels:
        run = panel.curves["prioritized_er"]
        own, other = (tables.mean_returns(facts, panel.curves[name]) for name in ("prioritized_er", "er"))
        gains.setdefault(run.environment, []).append((own - other)[: panel.seeds] / tables.RANGES[run.environment])
    won = [name for name, found in gains.items() if any(each.mean() > tables.half_width(each) for each in found)]
    elsewhere = [each for name, found in gains.items() if name not in won for each in found]
    mean = sum(elsewhere) / len(elsewhere)
    p = stats.ttest_1samp(mean, 0.0).pvalue
    (dyna_td, _), (uniform, _) = (
        tables.wins_and_losses(facts, curve, "er")[0] for curve in ("dyna_td", "uniform_states")
    )
    names = ", ".join(map(labels.task, won))
    average = (
        f"{'nothing: ' if p > statistics.LEVEL else ''}{100 * mean.mean():+.2f}% of the range of returns (p = {p:.2f})"
    )
    leads = facts.curves("when")["mean"].xs("return_less_er", level="metric").groupby("curve").sum()
    return (
        f"Without a model, prioritizing paid on {in_words(len(won))} of {in_words(len(gains))} domains ({names}). "
        f"In {len(facts.plan.studies['when'].panels)} variants of it, a cubic loss on uniform draws has "
        f"{100 * leads['cubic_dqn'] / leads['prioritized_er']:.0f}% of the lead. Elsewhere prioritizing averaged "
        f"{average}. With a true model, Dyna-TD beats ER on {dyna_td} of {len(panels)} panels, uniform states on "
        f"{uniform}.\n"
    )


def results(facts: Facts) -> str:
    """The mean return over learning of each agent on each benchmark, with Student's 95% interval over seeds."""
    rows: dict[str, dict[int, list[str]]] = {}
    for panel in (panel for name in ("figure_4", "figure_12") for panel in facts.plan.figures[name].panels.values()):
        found = {curve: _mean_return(facts, panel, curve) for curve in labels.BENCHMARK if curve in panel.curves}
        best = max(mean for mean, _ in found.values())
        words = {curve: f"{mean:,.0f} ± {half:,.0f}" for curve, (mean, half) in found.items()}
        cells = [f"**{words[curve]}**" if found[curve][0] == best else words[curve] for curve in found]
        run = panel.curves["er"]
        environment, n = labels.task(run.environment), run.settings.planning_updates
        row = dict(zip(found, cells, strict=True))
        rows.setdefault(environment, {})[n] = [environment, str(n), *(row.get(curve, "") for curve in labels.BENCHMARK)]
    ordered = [of_n[n] for of_n in rows.values() for n in sorted(of_n)]
    return table(["environment", "n", *(labels.CURVES[curve] for curve in labels.BENCHMARK)], ordered)


def figures(facts: Facts) -> str:
    """A line for each figure: its picture, what it shows, the claims on it, and its minutes at the default scale."""
    quick, rows = load_plan("quick"), []
    for name, figure in facts.plan.figures.items():
        number = name.removeprefix("figure_")
        picture, shows = f"[{number}](reference/{name}/{name}.png)", figure.shows[0].upper() + figure.shows[1:]
        minutes = expense.minutes(quick, [quick.figures[name]], 2, expense.estimated)
        rows.append([picture, shows, verdicts_on(facts, name), f"{minutes:.0f}" if minutes > 0.5 else "< 1"])
    return table(["figure", "shows", "claims", "minutes"], rows)


def gallery(facts: Facts) -> str:
    """A section for each published figure and study: its verdicts, command and cost, its picture and caption."""
    lines = []
    for name, figure in facts.plan.drawn.items():
        if not (ROOT / "reference" / name / f"{name}.png").exists():
            continue
        cost = _two_digits(facts.jobs([figure])["minutes"].sum())
        cost = "Trains nothing" if cost == "none" else f"{cost} core-minutes"
        facts_line = ". ".join(filter(None, [verdicts_on(facts, name, "claims.md"), f"`make {name}`", cost]))
        lines += [f"## {name.replace('_', ' ').capitalize()}: {figure.title}", "", f"{facts_line}.", ""]
        lines += [
            f"![{figure.title}](../reference/{name}/{name}.png)",
            "",
            *caption_of(name),
            "",
            *_beside_paper(facts, figure),
        ]
    return "\n".join(lines)


def caption_of(figure: str) -> list[str]:
    """What a figure's picture shows: the first part of its caption, whose few marks Markdown reads the same."""
    text = (ROOT / "figures" / "captions" / f"{figure}.rst").read_text(encoding="utf-8")
    return text.partition("\n\n")[0].splitlines()


def _beside_paper(facts: Facts, figure: Figure) -> list[str]:
    """The table of what the paper says of a figure, in our words, and of what was measured; nothing without claims."""
    rows = []
    for claim in claims_on(facts, figure.name):
        tests = facts.tests(claim)
        of_figure = tests["figure"].str.split().map(lambda shown: figure.name.removeprefix("figure_") in shown)
        text = f"{escaped(facts.stated[claim].text)} [(claim {claim})](claims.md#claim-{claim})"
        rows.append([text, escaped(_measured(facts, tests[of_figure & (tests["row"] == "test")]))])
    for number in read_checked(figure.source, "figure").get("paper", ()):
        panel, _, curve = number["curve"].partition("/")
        curves = pd.read_csv(published.curves_csv(figure.name)).set_index(["panel", "curve", "metric"]).sort_index()
        last = curves.loc[panel, curve, figure.panels[panel].metric].iloc[-1]
        rows.append([escaped(number["says"]), f"{last['mean']:.3g}"])
    return table(["the paper", "here"], rows).split("\n") if rows else []


def _measured(facts: Facts, tests: pd.DataFrame) -> str:
    """The effects of tests: each of a few; of many the smallest, the largest, and how many have which verdict."""
    if len(tests) <= 3:
        return "; ".join(_in_short(facts, test) for _, test in tests.iterrows())
    found = list(tests["verdict"])
    counted = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
    ordered = tests.iloc[tests["effect"].astype(float).argsort()]
    ends = " to ".join(tables.signed(ordered.iloc[end], "effect") for end in (0, -1))
    units = set(tests["unit"].replace("relative", ""))
    return f"{len(tests)} tests{f', {ends} {units.pop()}'.rstrip() if len(units) == 1 else ''}: {counted}"


def _in_short(facts: Facts, test: pd.Series) -> str:
    """A test's effect behind its label or, where that is a panel, behind the curves."""
    name, effect, *_ = test_cells(facts, test)
    if test["expect"] == "computed":
        return f"{test['test'].replace('_', ' ')}: {effect}"
    panel, _, curves = name.partition(": ")
    label = f"({panel.partition('/')[2][:1]}) {curves}" if "/" in test["test"] else test["test"]
    return f"{label}: {effect.partition('; ')[0] or test['verdict']}"


def verdicts_on(facts: Facts, figure: str, page: str = "") -> str:
    """The claims that are about a figure by their verdicts, perhaps as links to a `page`: "**S** 8 9, **C** 10"."""
    about = claims_on(facts, figure)
    found = {verdict: [claim for claim in about if facts.verdicts[claim] == verdict] for verdict in VERDICTS}
    links = {
        verdict: " ".join(f"[{claim}]({page}#claim-{claim})" if page else str(claim) for claim in of)
        for verdict, of in found.items()
    }
    return ", ".join(f"**{labels.LETTERS[verdict]}** {of}" for verdict, of in links.items() if of)


def claims_on(facts: Facts, figure: str) -> list[int]:
    """The claims that are about a figure or a study."""
    shown = {claim.number: {*claim.figures, *(term.figure for term in claim.terms)} for claim in facts.stated.values()}
    return [number for number, figures in shown.items() if figure in figures]


def themes(numbers: Collection[int]) -> dict[str, tuple[list[int], tuple[int | str, ...]]]:
    """The claims `numbers` by theme, and what shows them; claims that `THEMES` does not list come last."""
    listed = {theme: ([number for number in of if number in numbers], shown) for theme, (of, shown) in THEMES.items()}
    others = [number for number in numbers if not any(number in of for of, _ in THEMES.values())]
    return listed | ({"Other claims": (others, ())} if others else {})


def shown_in(shown: tuple[int | str, ...], name: Callable = str) -> str:
    """What shows a theme in words: "figures 1, 10", each with its `name`, or "study frozen"."""
    if not shown or isinstance(shown[0], str):
        return "".join(f"study {each}" for each in shown)
    return f"figure{'s' * (len(shown) > 1)} {', '.join(map(name, shown))}"


def overview(facts: Facts) -> str:
    """A line for each claim: its verdict and its first sentence."""
    rows = [
        [f"[{number}](#claim-{number})", facts.verdicts[number], escaped(stated.text.partition(". ")[0].rstrip("."))]
        for number, stated in facts.stated.items()
    ]
    return table(["claim", "verdict", "in short"], rows)


def claims(facts: Facts) -> str:
    """A section for each theme, and in it one for each claim."""
    lines = []
    for theme, (numbers, shown) in themes(facts.stated).items():
        words = shown_in(shown, lambda number: f"[{number}](../reference/figure_{number}/figure_{number}.png)")
        lines += [f"## {theme}", "", *([f"Shown in {words}.", ""] if words else [])]
        if 4 in shown:
            lines += [f"![Comparisons of returns](../reference/{labels.DIFFERENCES}.png)", ""]
        lines += [line for number in numbers for line in _claim(facts, number)]
    return "\n".join(lines)


def deviations(facts: Facts) -> str:
    """The table of the deviations; a row's number is its anchor."""
    rows = deviation_rows('<a id="deviation-{0}"></a>{0}', lambda text: escaped(text) or "-")
    return table(DEVIATION_HEADINGS, rows)


def deviation_rows(anchor: str, cell: Callable[[str], str]) -> list[list[str]]:
    """The rows of `experiments/deviations.yaml`: `anchor` with the number in it, and a `cell` of each text."""
    content = read_checked(ROOT / "experiments" / "deviations.yaml", "deviations")["deviations"]
    keys = ("what", "paper", "code", "here", "other")
    return [[anchor.format(row["number"]), *(cell(row[key]) for key in keys)] for row in content]


def costs(facts: Facts) -> str:
    """A line for each figure and study, see `cost_rows`."""
    return table(COST_HEADINGS, cost_rows(facts.plan, facts.jobs))


def cost_rows(plan: Plan, jobs_of: Callable[[list[Figure]], pd.DataFrame]) -> list[list[str]]:
    """For each figure and study: jobs, core-minutes, longest job, memory; and for all of them, shared jobs once."""
    figures, drawn = plan.figures, plan.drawn
    rows = {name.replace("_", " "): [figure] for name, figure in drawn.items()}
    rows |= {"all figures": list(figures.values()), "figures and studies": list(drawn.values())}
    lines = []
    for name, shown in rows.items():
        jobs = jobs_of(shown)
        if len(jobs):
            minutes = [_two_digits(jobs["minutes"].sum()), _two_digits(jobs["minutes"].max())]
            lines.append([name, str(len(jobs)), *minutes, f"{jobs['memory'].max():,.0f}"])
    return lines


def counts(facts: Facts) -> dict[str, int]:
    """The number of claims of each verdict, of those that occur."""
    found = list(facts.verdicts.values())
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def in_words(number: int) -> str:
    """A small number as a word."""
    words = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    return words[number] if number < len(words) else str(number)


def _claim(facts: Facts, number: int) -> list[str]:
    stated, verdict, finding = facts.stated[number], facts.verdicts[number], facts.findings.get(number)
    sentence = f"**{verdict.capitalize()}.** {escaped(stated.text)} ({stated.place})"
    lines = [f"### Claim {number}", "", sentence, ""]
    if finding and finding.verdict == verdict:
        lines += [*(f"- *{heading}.* {_linked(escaped(text))}" for heading, text in finding.parts.items()), ""]
    tests = facts.tests(number)
    beside = (tests["row"] == "beside").sum()
    summary = f"Tests: {len(tests) - beside}{f', and {beside} beside the claim' if beside else ''}"
    lines += [f'<details markdown="1"><summary>{summary}</summary>', "", *_tests(facts, tests)]
    for change in stated.history:
        if "text" in change:
            lines.append(
                f"- *Was {change['verdict']}* as: {escaped(tables.one_line(change['text']))} ([why](#{CHANGES}))"
            )
    lines += [f"- *{begin}* by: {names}." for begin, names in readings_of(facts, number)]
    return [*(lines if lines[-1] == "" else [*lines, ""]), "</details>", ""]


def _tests(facts: Facts, tests: pd.DataFrame) -> list[str]:
    rows = [[escaped(cell) for cell in test_cells(facts, test)] for _, test in tests.iterrows()]
    return table(["test", "effect", "beside the mean", "n", "verdict"], rows).split("\n")


def readings_of(facts: Facts, number: int) -> list[tuple[str, str]]:
    """What other readings say of a claim, by their verdict: ("Still supported", "one reading; another")."""
    found = facts.readings[facts.readings["claim"] == number]
    verdict = facts.verdicts[number]
    names = {other: "; ".join(found.loc[found["verdict"] == other, "reading"]) for other in VERDICTS[:-1]}
    return [(f"{'Still' if other == verdict else 'But'} {other}", names[other]) for other in names if names[other]]


def test_cells(facts: Facts, row: pd.Series) -> list[str]:
    """A line of a claim's table, from a row of the card: curves, the effect with its interval, seeds, verdict."""
    test = facts.compared[row.name]
    if isinstance(test, ComputedTest):
        name, effect = test.label.replace("_", " "), f"{float(row['effect']):.3g}: {row['note']}"
        return [name, effect, "", "-", row["verdict"]]
    unit = row["unit"].replace("relative", "") if row["effect"] else ""
    note = row["note"] if row["note"] != row["to_decide"] else ""
    verdict = f"{row['verdict']}{' (beside)' if test.beside else ''}"
    decide = f": {row['to_decide']}" if row["to_decide"] and not test.beside else ""
    return [
        _compared(test),
        "; ".join(filter(None, [" ".join(filter(None, [_effect(row), unit])), note])),
        tables.beside_the_mean(row),
        row["n"],
        f"{verdict}{decide}",
    ]


def _compared(test: MeasuredTest) -> str:
    """The label of a test, its task, the curves that it compares, and its window."""

    def name(term: Term) -> str:
        place = "" if term.place == test.label else f"{term.place}/"
        return f"{place}{labels.CURVES.get(term.curve, term.curve)}"

    sides = [side for side in (test.plus, test.minus) if side]
    words = [side_words(test, side, name) for side in sides]
    words = [f"({each})" if len(sides) > 1 < len(side) else each for each, side in zip(words, sides, strict=True)]
    part = labels.WINDOWS.get(test.window, "")
    ending = f", {part}" if part not in test.label else ""
    return f"{test.label}{_task(test)}: {' minus '.join(words)}{ending}".replace("_", " ")


def _task(test: MeasuredTest) -> str:
    """The environment of a panel with its number of updates; "" for a test beyond one panel."""
    panel = test.terms[0].panel if test.is_within_panel else ()
    updates = {getattr(run.settings, "planning_updates", None) for run in panel} - {None}
    environments = {labels.task(run.environment) for run in panel}
    if len(environments) != 1 or len(updates) != 1:
        return ""
    return f" ({environments.pop()}, n = {updates.pop()})"


def _effect(test: pd.Series) -> str:
    """An effect as "-22 (-101 to +37)", in per cent if it is relative."""
    if not test["effect"]:
        return ""
    words = [tables.signed(test, key) for key in ("effect", "low95", "high95") if test[key]]
    return words[0] if len(words) < 3 else f"{words[0]} ({words[1]} to {words[2]})"


def _mean_return(facts: Facts, panel: Panel, curve: str) -> tuple[float, float]:
    """The mean return over learning of the seeds that the panel shows, and half its interval."""
    seeds = tables.mean_returns(facts, panel.curves[curve])[: panel.seeds]
    return seeds.mean(), tables.half_width(seeds)


def _two_digits(minutes: float) -> str:
    return "none" if not minutes else "< 0.1" if minutes < 0.1 else f"{float(f'{minutes:.2g}'):g}"


def _linked(text: str) -> str:
    """`text` with links to the claims, deviations and pages that it names."""
    text = re.sub(r"\bdocs/(.+?)\.md\b", r"[\1](\1.md)", text)
    text = re.sub(r"\b(claim) (\d+)\b", r"[\1 \2](#claim-\2)", text)
    return re.sub(r"\b(deviation) (\d+)\b", r"[\1 \2](deviations.md#deviation-\2)", text)
