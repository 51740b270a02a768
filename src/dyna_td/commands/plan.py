"""The commands `list` and `estimate`: the runs of the plan, and their costs."""

import argparse
import re
from collections.abc import Callable

from dyna_td.commands import arguments
from dyna_td.errors import UserError
from dyna_td.plan import costs, plans
from dyna_td.records import metrics
from dyna_td.runs import registry

_MAX_RUNS = 50  # listed one by one


def add_commands(add: Callable, scaled: argparse.ArgumentParser) -> None:
    """Adds the commands by `add(name, function, text)`; `scaled` has the option --scale, see `cli`."""
    listed = add("list", _list, "list figures with their runs, agents, environments and metrics", parents=[scaled])
    text = "show lines with these words, of runs and metrics, too, such as return"
    listed.add_argument("words", nargs="*", metavar="WORD", help=text)
    text = "estimate the core-hours and memory of figures from measured runs"
    estimated = add("estimate", _estimate, text, parents=[scaled])
    estimated.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all of the paper)")
    text = "cores to share the jobs among (default: 2)"
    estimated.add_argument("--cores", type=arguments.positive_integer, default=2, metavar="N", help=text)


def _list(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figures = [f"  {figure.name}: {figure.title} (runs: {len(figure.runs)})" for figure in plan.drawn.values()]
    figures += [f"  {name}: {mistake}" for name, mistake in plan.refused.items()]
    agents = arguments.agents().split("\n")
    others = [f"environments: {', '.join(registry.ENVIRONMENTS)}; `train` takes any that Gymnasium can make"]
    names = [name for name in metrics.METRICS if name not in metrics.FROZEN_METRICS]
    others.append(f"metrics: {', '.join(names)}; and those of a frozen Q: `list beta`, `list variation`, `list cosine`")
    if not options.words:
        words = "`list figure_4` shows its runs, `list return` explains metrics:"
        print("\n".join([f"figures at scale {plan.scale}; {words}", *figures, "agents:", *agents, *others]))
        return
    explained = [f"  {name} [{metric.unit}]: {metric.meaning}" for name, metric in metrics.METRICS.items()]
    found = _with(options.words, [*figures, *agents, *others, *explained])
    shown = {
        figure.name: [
            f"  {figure.name} {run.name} ({len(run.seeds)} seeds, {run.steps:,} steps)" for run in figure.runs
        ]
        for figure in plan.drawn.values()
    }
    runs = _with(options.words, [line for lines in shown.values() for line in lines])
    if len(runs) > _MAX_RUNS:
        counts = {name: len(set(lines) & set(runs)) for name, lines in shown.items()}
        words = " ".join(options.words)
        runs = [f"  {name}: runs: {n}; `list {name} {words}` shows them" for name, n in counts.items() if n]
    found += runs
    if not found:
        raise UserError(f"no line has the words {' '.join(options.words)}: call `list` alone for an overview.")
    print("\n".join(found))


def _with(words: list[str], lines: list[str]) -> list[str]:
    """The lines in which each of `words` stands: whole, or as a part of a word if none has it whole."""
    for word in words:
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
        lines = [line for line in lines if pattern.search(line)] or [
            line for line in lines if word.lower() in line.lower()
        ]
    return lines


def _estimate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figures = [plan.figure(name) for name in dict.fromkeys(options.figures)] or list(plan.figures.values())
    print(f"scale {plan.scale}, measured, or estimated from published runs:")
    print(costs.as_text(plan, figures, options.cores))
