"""Trains a run: the loop around a compiled program, its evaluations and its clocks."""

import contextlib
import functools
import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import tensorflow as tf

from dyna_td.errors import UserError
from dyna_td.programs.program import CannotResume, make_program
from dyna_td.programs.stacks import stacks_of
from dyna_td.runs.registry import has_twin, is_supervised
from dyna_td.runs.run import Run
from dyna_td.training import interruption, trial
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.log import Log, Outcome
from dyna_td.training.progress import Progress

NETWORKS = ("actor", "q")  # attributes of learners: the network that acts is one of these
SECONDS_BETWEEN_SIGNS = 2.0  # between updates of the progress; cutting training into pieces changes no number

tf.get_logger().setLevel("ERROR")  # each stack needs its own program, so warnings of retracing are useless


def execute(
    run: Run,
    progress: Progress = lambda done, total: None,
    checkpoint: Checkpoint | None = None,
    watch: Callable[[pd.DataFrame], None] = lambda records: None,
) -> Outcome:
    """Trains all seeds of `run` and evaluates them at step 0, every `run.evaluate_every` steps, and at the last step.

    After step 0, an evaluation includes the program's measurements (`Program.measure`).

    Args:
      run: its learning rate is fixed (no sweep).
      progress: called with the steps done and the steps in all, every few seconds.
      checkpoint: read at the start and kept up to date; a training that was killed and started again then gives the
        same numbers as an uninterrupted one.
      watch: called with the records of each evaluation, first with those that the checkpoint has.
    """
    return _Training([run], progress, checkpoint, measures=True, watch=watch).outcomes()[0]


def execute_sweep(
    runs: list[Run], progress: Progress = lambda done, total: None, checkpoint: Checkpoint | None = None
) -> list[Outcome]:
    """Like `execute`, without measurements; the runs differ in their learning rate alone and share a program."""
    return _Training(runs, progress, checkpoint, measures=False).outcomes()


class _Training:
    """The training of runs that share a program: stack by stack of seeds, and run by run within a stack."""

    _ended = 0.0  # the process's seconds when its last training ended

    def __init__(self, runs, progress: Progress, checkpoint: Checkpoint | None, measures: bool, watch=None):
        if _first_process() != os.getpid():
            raise UserError(
                "this process was forked from one that had trained, and would wait for threads that it does not have: "
                "start it by multiprocessing's method spawn."
            )
        self.runs = runs
        self.watch = watch or (lambda records: None)
        self.progress = progress
        self.checkpoint = checkpoint
        self.measures = measures
        self.stacks = stacks_of(runs[0].seeds)
        self.logs = self._new_logs()
        self.total = len(self.stacks) * sum(run.steps for run in runs)
        self.done = 0  # steps of all stacks and runs
        self.earlier_core_seconds = 0.0  # spent by processes that were killed
        self._begun = _Training._ended

    def _new_logs(self) -> list[Log]:
        return [Log(run, np.concatenate(self.stacks)) for run in self.runs]

    @property
    def core_seconds(self) -> float:
        """Processor seconds of this job so far; those of imports belong to a process's first training."""
        return self.earlier_core_seconds + time.process_time() - self._begun

    def outcomes(self) -> list[Outcome]:
        """Trains all that the checkpoint does not hold yet; an interruption carries the step as a note.

        An environment may change the working directory. It is as before at the end.
        """
        with contextlib.chdir("."):
            trial.require_sound(self.runs[0])
            try:
                try:
                    return self._train_from(self.checkpoint)
                except CannotResume as error:
                    print(f"warning: {error}; the training restarts.", file=sys.stderr)
                self.logs = self._new_logs()
                return self._train_from(None)
            except KeyboardInterrupt as signal:
                signal.add_note(f"step {self.done:,} of {self.total:,}")
                raise
            finally:
                _Training._ended = time.process_time()

    def _train_from(self, checkpoint: Checkpoint | None) -> list[Outcome]:
        """Trains what the checkpoint does not hold."""
        arrays, facts = (checkpoint and checkpoint.load()) or ({}, {"stack": 0, "run": 0, "done": 0})
        self.earlier_core_seconds = facts.get("core_seconds", self.earlier_core_seconds)
        for log_number, log in enumerate(self.logs if arrays else []):
            log.resume(arrays, facts, log_number)
        run_number, done = facts["run"], facts["done"]
        for stack_number in range(facts["stack"], len(self.stacks)):
            with self._made(self.stacks[stack_number]) as (program, beginning):
                while run_number < len(self.runs):
                    program.restore(beginning)
                    if done:
                        program.resume(arrays)
                    for log in self.logs if arrays else []:
                        self.watch(log.records())
                    arrays = {}  # frees the large buffers
                    program.optimizer.learning_rate.assign(self.runs[run_number].settings.learning_rate)
                    self._train(program, stack_number, run_number, done)
                    run_number, done = run_number + 1, 0
                    if run_number < len(self.runs):
                        self._save({}, stack_number, run_number, done)
            run_number = 0
            if stack_number + 1 < len(self.stacks):
                self._save({}, stack_number + 1, run_number, done)
        share = self.core_seconds / len(self.logs)
        return [log.outcome(share) for log in self.logs]

    @contextlib.contextmanager
    def _made(self, stack: tuple[int, ...]):
        """A compiled program of these seeds, and the initial values of its variables; closes it afterwards."""
        run = self.runs[0]
        if not (is_supervised(run.environment) or has_twin(run.environment)):
            # A companion repeats the first seed's data and needs no environment.
            stack = tuple(seed if seed in run.seeds else stack[0] for seed in stack)
        with contextlib.ExitStack() as opened:
            with self.logs[0].clock("compile_seconds"), trial.in_one_sentence(run.agent):
                program = make_program(replace(run, seeds=stack))
                opened.callback(program.close)
                program.compile(self.measures)
                beginning = program.values()
            yield program, beginning

    def _train(self, program, stack_number: int, run_number: int, done: int) -> None:
        """Trains one stack of seeds from step `done` on, and logs its evaluations."""
        run, log = self.runs[run_number], self.logs[run_number]
        clock = log.clock
        pace = 50  # steps at once, adapted to show progress every few seconds
        before = stack_number * sum(other.steps for other in self.runs) + sum(r.steps for r in self.runs[:run_number])
        self._show(before + done)
        if not done:
            self._evaluate(program, stack_number, run_number, done)

        def save() -> None:
            self._save(program.snapshot(), stack_number, run_number, done)

        while done < run.steps:
            next_evaluation = min((done // run.evaluate_every + 1) * run.evaluate_every, run.steps)
            piece = min(pace, next_evaluation - done)
            begun = clock.seconds["train_seconds"]
            with interruption.held(save):
                with clock("train_seconds"):
                    program.train(tf.constant(piece))
                    program.step.numpy()  # waits for the program to end
                done += piece
                pace = max(1, int(piece * SECONDS_BETWEEN_SIGNS / (clock.seconds["train_seconds"] - begun)))
                if done == next_evaluation:
                    self._evaluate(program, stack_number, run_number, done)
                self._show(before + done)
            if self.checkpoint and self.checkpoint.is_due and done < run.steps:
                save()
        log.remarks |= program.remarks()
        if self.measures:
            log.add_weights(weights_of(program))

    def _show(self, done: int) -> None:
        self.done = done
        self.progress(done, self.total)

    def _evaluate(self, program, stack_number: int, run_number: int, done: int) -> None:
        run, log, seeds = self.runs[run_number], self.logs[run_number], self.stacks[stack_number]
        with log.clock("evaluate_seconds"):
            metrics = {metric: value.numpy() for metric, value in program.evaluate().items()}
            if hasattr(program, "agent"):
                trial.require_priorities(run, program.agent, done, metrics["diverged"] > 0)
            if self.measures and done:
                measured, states = program.measure()
                metrics |= {metric: value.numpy() for metric, value in measured.items()}
                if done in run.moments.values():
                    log.add_states(seeds, done, {source: drawn.numpy() for source, drawn in states.items()})
        log.add_metrics(seeds, done, metrics, log.clock.seconds["train_seconds"])
        self.watch(log.records(len(metrics)))

    def _save(self, arrays: dict[str, np.ndarray], stack_number: int, run_number: int, done: int) -> None:
        """Saves finished results and the program's arrays, to continue after `done` steps of this run and stack."""
        if not self.checkpoint:
            return
        facts = {"stack": stack_number, "run": run_number, "done": done}
        facts |= {"steps_done": self.done, "core_seconds": self.core_seconds}
        for log_number, log in enumerate(self.logs):
            log.save(arrays, facts, log_number)
        self.checkpoint.save(arrays, facts)


def weights_of(program) -> dict[str, np.ndarray]:
    """Copies of the weights with which a program's seeds act, by name, each [S, ...]; none in the supervised task."""
    learner = getattr(getattr(program, "agent", None), "learner", None)
    found = {}
    for name in NETWORKS:
        if network := getattr(learner, name, None):
            for layer, (kernel, bias) in enumerate(zip(network.kernels, network.biases, strict=True)):
                found[f"{name}.kernel{layer}"] = kernel.numpy().copy()
                found[f"{name}.bias{layer}"] = bias.numpy()[..., 0].copy()
    return found


@functools.cache
def _first_process() -> int:
    """The process that trained first; a fork has its memory, but not TensorFlow's threads."""
    return os.getpid()
