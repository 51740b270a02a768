"""Does a training make the same bytes in every stack of seeds, and on every CPU?

    python benchmarks/bits.py stacks [CASE ...]    # a seed's bytes with 1, 2, 4 and 6 others, against 19 others
    python benchmarks/bits.py write FILE [CASE ...]    # digests of short trainings
    python benchmarks/bits.py compare FILE [CASE ...]    # the same on another CPU: what differs, and from which step

A case is `environment:agent`, with settings that differ from the agent's: `GridWorld:er:hidden=64x64`. Without cases,
all of `CASES`, or all of the file. `benchmarks/digests.json` has the digests of this version. Every variable with a
seed axis and every metric must agree to the last bit. The status is 1 if any differs.
"""

# isort: skip_file
# ruff: noqa: E402 - the arithmetic is fixed before NumPy is imported, and TensorFlow is imported without its messages

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import dyna_td.learning  # noqa: F401
from dyna_td.learning.tensorflow_import import import_tensorflow

import_tensorflow()
import numpy as np
import tensorflow as tf

from dyna_td.commands import arguments
from dyna_td.records.files import write
from dyna_td.runs import registry
from dyna_td.runs.run import Run
from dyna_td.settings import checked
from dyna_td.programs.program import make_program

DIGESTS = Path(__file__).with_name("digests.json")
CONTROL = {"planning_updates": 4, "warm_up_steps": 60, "buffer_capacity": 300, "target_period": 50}
CHAINS = {"chain_steps": 30, "states_per_fill": 10, "queue_capacity": 200, "model_start": 130, "search_every": 1}
_ON_GRID_WORLD = (  # every way of learning, and the rules of search control
    *("er", "er:hidden=64x64", "er:hidden=16x16", "prioritized_er", "schaul_prioritized_er", "full_prioritized_er"),
    *("laber", "lap", "pal", "cubic_dqn", "dyna_td", "dyna_td:search_control=algorithm_4", "dyna_value"),
    *("dyna_td:model=learned,search_control=langevin", "dyna_frequency:activation=tanh"),
)
_ON_OTHER_TWINS = ("prioritized_er", "dyna_td:model=learned,search_control=langevin")  # their dynamics and returns
CASES = [
    *(f"GridWorld:{rest}" for rest in _ON_GRID_WORLD),
    *(f"{environment}:{rest}" for environment in registry.TWIN_ENVIRONMENTS[1:] for rest in _ON_OTHER_TWINS),
    *(f"{registry.SUPERVISED_TASK}:{learner}" for learner in registry.agents_on(registry.SUPERVISED_TASK)),
    *(f"{registry.SUPERVISED_TASK}:{learner}:batch_size=512" for learner in ("full_prioritized_l2", "cubic")),
    *(f"{registry.ROUNDABOUT}:{agent}" for agent in ("er", "prioritized_er", "dyna_td:model=learned,hidden=64x64")),
    *("Hopper-v4:prioritized_er", "Hopper-v4:dyna_td", "Walker2d-v4:er"),
]
STEPS, EVERY = 200, 50  # a training's length, and the steps between two comparisons
WIDEST, OTHERS = 20, (2, 3, 5, 7)  # seeds in a stack


def run_of(case: str) -> Run:
    """The run of a case, without seeds."""
    environment, agent, *given = case.split(":")
    kind = registry.settings_type(environment, agent)
    known = {setting.name: setting for setting in fields(kind)}
    numbers = {name: value for name, value in {**CONTROL, **CHAINS}.items() if name in known}
    for word in given[0].split(",") if given else []:
        name, _, value = word.partition("=")
        numbers[name] = checked(known[name], arguments.value_of(value, known[name].default))
    return Run(environment, agent, kind(**numbers), (), STEPS, EVERY)


def trained(run: Run, size: int) -> Iterator[tuple[int, dict[str, np.ndarray]]]:
    """At each comparison the step, and every metric and every variable with a seed axis of `size` seeds."""
    program = make_program(replace(run, seeds=tuple(range(size))))
    try:
        for step in range(EVERY, STEPS + 1, EVERY):
            program.train(tf.constant(EVERY))
            variables = {
                f"variable {number}": variable.numpy()
                for number, variable in enumerate(program.variables)
                if variable.shape.rank and variable.shape[0] == size
            }
            measured = {**program.evaluate(), **program.measure()[0]}
            yield step, {**variables, **{name: value.numpy() for name, value in measured.items()}}
    finally:
        program.close()


def differing_sizes(run: Run) -> list[int]:
    """The sizes of stacks in which a seed's bytes differ from those in the widest stack."""
    widest = list(trained(run, WIDEST))
    return [size for size in OTHERS if not all(map(_same, trained(run, size), widest))]


def _same(narrow: tuple, wide: tuple) -> bool:
    return all(value.tobytes() == wide[1][name][: len(value)].tobytes() for name, value in narrow[1].items())


def digests(run: Run) -> dict[str, str]:
    """SHA-256 of all that `trained` gives for two seeds, by step."""
    found = {}
    for step, values in trained(run, 2):
        digest = hashlib.sha256(b"".join(values[name].tobytes() for name in sorted(values)))
        found[str(step)] = digest.hexdigest()[:16]
    return found


def main(words: list[str]) -> int:
    """Prints a line for each case; see the module."""
    command, *cases = words or ["stacks"]
    if command == "stacks":
        return sum(bool(_say(case, _in_words(differing_sizes(run_of(case))))) for case in cases or CASES) > 0
    file, *cases = cases
    file = Path(file)
    if command == "compare" and not file.exists():
        sys.exit(f"error: there is no {file}: make it on another CPU with `write`.")
    known = json.loads(file.read_text()) if file.exists() else {}
    cases = cases or (CASES if command == "write" else list(known))
    is_bad = False
    for case in cases:
        found = digests(run_of(case))
        if command == "write":
            known[case] = found
            write(file, json.dumps(known, indent=1) + "\n")
            print(f"{case}: written", flush=True)
        else:
            differing = [int(step) for step in found if found[step] != known[case].get(step)]
            is_bad |= bool(_say(case, f"differs at step {min(differing)}" if differing else ""))
    return int(is_bad)


def _in_words(sizes: list[int]) -> str:
    return f"differs with {', '.join(map(str, sizes))} seeds" if sizes else ""


def _say(case: str, difference: str) -> str:
    print(f"{case}: {difference or 'equal'}", flush=True)
    return difference


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
