"""`make benchmark-peers`: the same learning work by this project and by its peers, in alternating processes.

Each implementation is a process of its own with one thread (`worker.py`), because their libraries quarrel over threads
and versions. Before it is timed, it shows that it does the same work: its network, mini-batch and full buffer have the
expected sizes, and from given weights and mini-batches it learns the weights that plain NumPy learns. Then ours and a
peer take turns, so that a pair of times shares whatever else the machine does. Processor time is what counts: on one
thread it is the clock's time, where nobody else wants the processor, and less disturbed where somebody does.
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

import numpy as np
import pandas as pd
import work

from dyna_td.errors import UserError
from dyna_td.pipeline.files import require_writable, write_whole

FOLDER = Path(__file__).parent
DIFFERENCE = 1e-3  # of the learned weights from NumPy's, as a share of the way that they have gone
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1", "TF_NUM_INTEROP_THREADS": "1"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
# For JAX; the project runs as it always does.
JAX_ONE_THREAD = {"XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}
WHO = ("peer", "our")  # in the names of columns


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


# By kind of work: ours, the peers, and what all of them must have.
CONTESTS = {
    "updates of a DQN": (
        Entrant("our_dqn", "this project, 20 stacked seeds"),
        (
            Entrant("keras_peer", "plain Keras DQN"),
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
    """An implementation that cannot take part, told in one sentence."""


class Worker:
    """The process of an implementation.

    Args:
      entrant: the implementation.
      python: the interpreter that has its libraries.
      expected: the facts that it must have.

    Raises:
      UnusableError: if a library is missing, or if it does other work than is expected.
    """

    def __init__(self, entrant: Entrant, python: Path, expected: dict):
        self.label = entrant.label
        environment = os.environ | ONE_THREAD | QUIET | (JAX_ONE_THREAD if entrant.needs else {})
        with contextlib.ExitStack() as resources:
            self._errors = resources.enter_context(tempfile.TemporaryFile("w+"))
            command = [python, FOLDER / "worker.py", entrant.module]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self._errors}
            try:
                self._process = subprocess.Popen(command, **pipes, env=environment, text=True)
            except OSError as error:
                message = f"{self.label}: there is no Python at {python}; `make benchmark-peers` makes one."
                raise UnusableError(message) from error
            resources.callback(self._process.communicate)
            resources.callback(self._process.kill)  # first: it may be in the middle of something
            self.facts = self._hear_facts(entrant, python)
            self._require(expected)
            self._resources = resources.pop_all()

    def _hear_facts(self, entrant: Entrant, python: Path) -> dict:
        answer = self._hear()
        if "missing" in answer:
            install = " ".join([f"{python} -m pip install", *map(requirement, entrant.needs)])
            raise UnusableError(f"{self.label}: {python} has no {answer['missing']}; install it with `{install}`.")
        return answer["facts"]

    def _require(self, expected: dict) -> None:
        for fact, value in expected.items():
            if self.facts.get(fact) != value:
                raise UnusableError(
                    f"{self.label}: other work than expected: {fact} is {self.facts.get(fact)}, not {value}."
                )
        if "sizes" in expected:
            difference = self.difference()
            if not difference < DIFFERENCE:
                raise UnusableError(
                    f"{self.label}: other work than expected: its weights differ from NumPy's by {difference:.2g} of "
                    f"the way that they have gone, expected less than {DIFFERENCE}."
                )

    def difference(self) -> float:
        """Of the weights that it learns from those that NumPy learns, in Euclid's norm; see `DIFFERENCE`."""
        asked = work.problem(self.facts["seeds"])
        learned, begun = _flat(self.ask("check")["weights"]), _flat(asked.weights)
        solutions = [_flat(work.solve(asked, tensorflow)) for tensorflow in (False, True)]
        if learned.shape != begun.shape:
            return np.inf
        return min(np.linalg.norm(learned - right) / np.linalg.norm(right - begun) for right in solutions)

    def time(self) -> dict[str, float]:
        """Microseconds for each update of each seed in a chunk of work, of the processor and by the clock."""
        answer = self.ask("time")
        per_second = 1e6 / answer["updates"] / self.facts["seeds"]
        return {"processor": answer["cpu_seconds"] * per_second, "clock": answer["seconds"] * per_second}

    def ask(self, request: str) -> dict:
        """What the process answers.

        Raises:
          UnusableError: if it has ended.
        """
        with contextlib.suppress(BrokenPipeError):  # nothing will be heard either
            print(request, file=self._process.stdin, flush=True)
        return self._hear()

    def _hear(self) -> dict:
        line = self._process.stdout.readline()
        if not line:
            self._process.wait()  # its last words come after its last answer
            self._errors.seek(0)
            said = self._errors.read().split("\n")
            last = next((text for text in reversed(said) if text.strip()), "without a word")
            raise UnusableError(f"{self.label}: its process ended ({last.strip()}).")
        return json.loads(line)

    def close(self) -> None:
        """Ends the process."""
        self._resources.close()


def _flat(layers: Sequence) -> np.ndarray:
    return np.concatenate([np.ravel(array) for layer in layers for array in layer])


def requirement(name: str) -> str:
    """The line of requirements.txt with this name, without its remark."""
    lines = [line.partition("#")[0].strip() for line in (FOLDER / "requirements.txt").read_text().splitlines()]
    return next(line for line in lines if line.partition("==")[0] == name)


def main(argv: Sequence[str] | None = None) -> int:
    """Measures, prints a table, and writes a CSV with a row for each pair; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", type=Path, default=Path(".venv-peers/bin/python"), help="has the peers' libraries")
    parser.add_argument("--repeats", type=int, default=15, help="pairs with each peer (default: 15)")
    parser.add_argument("--output", type=Path, metavar="CSV", help="file for the numbers, a .csv file")
    options = parser.parse_args(argv)
    try:
        if options.repeats < 1:
            raise UserError(f"--repeats is {options.repeats}, expected at least 1.")
        if options.output:
            require_writable(options.output)
        table = pd.DataFrame(_measure(options.python, options.repeats))
        if table.empty:
            raise UserError("no peer could be timed, see above: run `make benchmark-peers`.")
        print(as_text(table))
        if options.output:
            with write_whole(options.output) as file:
                table.to_csv(file, index=False, float_format="%.4g", lineterminator="\n")
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing is written.", file=sys.stderr)
        return 130
    return 0


def _measure(python: Path, repeats: int) -> Iterator[dict]:
    """A row for each pair of times; a peer that cannot take part is told and left out.

    Raises:
      UserError: if the project itself cannot take part.
    """
    for name, (ours, peers, expected) in CONTESTS.items():
        try:
            ours = Worker(ours, Path(sys.executable), expected)
        except UnusableError as error:
            raise UserError(str(error)) from error
        with contextlib.closing(ours):
            for peer in peers:
                try:
                    with contextlib.closing(Worker(peer, python if peer.needs else sys.executable, expected)) as theirs:
                        for row in _pairs(ours, theirs, repeats):
                            yield {"work": name, "peer": peer.label, **row}
                except UnusableError as error:
                    print(f"skipped: {error}", file=sys.stderr)


def _pairs(ours: Worker, theirs: Worker, repeats: int) -> Iterator[dict]:
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


def as_text(table: pd.DataFrame) -> str:
    """A line a peer: medians of microseconds, the ratios, and processor time by the clock's, which is 1 if all is well.

    The CSV's columns without `clock` in their names are of processor time.
    """
    titles = f"{'peer':>9}{'ours':>8}{'least':>9}{'median':>9}{'most':>9}{'by clock':>10}{'peer':>8}{'ours':>6}"
    lines = [
        f"one thread each, without compilation{'microseconds':>17}{'peer / ours':>26}{'cpu / clock':>26}",
        f"{'':30}{'seeds':>6}{titles}",
    ]
    for name, of_work in table.groupby("work", sort=False):
        lines.append(f"{name}:")
        for peer, rows in of_work.groupby("peer", sort=False):
            middle = rows.median(numeric_only=True)
            shares = [(rows[f"{who}_microseconds"] / rows[f"{who}_clock_microseconds"]).median() for who in WHO]
            lines.append(
                f"  {peer:28}{rows['peer_seeds'].iloc[0]:6}{middle['peer_microseconds']:9.1f}"
                f"{middle['our_microseconds']:8.1f}{rows['ratio'].min():9.2f}{middle['ratio']:9.2f}"
                f"{rows['ratio'].max():9.2f}{middle['clock_ratio']:10.2f}{shares[0]:8.2f}{shares[1]:6.2f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
