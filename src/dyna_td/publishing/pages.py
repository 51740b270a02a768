"""The generated parts of README.md and docs/, from reference/ and experiments/; figures/scorecard.py draws the picture.

Nothing is judged here: verdicts are those of claims.csv and readings.csv. The report takes its words from here, too.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from dyna_td.evidence.findings import Finding, load_findings
from dyna_td.pipeline import costs as measured_costs
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import Figure, Plan, load_plan
from dyna_td.pipeline.yaml_files import read_checked
from dyna_td.publishing import evidence_tables, marked_text
from dyna_td.settings import Run

VERDICTS = ("supported", "contradicted", "undecided", "not run")
LETTERS = dict(zip(VERDICTS, "SCU-", strict=True))
THEMES = {  # the claims by what they are about, and what shows it
    "Prioritizing is a cubic loss": (range(1, 8), "figures 7, 8, 11"),
    "Outdated priorities, few examples": ((*range(8, 15), 19, 20), "figures 1, 10"),
    "Noisy targets": (range(15, 19), "figure 9"),
    "Where the states lie": (range(21, 28), "figures 2, 3"),
    "Returns on benchmarks": (range(28, 37), "figures 4, 5, 12"),
    "MuJoCo, roundabout, maze": (range(37, 45), "figures 6, 13, 14"),
    "Theory on a trained Q": (range(45, 48), "study frozen"),
}
AGENTS = {
    "er": "ER",
    "prioritized_er": "PrioritizedER",
    "dyna_td": "Dyna-TD",
    "dyna_td_learned": "Dyna-TD, learned model",
    "dyna_value": "Dyna-Value",
    "dyna_frequency": "Dyna-Frequency",
}
NAMES = AGENTS | {"l2": "L2", "prioritized_l2": "PrioritizedL2", "full_prioritized_l2": "Full-PrioritizedL2"}
NAMES |= {"full_prioritized_er": "Full-PrioritizedER", "dyna_td_long": "Dyna-TD-Long"}
NAMES |= {"cubic": "Cubic", "power4": "Power4"}
WINDOWS = {"early": "first third of learning", "final": "last 20 evaluations"}  # those that are not all of learning
DIFFERENCES = "differences"  # the picture of the benchmarks' comparisons
COST_HEADINGS = ["figure or study", "jobs", "core-minutes", "longest job, minutes", "most memory, MiB"]


@dataclass(frozen=True)
class Published:
    """The published facts: reference/ and experiments/ below `root`.

    `verdicts_in` is the folder of claims.csv and readings.csv, if they are not the published ones.
    """

    root: Path = ROOT
    verdicts_in: Path | None = None

    @property
    def folder(self) -> Path:
        """Where claims.csv and readings.csv are."""
        return self.verdicts_in or self.root / "reference"

    @cached_property
    def plan(self) -> Plan:
        """The plan of the paper's scale."""
        return load_plan("paper", self.root / "experiments")

    @cached_property
    def stated(self) -> dict[int, dict]:
        """The claims as claims.yaml states them, by number."""
        content = read_checked(self.root / "experiments" / "claims.yaml", "claims")
        return {claim["number"]: claim for claim in content["claims"]}

    @cached_property
    def findings(self) -> dict[int, Finding]:
        """The findings by the number of their claim."""
        return load_findings(self.stated, self.root / "experiments")

    @cached_property
    def card(self) -> pd.DataFrame:
        """The rows of claims.csv; an empty cell is an empty text."""
        return pd.read_csv(self.folder / "claims.csv", dtype=str, keep_default_na=False)

    @cached_property
    def verdicts(self) -> dict[int, str]:
        """Each claim's verdict by its number."""
        rows = self.card[self.card["row"] == "claim"]
        return dict(zip(rows["claim"].astype(int), rows["verdict"], strict=True))

    def tests(self, number: int) -> pd.DataFrame:
        """The rows of a claim's tests."""
        return self.card[(self.card["claim"] == str(number)) & (self.card["row"] != "claim")]

    @cached_property
    def met_goal(self) -> dict[int, bool]:
        """By seed, whether GridWorld's random warm-up reached the goal (reference/warm_up.csv)."""
        table = pd.read_csv(self.root / "reference" / "warm_up.csv")
        return dict(zip(table["seed"], (table["goals"] > 0).tolist(), strict=True))

    @cached_property
    def readings(self) -> pd.DataFrame:
        """The verdicts of other readings: claim, reading, verdict, whether only the window differs; or empty."""
        path = self.folder / "readings.csv"
        if not path.exists():
            return pd.DataFrame(columns=["claim", "reading", "verdict", "window"])
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        declared = read_checked(self.root / "experiments" / "readings.yaml", "readings")["readings"]
        windows = {reading["name"] for reading in declared if "window" in reading}
        rows = table[table["row"] == "claim"][["claim", "reading", "verdict"]]
        return rows.assign(claim=rows["claim"].astype(int), window=rows["reading"].isin(windows))

    @cached_property
    def turned(self) -> pd.DataFrame:
        """The readings under which a claim that was judged has another verdict."""
        rows = self.readings[self.readings["verdict"] != "not run"]
        return rows[rows["verdict"] != rows["claim"].map(self.verdicts)]

    def jobs(self, figures: Iterable[Figure]) -> pd.DataFrame:
        """The published jobs of `figures`, see `jobs_of`."""
        return jobs_of(figures, lambda job: measured_costs.read(self.root / "reference" / "runs" / f"{job}.json"))


def jobs_of(figures: Iterable[Figure], measured: Callable[[str], measured_costs.Cost | None]) -> pd.DataFrame:
    """The minutes of processor time and the MiB of each measured job of `figures`, once: a run, or the sweep before it.

    This is what core-minutes are, on every page.
    """
    found = {job: cost for job in measured_costs.jobs_of(figures) if (cost := measured(job))}
    rows = [(cost.core_seconds / 60, cost.memory_mib) for cost in found.values()]
    return pd.DataFrame(rows, columns=["minutes", "memory"], index=list(found), dtype=float)


def fill(root: Path = ROOT) -> None:
    """Writes every generated part into its page."""
    facts = Published(root)
    pages = {
        "README.md": (scorecard, answer, results, figures),
        "docs/README.md": (answer,),
        "docs/claims.md": (history, undecided, claims),
        "docs/deviations.md": (deviations,),
        "docs/costs.md": (costs,),
        "docs/beyond-the-paper.md": (what_to_use, controls, goal, by_warm_up, controls_by_warm_up, selection),
        "docs/figures.md": (gallery,),
    }
    for page, parts in pages.items():
        marked_text.replace(root / page, {part.__name__: part(facts) for part in parts})


def scorecard(facts: Published) -> str:
    """The line that shows the picture, with its content in words."""
    words = ", ".join(f"{count} {verdict} ({LETTERS[verdict]})" for verdict, count in counts(facts).items())
    return f"![Scorecard of {len(facts.verdicts)} claims: {words}](reference/scorecard.png)\n"


def answer(facts: Published) -> str:
    """How many claims have which verdict, and what another reading changes of it."""
    words = ", ".join(f"{count} {verdict}" for verdict, count in counts(facts).items())
    begin = f"Verdicts on the paper's {len(facts.verdicts)} claims: **{words}**."
    if facts.readings.empty:
        return f"{begin}\n"
    contradicted = [number for number, verdict in facts.verdicts.items() if verdict == "contradicted"]
    turned = facts.turned[facts.turned["claim"].isin(contradicted)]
    by_number = turned.loc[~turned["window"], "claim"].nunique()
    by_window = turned["claim"].nunique() - by_number
    return (
        f"{begin} Changing a number that the paper leaves open, such as a learning rate, "
        f"ends {by_number} contradictions. "
        f"Judging another part of training ends {by_window} more.\n"
    )


def results(facts: Published) -> str:
    """The mean return over learning of each agent on each benchmark, with Student's 95% interval over seeds."""
    rows: dict[str, dict[int, list[str]]] = {}
    for panel in (panel for name in ("figure_4", "figure_12") for panel in facts.plan.figures[name].panels.values()):
        found = {curve: _mean_return(facts, panel.curves[curve]) for curve in AGENTS if curve in panel.curves}
        best = max(mean for mean, _ in found.values())
        words = {curve: f"{mean:,.0f} ± {half:,.0f}" for curve, (mean, half) in found.items()}
        cells = [f"**{words[curve]}**" if found[curve][0] == best else words[curve] for curve in found]
        run = panel.curves["er"]
        environment, n = run.environment.partition("-")[0], run.settings.planning_updates
        row = dict(zip(found, cells, strict=True))
        rows.setdefault(environment, {})[n] = [environment, str(n), *(row.get(curve, "") for curve in AGENTS)]
    ordered = [of_n[n] for of_n in rows.values() for n in sorted(of_n)]
    return _table(["environment", "n", *AGENTS.values()], ordered)


def figures(facts: Published) -> str:
    """A line for each figure: its picture, what it shows, the claims on it by verdict, its command and its cost."""
    rows = []
    for name, figure in facts.plan.figures.items():
        number = name.removeprefix("figure_")
        verdicts = verdicts_on(facts, name, "docs/claims.md")
        minutes = _two_digits(facts.jobs([figure])["minutes"].sum())
        picture, shows = f"[{number}](reference/{name}/{name}.png)", figure.shows[0].upper() + figure.shows[1:]
        rows.append([picture, shows, verdicts, f"`make {name}`", minutes])
    return _table(["figure", "shows", "claims", "command", "core-minutes"], rows)


def gallery(facts: Published) -> str:
    """A section for each published figure and study: its verdicts, its picture, its command and its cost."""
    lines = []
    for name, figure in facts.plan.drawn.items():
        if not (facts.root / "reference" / name / f"{name}.png").exists():
            continue
        cost = _two_digits(facts.jobs([figure])["minutes"].sum())
        facts_line = ". ".join(
            filter(None, [verdicts_on(facts, name, "claims.md"), f"`make {name}`", f"{cost} core-minutes"])
        )
        lines += [f"## {name.replace('_', ' ').capitalize()}: {figure.title}", "", f"{facts_line}.", ""]
        lines += [f"![{figure.title}](../reference/{name}/{name}.png)", ""]
    return "\n".join(lines)


def verdicts_on(facts: Published, figure: str, page: str) -> str:
    """The claims that are about a figure by their verdicts, as links to the `page` of claims: "**S** 8 9, **C** 10"."""
    number = figure.removeprefix("figure_")
    about = [claim for claim, stated in facts.stated.items() if number in map(str, stated["figures"])]
    found = {verdict: [claim for claim in about if facts.verdicts[claim] == verdict] for verdict in VERDICTS}
    links = {verdict: " ".join(f"[{claim}]({page}#claim-{claim})" for claim in of) for verdict, of in found.items()}
    return ", ".join(f"**{LETTERS[verdict]}** {of}" for verdict, of in links.items() if of)


def claims(facts: Published) -> str:
    """A section for each theme, and in it one for each claim."""
    lines = []
    for theme, (numbers, shown) in THEMES.items():
        pictures = re.sub(r"(?<=[ ])(\d+)", r"[\1](../reference/figure_\1/figure_\1.png)", shown)
        lines += [f"## {theme}", "", f"Shown in {pictures}.", ""]
        if shown.startswith("figures 4"):
            lines += [f"![Comparisons of returns](../reference/{DIFFERENCES}.png)", ""]
        lines += [line for number in numbers for line in _claim(facts, number)]
    return "\n".join(lines)


def deviations(facts: Published) -> str:
    """The table of the deviations; a row's number is its anchor."""
    content = read_checked(facts.root / "experiments" / "deviations.yaml", "deviations")["deviations"]
    rows = []
    for row in content:
        anchor = f'<a id="deviation-{row["number"]}"></a>{row["number"]}'
        rows.append([anchor, *(_escaped(row[key]) or "-" for key in ("what", "paper", "code", "here", "other"))])
    return _table(["#", "what", "paper", "released code", "here", "other reading"], rows)


def costs(facts: Published) -> str:
    """A line for each figure and study, see `cost_rows`."""
    return _table(COST_HEADINGS, cost_rows(facts.plan, facts.jobs))


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


def controls(facts: Published) -> str:
    """A line for each agent of the study: its return minus Dyna-TD's, and where its states lie on GridWorld."""
    table = pd.read_csv(facts.root / "reference" / "controls" / "curves.csv").set_index(["panel", "metric", "curve"])
    columns = {
        "MountainCar": ("a", "return_less_dyna_td", "{:+,.0f}", 1),
        "GridWorld": ("b", "return_less_dyna_td", "{:+,.0f}", 1),
        "distance to p&#42;, 1e-4": ("c", "distance_uniform_over_learning", "{:.2f}", 1e4),
        "entropy, nats": ("d", "entropy_10_over_learning", "{:.2f}", 1),
    }

    def cell(curve: str, panel: str, metric: str, form: str, factor: float) -> str:
        if (panel, metric, curve) not in table.index:
            return "0" if curve == "dyna_td" else "-"
        row = table.loc[(panel, metric, curve)]
        mean, low, high = (form.format(factor * row[key]) for key in ("mean", "low95", "high95"))
        return f"{mean} ({low} to {high})" if "less" in metric else mean

    curves = [curve for panel, metric, curve in table.index if (panel, metric) == ("d", "entropy_10_over_learning")]
    rows = [[f"`{curve}`", *(cell(curve, *at) for at in columns.values())] for curve in curves]
    return _table(["agent", *columns], rows)


def history(facts: Published) -> str:
    """How claims changed, see `evidence_tables`."""
    head, rows = evidence_tables.history(facts)
    return _table(head, [[_escaped(cell) for cell in row] for row in rows])


def undecided(facts: Published) -> str:
    """What would decide the undecided claims."""
    head, rows = evidence_tables.undecided(facts)
    return _table(head, [[_escaped(cell) for cell in row] for row in rows])


def goal(facts: Published) -> str:
    """See `evidence_tables.goal`."""
    return _table(*evidence_tables.goal(facts))


def what_to_use(facts: Published) -> str:
    """See `evidence_tables.what_to_use`."""
    return _table(*evidence_tables.what_to_use(facts))


def selection(facts: Published) -> str:
    """See `evidence_tables.selection`."""
    return _table(*evidence_tables.selection(facts))


def by_warm_up(facts: Published) -> str:
    """GridWorld's returns by the luck of the warm-up."""
    return _table(*evidence_tables.by_warm_up(facts, AGENTS))


def controls_by_warm_up(facts: Published) -> str:
    """The same of the controls."""
    return _table(*evidence_tables.controls_by_warm_up(facts))


def counts(facts: Published) -> dict[str, int]:
    """The number of claims of each verdict, of those that occur."""
    found = list(facts.verdicts.values())
    return {verdict: found.count(verdict) for verdict in VERDICTS if verdict in found}


def _claim(facts: Published, number: int) -> list[str]:
    stated, verdict, finding = facts.stated[number], facts.verdicts[number], facts.findings.get(number)
    sentence = f"**{verdict.capitalize()}.** {_escaped(stated['text'])} ({stated['place']})"
    lines = [f"### Claim {number}", "", sentence, ""]
    tests = facts.tests(number)
    rows = [[_escaped(cell) for cell in test_cells(test, facts.plan)] for _, test in tests.iterrows()]
    lines += _table(["test", "effect", "beside the mean", "n", "verdict"], rows).split("\n")
    if finding and finding.verdict == verdict:
        parts = {"The paper": finding.paper, "We measured": finding.measured, "In practice": finding.advice}
        lines += [f"- *{heading}.* {_linked(_escaped(text))}" for heading, text in parts.items()]
    lines += [f"- *Was {change['verdict']}.* {_escaped(change['why'])}" for change in stated.get("history", ())]
    lines += [f"- *{begin}* by: {names}." for begin, names in readings_of(facts, number)]
    return lines if lines[-1] == "" else [*lines, ""]


def readings_of(facts: Published, number: int) -> list[tuple[str, str]]:
    """What other readings say of a claim, by their verdict: ("Still supported", "one reading; another")."""
    found = facts.readings[facts.readings["claim"] == number]
    verdict = facts.verdicts[number]
    names = {other: "; ".join(found.loc[found["verdict"] == other, "reading"]) for other in VERDICTS[:-1]}
    return [(f"{'Still' if other == verdict else 'But'} {other}", names[other]) for other in names if names[other]]


def test_cells(test: pd.Series, plan: Plan) -> list[str]:
    """A line of a claim's table: the compared curves, the effect with its interval, seeds, verdict."""
    if test["expect"] == "computed":
        return [
            test["test"].replace("_", " "),
            f"{float(test['effect']):.3g}: {test['note']}",
            "",
            "-",
            test["verdict"],
        ]
    plus, minus = (test[side].replace(f"{test['test']}/", "") for side in ("plus", "minus"))
    name = f"{test['test']}{_task(test['test'], plan)}: {plus}{f' minus {minus}' if minus else ''}"
    part = WINDOWS.get(test["window"].partition(" ")[0], "")
    name += f", {part}" if part not in test["test"] else ""
    effect = " ".join(filter(None, [_effect(test), test["unit"].replace("relative", "")]))
    note = f"; {test['note']}" if test["note"] else ""
    name = re.sub(r"\w+", lambda word: NAMES.get(word[0], word[0]), name).replace("_", " ")
    verdict = f"{test['verdict']}{' (beside)' if test['row'] == 'beside' else ''}"
    decide = f": {test['to_decide']}" if test["to_decide"] and test["row"] == "test" else ""
    return [name, f"{effect}{note}", evidence_tables.beside_the_mean(test), test["n"], f"{verdict}{decide}"]


def _task(label: str, plan: Plan) -> str:
    """The environment of a panel such as "figure_4/a", with its number of updates; "" for any other label."""
    figure, _, panel = label.partition("/")
    panels = plan.drawn[figure].panels if figure in plan.drawn else {}
    runs = panels[panel].curves.values() if panel in panels else ()
    updates = {getattr(run.settings, "planning_updates", None) for run in runs} - {None}
    environments = {run.environment.partition("-")[0] for run in runs}
    if len(environments) != 1 or len(updates) != 1:
        return ""
    return f" ({environments.pop()}, n = {updates.pop()})"


def _effect(test: pd.Series) -> str:
    """An effect as "-22 (-101 to +37)", in per cent if it is relative."""
    if not test["effect"]:
        return ""
    values = [float(test[key]) for key in ("effect", "low95", "high95") if test[key]]
    if test["unit"] == "relative":
        words = [f"{100 * value:+.3g}%" for value in values]
    else:
        words = [f"{value:+,.0f}" if 100 <= abs(value) < np.inf else f"{value:+.3g}" for value in values]
    return words[0] if len(words) < 3 else f"{words[0]} ({words[1]} to {words[2]})"


def _mean_return(facts: Published, run: Run) -> tuple[float, float]:
    """The mean return over the evaluations after the warm-up, and half its interval."""
    seeds = evidence_tables.mean_returns(facts, run)
    return seeds.mean(), stats.t.ppf(0.975, len(seeds) - 1) * seeds.sem()


def _two_digits(minutes: float) -> str:
    return "none" if not minutes else "< 0.1" if minutes < 0.1 else f"{float(f'{minutes:.2g}'):g}"


def _escaped(text: str) -> str:
    """`text` with bars that do not end a cell of a table, and asterisks that begin no emphasis."""
    return text.replace("|", "&#124;").replace("*", "&#42;").replace("<", "&lt;")


def _linked(text: str) -> str:
    """`text` with links to the claims and deviations that it names."""
    text = re.sub(r"\b(claim) (\d+)\b", r"[\1 \2](#claim-\2)", text)
    return re.sub(r"\b(deviation) (\d+)\b", r"[\1 \2](deviations.md#deviation-\2)", text)


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
