"""The commands `list` and `estimate`: the runs of the plan, and their costs."""

import argparse
from collections.abc import Callable

from dyna_td import registry
from dyna_td.commands import arguments
from dyna_td.errors import UserError
from dyna_td.plan import costs, plans
from dyna_td.records import metrics


def add_commands(add: Callable, scaled: argparse.ArgumentParser) -> None:
    """Adds the commands by `add(name, function, text)`; `scaled` has the option --scale, see `cli`."""
    listed = add("list", _list, "list figures with their runs, agents, environments and metrics", parents=[scaled])
    text = "only lines with these words, among them runs and meanings of metrics"
    listed.add_argument("words", nargs="*", metavar="WORD", help=text)
    text = "estimate the core-hours and memory of figures from measured runs"
    estimated = add("estimate", _estimate, text, parents=[scaled])
    estimated.add_argument("figures", nargs="*", metavar="FIGURE", help="figure_1, ... (default: all of the paper)")
    text = "cores to share the jobs among (default: 2)"
    estimated.add_argument("--cores", type=arguments.positive_integer, default=2, metavar="N", help=text)


def _list(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    heading = f"figures at scale {plan.scale}; `list figure_4` shows its runs, `list return` explains metrics:"
    lines, details = [], []
    for figure in plan.drawn.values():
        lines.append(f"  {figure.name}: {figure.title} (runs: {len(figure.runs)})")
        details += [f"  {figure.name} {run.name} ({len(run.seeds)} seeds, {run.steps:,} steps)" for run in figure.runs]
    details += [f"  {name} [{metric.unit}]: {metric.meaning}" for name, metric in metrics.METRICS.items()]
    lines.append(f"environments: {', '.join(registry.ENVIRONMENTS)}; `train` takes any that Gymnasium can make")
    lines.append(f"agents: {', '.join(registry.AGENTS)}")
    lines.append(f"agents on {registry.SUPERVISED_TASK}: {', '.join(registry.LEARNERS)}")
    lines.append(f"metrics: {', '.join(metrics.METRICS)}")
    if not options.words:
        print("\n".join([heading, *lines]))
        return
    found = [line for line in lines + details if all(word.lower() in line.lower() for word in options.words)]
    if not found:
        raise UserError(f"no line has the words {' '.join(options.words)}: call `list` alone for an overview.")
    print("\n".join(found))


def _estimate(options: argparse.Namespace) -> None:
    plan = plans.load_plan(options.scale)
    figures = [plan.figure(name) for name in dict.fromkeys(options.figures)] or list(plan.figures.values())
    print(f"scale {plan.scale}, measured, or estimated from published runs:")
    print(costs.as_text(plan, figures, options.cores))
