"""The claims in words: docs/claims.md, and what other pages, the report and the scorecard say of claims."""

import re
from collections.abc import Callable, Collection

import numpy as np

from dyna_td.evidence import labels, scorecard
from dyna_td.evidence.claims import Claim, ComputedTest, MeasuredTest, Term
from dyna_td.evidence.outcomes import VERDICTS
from dyna_td.evidence.scorecard import Judged, Tested, effect_words, signed
from dyna_td.pages.facts import Facts
from dyna_td.pages.marked_text import escaped, table
from dyna_td.runs.registry import task

THEMES = {  # the claims of each theme, and the figures or the study that show it
    "Prioritizing is a cubic loss": (range(1, 8), (7, 8, 11)),
    "Outdated priorities, few examples": ((*range(8, 15), 19, 20), (1, 10)),
    "Noisy targets": (range(15, 19), (9,)),
    "Where the states lie": ((*range(21, 28), 49), (2, 3)),
    "Returns on benchmarks": ((*range(28, 37), 48), (4, 5, 12)),
    "MuJoCo, roundabout, maze": (range(37, 45), (6, 13, 14)),
    "Theory on a trained Q": (range(45, 48), ("frozen",)),
}


def overview(facts: Facts) -> str:
    """A line for each claim: its verdict, its first sentence, and what README counts."""
    notes = {"identity": facts.identities, "reworded": facts.reworded, "turns": facts.turned}
    rows = [
        [
            f"[{number}](#claim-{number})",
            facts.verdicts[number],
            in_short(stated),
            ", ".join(note for note, numbers in notes.items() if number in numbers),
        ]
        for number, stated in facts.stated.items()
    ]
    return table(["claim", "verdict", "in short", "note"], rows)


def in_short(stated: Claim) -> str:
    """A claim's first sentence, without its period."""
    return escaped(stated.text.partition(". ")[0].rstrip("."))


def claims(facts: Facts) -> str:
    """A section for each theme, and in it one for each claim."""
    lines = []
    for theme, (numbers, shown) in themes(facts.stated).items():
        words = shown_in(shown, lambda number: f"[{number}](../reference/figure_{number}/figure_{number}.png)")
        lines += [f"## {theme}", "", *([f"Shown in {words}.", ""] if words else [])]
        if 4 in shown:
            lines += [f"![Comparisons of returns](../reference/{labels.DIFFERENCES}.png)", ""]
        lines += [line for number in numbers for line in claim(facts, number)]
    return "\n".join(lines)


def claim(facts: Facts, number: int) -> list[str]:
    """The lines of a claim's section: verdict, text, finding, tests, other readings."""
    stated, verdict, finding = facts.stated[number], facts.verdicts[number], facts.findings.get(number)
    one = facts.judged[number]
    words = scorecard.verdict_words(one).capitalize()
    lines = [f"### Claim {number}", "", f"**{words}.** {escaped(stated.text)} ({stated.place})", ""]
    if finding and finding["verdict"] == verdict and one.is_evidence:
        lines += [_linked(escaped(one_line(finding["measured"]))), ""]
        if "advice" in finding:
            lines += [f"*In practice:* {_linked(escaped(one_line(finding['advice'])))}", ""]
    lines += ['<details markdown="1"><summary>Tests</summary>', "", *_tests(one)]
    if readings := readings_of(facts, number):
        lines += [readings, ""]
    return [*lines, "</details>", ""]


def _tests(one: Judged) -> list[str]:
    rows = [[escaped(cell) for cell in test_cells(tested)] for tested in one.tests]
    return table(["test", "effect", "other measures", "n", "verdict"], rows).split("\n")


def test_cells(tested: Tested) -> list[str]:
    """A line of a claim's table: curves, the effect with its interval, seeds, verdict."""
    test, outcome = tested.test, tested.outcome
    if isinstance(test, ComputedTest):
        effect = f"{outcome.note}: {outcome.effect.estimate:.3g}"
        return [test.label.replace("_", " "), effect, "", "-", outcome.verdict]
    note = outcome.note if outcome.note != tested.to_decide else ""
    verdict = f"{outcome.verdict}{' (secondary)' if test.secondary else ''}"
    decide = f": {tested.to_decide}" if tested.to_decide and not test.secondary else ""
    return [
        f"{test.label}{_task(test)}: {compared(test)}".replace("_", " "),
        "; ".join(filter(None, [effect_words(tested), note])),
        beside_the_mean(tested),
        outcome.sample.n,
        f"{verdict}{decide}",
    ]


def compared(test: MeasuredTest) -> str:
    """The curves that a test compares, and its window, which a label of its own names already."""

    def name(term: Term) -> str:
        place = "" if term.place == test.place else f"{term.place}/"
        return f"{place}{labels.name_of(term.curve)}"

    sides = [side for side in (test.plus, test.minus) if side]
    words = [scorecard.side_words(test, side, name) for side in sides]
    words = [f"({each})" if len(sides) > 1 < len(side) else each for each, side in zip(words, sides, strict=True)]
    ending = f", {labels.WINDOWS[test.window]}" if test.place and test.window in labels.WINDOWS else ""
    text = f"{' minus '.join(words)}{ending}".replace("_exact_uniform", " of the uniform distribution")
    return text.replace("_", " ")


def _task(test: MeasuredTest) -> str:
    """The environment of a panel with its number of updates; "" for a test beyond one panel."""
    panel = test.terms[0].panel if test.place else ()
    updates = {getattr(run.settings, "planning_updates", None) for run in panel} - {None}
    environments = {task(run.environment) for run in panel}
    if len(environments) != 1 or len(updates) != 1:
        return ""
    return f" ({environments.pop()}, n = {updates.pop()})"


def _linked(text: str) -> str:
    """`text` with links to the claims, deviations and pages that it names."""
    text = re.sub(r"\bdocs/(.+?)\.md\b", r"[\1](\1.md)", text)
    text = re.sub(r"\b(claim) (\d+)\b", r"[\1 \2](#claim-\2)", text)
    return re.sub(r"\b(deviation) (\d+)\b", r"[\1 \2](deviations.md#deviation-\2)", text)


def readings_of(facts: Facts, number: int) -> str:
    """The other readings of a claim: those that turn its verdict by name, and how many agree; empty if none turns."""
    turned: dict[str, list[str]] = {}
    for reading, one in facts.turned.get(number, ()):
        turned.setdefault(one.verdict, []).append(reading.name)
    words = [f"{verdict} by {', '.join(names)}" for verdict, names in turned.items()]
    agree = sum(one.claim.number == number and one.verdict == facts.verdicts[number] for _, one in facts.readings)
    if words and agree and facts.verdicts[number] != "not run":
        words.append(f"{agree} agree{'s' if agree == 1 else ''}")
    return f"*Other readings:* {'; '.join(words)}." if words else ""


def claims_on(facts: Facts, figure: str) -> list[int]:
    """The claims that are about a figure or a study."""
    return [number for number in facts.stated if figure in figures_about(facts, number)]


def figures_about(facts: Facts, number: int) -> list[str]:
    """The figures and studies that a claim is about, by name."""
    claim = facts.stated[number]
    return list(dict.fromkeys([*claim.figures, *(term.figure for term in claim.terms)]))


def verdicts_on(facts: Facts, figure: str, page: str = "") -> str:
    """The claims that are about a figure by verdict, as links if a `page` is given: "**S** 8 9, **C** 10"."""
    about = claims_on(facts, figure)
    found = {verdict: [claim for claim in about if facts.verdicts[claim] == verdict] for verdict in VERDICTS}
    links = {
        verdict: " ".join(f"[{claim}]({page}#claim-{claim})" if page else str(claim) for claim in of)
        for verdict, of in found.items()
    }
    return ", ".join(f"**{labels.LETTERS[verdict]}** {of}" for verdict, of in links.items() if of)


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


def history(facts: Facts) -> str:
    """A line for each reason why claims changed: verdicts, old wordings, and whether the new verdict was known."""
    changed: dict[tuple[str, bool], list[str]] = {}  # the key is the reason
    wordings: dict[tuple[str, bool], list[str]] = {}
    for number in sorted(facts.stated):
        for change, verdict in facts.changes(number):
            now = f", now {verdict}" if verdict != change["verdict"] else ""
            reason = change["why"], change["seen"]
            changed.setdefault(reason, []).append(f"[{number}](#claim-{number}) {change['verdict']}{now}")
            wordings.setdefault(reason, []).extend([change["text"]] if "text" in change else [])
    rows = [
        [
            "; ".join(claims),
            escaped(one_line(why)),
            escaped(one_line(" ".join(wordings[why, is_seen]))),
            ("no", "yes")[is_seen],
        ]
        for (why, is_seen), claims in changed.items()
    ]
    return table(["claims: was, is", "reason", "old wording", "new verdict seen before"], rows)


def undecided(facts: Facts) -> str:
    """A line for each undecided claim: the seeds that would decide it, or why none would."""
    open_ = {number: one for number, one in facts.judged.items() if one.verdict == "undecided"}
    lines = [[f"[{number}](#claim-{number})", escaped(one.to_decide)] for number, one in open_.items()]
    return table(["claim", "the test on which it depends, and what would decide it"], lines)


def beside_the_mean(tested: Tested) -> str:
    """The cell of other measures: interquartile mean, 90% interval, chance of improvement, shares of stuck seeds."""
    effect, parts = tested.outcome.effect, []
    if not np.isnan(effect.iqm):
        parts.append(f"iqm {signed(tested.test, effect.iqm)}")
    if not np.isnan(effect.low90):
        parts.append(f"90%: {signed(tested.test, effect.low90)} to {signed(tested.test, effect.high90)}")
    if not np.isnan(effect.improvement):
        parts.append(f"P {effect.improvement:.2f}")
    if not np.isnan(effect.stuck_plus):
        parts.append(f"stuck {100 * effect.stuck_plus:.0f}% and {100 * effect.stuck_minus:.0f}%")
    return "; ".join(parts)


def one_line(text: str) -> str:
    """`text` without line breaks, for a cell or an item of a list."""
    return " ".join(text.split())


def measured(tests: list[Tested]) -> str:
    """The effects of up to three tests; of more, the number of each verdict."""
    if len(tests) <= 3:
        return "; ".join(_in_short(tested) for tested in tests)
    found = [tested.outcome.verdict for tested in tests]
    counted = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in found)
    return f"{len(tests)} tests: {counted}"


def _in_short(tested: Tested) -> str:
    """A test's effect after its label, or after its curves if the label is a panel."""
    test = tested.test
    if isinstance(test, ComputedTest):
        return test_cells(tested)[1]
    letter = test.terms[0].letter
    label = f"({letter}) {compared(test)}" if test.place else test.label
    margin = f", margin {signed(test, test.margin).lstrip('+')}" if test.margin else ""
    return f"{label}: {effect_words(tested) or tested.outcome.verdict}{margin}"
