"""One implementation as a process of its own: `python benchmarks/worker.py MODULE` answers requests, a line each.

The module, of this folder, has a function `make()`, which returns a `work.Implementation`, or a `work.Learner` if it
learns. The first answer holds its facts, or the library that is missing. The answer to `check` has the weights that it
learns from `work.problem`, the answer to `time` the cost of a chunk of its work. Answers are JSON. The process ends
when its input ends.
"""

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import IO


def main() -> None:
    """Answers requests until the input ends."""
    with _answers() as answers:

        def answer(values: dict) -> None:
            print(json.dumps(values), file=answers, flush=True)

        try:
            implementation = importlib.import_module(sys.argv[1]).make()
        except ModuleNotFoundError as error:
            answer({"missing": error.name})
            return
        answer({"facts": implementation.facts})
        for request in sys.stdin:
            answer(_ANSWERS[request.strip()](implementation))


def _check(learner) -> dict:
    import work  # imported here, so that `main` can report a missing NumPy

    weights = learner.improve(work.problem(learner.facts["seeds"]))
    return {"weights": [[array.tolist() for array in layer] for layer in weights]}


def _time(implementation) -> dict:
    before = implementation.done()
    wall, processor = time.perf_counter(), time.process_time()
    implementation.train()
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return {"seconds": wall, "cpu_seconds": processor, "updates": implementation.done() - before}


_ANSWERS = {"check": _check, "time": _time}


@contextlib.contextmanager
def _answers() -> Iterator[IO]:
    """Standard output for answers alone; what a library prints goes to standard error."""
    answers = os.dup(1)
    os.dup2(2, 1)
    with open(answers, "w") as file:
        yield file


if __name__ == "__main__":
    main()
