"""Does a seed get the same bytes in every size of stack that is compiled? Prints a table of the answers.

Each size that `stacks.widths_of` names is compared with 20 seeds; on the supervised task these are 2, 5, 8, 11, 14 and
17. Every variable with a seed axis and every metric must agree to the last bit. All take half an hour of one core; name
environments for less. The rule of Algorithm 4, and agents with action vectors, are compiled for one size only.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import tensorflow as tf

from dyna_td import registry
from dyna_td.settings import Run
from dyna_td.training.program import make_program
from dyna_td.training.stacks import LARGEST_STACK, widths_of

CONTROL = {"planning_updates": 4, "warm_up_steps": 100, "buffer_capacity": 300, "target_period": 50}
CHAINS = {"chain_steps": 30, "states_per_fill": 10, "queue_capacity": 200, "model_start": 130}
AGENTS = {  # on environments with a twin: every way of learning, and the rules of search control
    "er": {},
    "er, 64 units": {"hidden": (64, 64)},
    "prioritized_er": {},
    "schaul_prioritized_er": {},
    "full_prioritized_er": {},
    "full_prioritized_er, 16 units": {"hidden": (16, 16)},
    "laber": {},
    "dyna_td": {},
    "dyna_td, learned model": {"model": "learned", "search_control": "langevin"},
    "dyna_frequency": {},
}
ELSEWHERE = {registry.ROUNDABOUT: ("er", "prioritized_er", "dyna_td")}  # environments that Gymnasium steps
STEPS = 400
EVERY = 50  # steps between two comparisons


def cases() -> dict[tuple[str, str], Run]:
    """The compared runs, without seeds, by environment and agent."""
    found = {}
    for environment in registry.TWIN_ENVIRONMENTS:
        for name, chosen in AGENTS.items():
            found[environment, name] = _run(environment, name.partition(",")[0], **chosen)
    for environment, agents in ELSEWHERE.items():
        for name in agents:
            found[environment, name] = _run(environment, name, model="learned")
    for name in registry.LEARNERS:
        kind = registry.settings_type(registry.SUPERVISED_TASK, name)
        found[registry.SUPERVISED_TASK, name] = Run(registry.SUPERVISED_TASK, name, kind(), (), STEPS, EVERY)
    return found


def _run(environment: str, agent: str, **chosen) -> Run:
    kind = registry.settings_type(environment, agent)
    numbers = {**CONTROL, **CHAINS, **chosen}
    known = {name: value for name, value in numbers.items() if name in kind.__dataclass_fields__}
    return Run(environment, agent, kind(**known), (), STEPS, EVERY)


def differing_sizes(run: Run) -> list[int]:
    """The sizes of stacks in which a seed's numbers differ from those in a stack of 20."""
    sizes = range(2, LARGEST_STACK, 3) if registry.is_supervised(run.environment) else widths_of(run)[:-1]
    widest = list(_numbers(run, LARGEST_STACK))
    return [size for size in sizes if not all(map(_same, _numbers(run, size), widest))]


def _numbers(run: Run, size: int) -> Iterator[dict[str, np.ndarray]]:
    """Every metric and every variable with a seed axis, at each comparison."""
    program = make_program(replace(run, seeds=tuple(range(size))))
    for _ in range(0, run.steps, run.evaluate_every):
        program.train(tf.constant(run.evaluate_every))
        variables = {
            str(number): variable.numpy()
            for number, variable in enumerate(program.variables)
            if variable.shape.rank and variable.shape[0] == size
        }
        sampled = run.environment == registry.SAMPLED_ENVIRONMENT
        metrics = {**program.evaluate(), **(program.measure()[0] if sampled else {})}
        yield {**variables, **{name: value.numpy() for name, value in metrics.items()}}


def _same(narrow: dict[str, np.ndarray], wide: dict[str, np.ndarray]) -> bool:
    return all(np.array_equal(value, wide[name][: len(value)], equal_nan=True) for name, value in narrow.items())


def main(environments: list[str]) -> int:
    """Prints a row for each environment and a column for each agent; the exit status is 1 if a size differs."""
    by_environment: dict[str, dict[str, Run]] = {}
    for (environment, agent), run in cases().items():
        by_environment.setdefault(environment, {})[agent] = run
    shown, is_equal = None, True
    for environment, runs in by_environment.items():
        if environments and environment not in environments:
            continue
        if shown != list(runs):
            shown = list(runs)
            print(f"\n| | {' | '.join(shown)} |\n|{'---|' * (len(shown) + 1)}")
        print(f"| {environment}", end="", flush=True)
        for run in runs.values():
            differing = differing_sizes(run)
            is_equal = is_equal and not differing
            print(f" | {' '.join(map(str, differing)) or 'equal'}", end="", flush=True)
        print(" |", flush=True)
    return int(not is_equal)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
