"""`make benchmark-peers`: the same learning work by this project and by other libraries, in alternating processes.

Each implementation is a process of its own with one thread (`worker.py`), because the libraries conflict in threads and
versions. Before it is timed, it shows that it does the same work: its network, mini-batch and full buffer have the
expected sizes, and from given weights and mini-batches it learns the weights that plain NumPy learns. Then ours and a
peer take turns, so that both times of a pair have the same disturbances. Processor time counts. With one thread on an
idle machine it is the time by the clock; on a busy machine it is disturbed less.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pandas as pd
import work
from tools import require_table, write_table

from dyna_td.errors import UserError, exit_status

FOLDER = Path(__file__).parent
DIFFERENCE = 1e-3  # learned weights may differ from NumPy's by this share of their change
ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
ENVIRONMENT |= {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
# For JAX; peers with other libraries ignore it, and the project does not get it.
JAX_ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}


@dataclass(frozen=True)
class Entrant:
    """An implementation.

    Attributes:
      module: its file in this folder.
      label: its name in the table.
      needs: its lines of requirements.txt, by name; if there are any, it runs in the peers' Python.
    """

    module: str
    label: str
    needs: tuple[str, ...] = ()


# By kind of work: ours, the peers, and the facts that all of them must have.
CONTESTS = {
    "updates of a DQN": (
        Entrant("our_dqn", "this project, 20 stacked seeds"),
        (
            Entrant("keras_dqn", "plain Keras DQN"),
            Entrant("stable_baselines3_dqn", "Stable-Baselines3 DQN", ("torch", "stable-baselines3")),
            Entrant("jax_dqn", "JAX, vmap over 20 seeds", ("jax", "optax")),
        ),
        work.LEARNER_FACTS,
    ),
    "prioritized draws": (
        Entrant("our_priorities", "this project, 20 stacked seeds"),
        (Entrant("cpprb_priorities", "cpprb", ("cpprb",)),),
        work.SAMPLER_FACTS,
    ),
}


class UnusableError(Exception):
    """An implementation that cannot take part, in one sentence."""


class Worker:
    """The process of an implementation, which answers requests; `started` makes one."""

    def __init__(self, label: str, process: subprocess.Popen, errors: IO):
        self.label = label
        self.facts = {}
        self._process = process
        self._errors = errors

    def time(self) -> dict[str, float]:
        """Microseconds for each update of each seed in a chunk of work, of the processor and by the clock."""
        answer = self.ask("time")
        per_second = 1e6 / answer["updates"] / self.facts["seeds"]
        return {"processor": answer["cpu_seconds"] * per_second, "clock": answer["seconds"] * per_second}

    def difference(self) -> float:
        """The distance of the learned weights from NumPy's, as a share of their change; see `DIFFERENCE`."""
        asked = work.problem(self.facts["seeds"])
        learned, begun = flat(self.ask("check")["weights"]), flat(asked.weights)
        solutions = [flat(work.solve(asked, tensorflow)) for tensorflow in (False, True)]
        if learned.shape != begun.shape:
            return np.inf
        return min(np.linalg.norm(learned - right) / np.linalg.norm(right - begun) for right in solutions)

    def ask(self, request: str) -> dict:
        """The answer of the process.

        Raises:
          UnusableError: if it has ended.
        """
        with contextlib.suppress(BrokenPipeError):  # then there is no answer either
            print(request, file=self._process.stdin, flush=True)
        return self.hear()

    def hear(self) -> dict:
        """The next answer of the process; see `ask`."""
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()  # standard error is complete only after its end
            self._errors.seek(0)
            said = [text.strip() for text in self._errors.read().split("\n") if text.strip()]
            raise UnusableError(f"{self.label}: its process ended ({said[-1] if said else 'without a word'}).")
        return json.loads(line)


@contextlib.contextmanager
def started(entrant: Entrant, python: Path | str, expected: dict) -> Iterator[Worker]:
    """The process of an implementation while the block runs.

    Args:
      entrant: the implementation.
      python: the interpreter that has its libraries.
      expected: the facts that it must have.

    Raises:
      UnusableError: if a library is missing, or if it does other work than is expected.
    """
    environment = os.environ | ENVIRONMENT | (JAX_ONE_THREAD if entrant.needs else {})
    with tempfile.TemporaryFile("w+") as errors:
        command = [python, FOLDER / "worker.py", entrant.module]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
        try:
            process = subprocess.Popen(command, **pipes, env=environment, text=True)
        except OSError as error:
            message = f"{entrant.label}: there is no Python at {python}; `make benchmark-peers` makes one."
            raise UnusableError(message) from error
        try:
            worker = Worker(entrant.label, process, errors)
            answer = worker.hear()
            if "missing" in answer:
                install = " ".join([f"{python} -m pip install", *map(requirement, entrant.needs)])
                missing = f"{python} has no {answer['missing']}; install it with `{install}`."
                raise UnusableError(f"{entrant.label}: {missing}")
            worker.facts = answer["facts"]
            _require_same_work(worker, expected)
            yield worker
        finally:
            process.kill()  # it may still be at work
            process.communicate()


def _require_same_work(worker: Worker, expected: dict) -> None:
    for fact, value in expected.items():
        if worker.facts.get(fact) != value:
            found = f"{fact} is {worker.facts.get(fact)}, not {value}"
            raise UnusableError(f"{worker.label}: other work than expected: {found}.")
    if "sizes" in expected and not (difference := worker.difference()) < DIFFERENCE:
        raise UnusableError(
            f"{worker.label}: other work than expected: its weights differ from NumPy's by {difference:.2g} of "
            f"their change, expected less than {DIFFERENCE}."
        )


def flat(layers: Sequence) -> np.ndarray:
    """All weights in one vector."""
    return np.concatenate([np.ravel(array) for layer in layers for array in layer])


def requirement(name: str) -> str:
    """The line of requirements.txt with this name, without its comment."""
    lines = [line.partition("#")[0].strip() for line in (FOLDER / "requirements.txt").read_text().splitlines()]
    return next(line for line in lines if line.partition("==")[0] == name)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures, prints a table, and writes a CSV with a row for each pair; returns the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--python", type=Path, default=Path(".venv-peers/bin/python"), help="with the peers' libraries")
    parser.add_argument("--repeats", type=int, default=15, help="pairs with each peer (default: 15)")
    parser.add_argument("--output", type=Path, metavar="CSV", help="file for the numbers, a .csv file")
    options = parser.parse_args(arguments)

    def measure_all() -> None:
        require_table(options.output, options.repeats)
        table = pd.DataFrame(measure(options.python, options.repeats))
        if table.empty:
            raise UserError("no peer could be timed, see above: run `make benchmark-peers`.")
        print("one thread each, without compilation; microseconds, and how many times as long the peer takes")
        print(summary(table).to_string(float_format="{:.2f}".format))
        write_table(options.output, table)

    return exit_status(measure_all)


def measure(python: Path, repeats: int) -> Iterator[dict]:
    """A row for each pair of times; a peer that cannot take part is named and left out.

    Raises:
      UserError: if the project itself cannot take part.
    """
    for name, (our_entrant, peers, expected) in CONTESTS.items():
        with contextlib.ExitStack() as stack:
            try:
                ours = stack.enter_context(started(our_entrant, sys.executable, expected))
            except UnusableError as error:
                raise UserError(str(error)) from error
            for peer in peers:
                try:
                    with started(peer, python if peer.needs else sys.executable, expected) as theirs:
                        for row in pairs(ours, theirs, repeats):
                            yield {"work": name, "peer": peer.label, **row}
                except UnusableError as error:
                    print(f"skipped: {error}", file=sys.stderr)


def pairs(ours: Worker, theirs: Worker, repeats: int) -> Iterator[dict]:
    """Times in turn: ours, the peer's, ours, ..."""
    ours.time(), theirs.time()  # compiles, and fills caches
    for pair in range(repeats):
        our_time, their_time = ours.time(), theirs.time()
        yield {
            "version": theirs.facts["version"],
            "pair": pair,
            "our_seeds": ours.facts["seeds"],
            "peer_seeds": theirs.facts["seeds"],
            "our_microseconds": our_time["processor"],
            "peer_microseconds": their_time["processor"],
            "ratio": their_time["processor"] / our_time["processor"],
            "our_clock_microseconds": our_time["clock"],
            "peer_clock_microseconds": their_time["clock"],
            "clock_ratio": their_time["clock"] / our_time["clock"],
        }


def summary(table: pd.DataFrame) -> pd.DataFrame:
    """A line for each peer: medians, the range of the ratios, and shares of processor time in clock time, ideally 1.

    Columns without `clock` in their names are of processor time.
    """
    shares = {
        f"{who}_share": table[f"{who}_microseconds"] / table[f"{who}_clock_microseconds"] for who in ("our", "peer")
    }
    by_peer = table.assign(**shares).groupby(["work", "peer"], sort=False)
    middle = by_peer[["peer_seeds", "peer_microseconds", "our_microseconds"]].median()
    ratios = by_peer["ratio"].agg(["min", "median", "max"])
    return middle.join(ratios).join(by_peer[["clock_ratio", "peer_share", "our_share"]].median())


if __name__ == "__main__":
    sys.exit(main())
