"""One implementation as a process of its own: `python tests/peers/worker.py MODULE` answers requests, a line each.

The module, of this folder, has a function `make()`, which returns an `Implementation`, or a `Learner` if it learns. The
first answer tells its facts, or which library is missing; then `check` is answered by the weights that it learns
from `work.problem`, and `time` by what a chunk of its work took. Answers are JSON. It ends with its standard input.
"""

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import IO, Protocol

import work


class Implementation(Protocol):
    """What is timed.

    Attributes:
      facts: `seeds`, `version` and what `work.LEARNER_FACTS` or `work.SAMPLER_FACTS` has, read from the objects
        that do the work.
    """

    facts: dict

    def train(self) -> None:
        """Does one chunk of work and waits for its end."""

    def done(self) -> int:
        """How many updates, or draws with their new priorities, one seed has behind it, by the library's own count."""


class Learner(Implementation, Protocol):
    """An implementation of deep Q-learning."""

    def improve(self, asked: work.Problem) -> work.Layers:
        """The weights after the problem's updates, by the code that `train` times; called before it, if at all."""


def main() -> None:
    """Answers until nobody asks any more."""
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


def _check(learner: Learner) -> dict:
    weights = learner.improve(work.problem(learner.facts["seeds"]))
    return {"weights": [[array.tolist() for array in layer] for layer in weights]}


def _time(implementation: Implementation) -> dict:
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
