"""The messages of the pipeline: one line of progress for the whole target, failures in a sentence, results.

They replace Snakemake's own, except in dry runs and with `--verbose`.
"""

import logging
import math
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dyna_td.errors import UserError
from dyna_td.pipeline.forecast import Forecast, Training
from dyna_td.plan.planned import Plan
from dyna_td.records import beginnings, results, sources, unfinished
from dyna_td.training.job import steps_done

_TRAINING = ("select_learning_rate", "train_run", "train_sampled_run")
_SECONDS_BETWEEN_LINES = 30.0  # without a terminal, which can rewrite a line
_DRAWING = 0.25  # minutes in which the table and the picture of the last run are made


class Screen(logging.Handler):
    """Shows a run of `workflow`, Snakemake's, on standard error.

    Args:
      plan: what the jobs belong to.
      workflow: of the main process; its jobs are known once it has started.
    """

    def __init__(self, plan: Plan, workflow, stream=None):
        super().__init__()
        self.plan, self.workflow, self.stream = plan, workflow, stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self.jobs: dict[int, str] = {}  # all trainings of the target, by Snakemake's number
        self.waiting: set[int] = set()
        self.forecast = Forecast({}, 1)
        self.stopped: list[str] = []
        self.has_failed = self.is_stopping = False
        self._ended = threading.Event()
        self._width = 0

    @classmethod
    def attach(cls, plan: Plan, workflow) -> "Screen":
        """Replaces Snakemake's own messages, if this is the main process and no dry run."""
        screen = cls(plan, workflow)
        settings = workflow.output_settings
        if workflow.is_main_process and not (settings.dryrun or settings.verbose or settings.debug_dag):
            logger = logging.getLogger("snakemake.logging")
            for handler in [each for each in logger.handlers if each.name == "DefaultStreamHandler"]:
                logger.removeHandler(handler)
            logger.addHandler(screen)
        return screen

    def start(self) -> None:
        """Reads the jobs of the target, and begins to show their progress."""
        dag = self.workflow.dag
        numbers = {dag.jobid(job): job for job in dag.jobs if job.rule.name in _TRAINING}
        ends = {_TRAINING[0]: results.SWEEP}
        self.jobs = {number: job.wildcards.run + ends.get(job.rule.name, "") for number, job in numbers.items()}
        self.waiting = {number for number, job in numbers.items() if dag.needrun(job)}
        self.forecast = Forecast(
            {number: Training.of(self.plan, job) for number, job in self.jobs.items()}, self.workflow.cores or 1
        )
        for number, training in self.forecast.trainings.items():
            training.has_ended = number not in self.waiting
            training.done = self._kept(number)
        self._note_an_interruption()
        if self.waiting:
            self._show()
            threading.Thread(target=self._keep_showing, daemon=True).start()

    def _csv(self, number: int) -> Path:
        return results.run_csv(self.plan.scale, self.jobs[number])

    def _kept(self, number: int) -> int:
        """The steps in the checkpoint of a job that does not run."""
        source = sources.run_digest(self.plan.runs[self.forecast.trainings[number].name])
        return unfinished.steps_of(results.beside(self._csv(number), "checkpoint"), source)

    def _note_an_interruption(self) -> None:
        """Notes Ctrl-C, which ends the jobs, too: then none of them has failed."""
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            return

        def note(number: int, frame: Any) -> None:
            self.is_stopping = True
            before(number, frame)

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, note)

    def emit(self, record: Any) -> None:
        """Takes one of Snakemake's messages, a record with attributes of its own."""
        event = getattr(getattr(record, "event", None), "name", "")
        if event == "JOB_INFO" and record.jobid in self.waiting:
            self.forecast.trainings[record.jobid].has_begun = True
        elif event == "JOB_FINISHED":
            self._finish(record.job_id)
        elif event == "JOB_ERROR":
            self._fail(record.rule_name, record.jobid, [Path(path) for path in record.log])
        elif record.levelno >= logging.ERROR and not (self.has_failed or self.is_stopping):
            if not record.getMessage().startswith("RuleException"):  # the job's own error follows, with its log
                self._write(record.getMessage())
        elif record.getMessage().startswith("Nothing to be done"):
            self.end()

    def end(self) -> None:
        """Says where the pictures of the target are, and how far its runs repeat the published ones."""
        self._ended.set()
        for figure in self._figures():
            curves = results.curves_csv(self.plan.scale, figure)
            picture = curves.with_name(f"{figure}.png")
            if picture.exists():
                self._write(f"{figure}: {picture}")
            try:
                repeats = beginnings.read(results.repeats_csv(curves)) if self.plan.drawn[figure].runs else []
            except UserError as error:
                self._write(f"error: {error}")
                continue
            if repeats:
                self._write("\n".join(beginnings.lines(figure, repeats)))

    def stop(self) -> None:
        """Ends the progress; after an interruption, says how to continue."""
        self._ended.set()
        if self.stopped:
            done = f"{len(self.jobs) - len(self.waiting)} of {len(self.jobs)} runs are done"
            self._write(f"Stopped; {done}. The same command continues at {' and '.join(sorted(self.stopped))}.")

    def _figures(self) -> list[str]:
        names = [name for job in self.workflow.dag.targetjobs for name in (job.rule.name, *job.wildcards)]
        every = set(self.plan.figures) if "all_figures" in names else set()
        return [figure for figure in self.plan.drawn if figure in every.union(names)]

    def _finish(self, number: int) -> None:
        if number in self.waiting:
            self.waiting.remove(number)
            self.forecast.trainings[number].has_ended = True
            self._show()

    def _fail(self, rule: str, number: int, logs: list[Path]) -> None:
        if self.is_stopping:
            if number in self.jobs:
                done, total = self._kept(number), self.forecast.trainings[number].total
                place = f"step {done:,} of {total:,}" if done else "the beginning"
                self.stopped.append(f"{place} of {self.jobs[number]}")
            return
        self.has_failed = True
        lines = [line for path in logs if path.exists() for line in path.read_text(errors="replace").splitlines()]
        errors = [line for line in lines if line.startswith("error: ")]
        what = errors[-1] if errors else "\n".join([f"error: {rule} failed.", *lines[-20:]])
        self._write(f"{what}\n  (log: {', '.join(map(str, logs))})")

    def _keep_showing(self) -> None:
        shown = time.monotonic()
        while self.waiting and not self._ended.wait(1.0):
            now = time.monotonic()
            self._read_steps(now)
            if self.is_terminal or now - shown >= _SECONDS_BETWEEN_LINES:
                self._show()
                shown = now

    def _read_steps(self, now: float) -> None:
        for number in list(self.waiting):
            if self.forecast.trainings[number].has_begun:
                done = steps_done(self._csv(number))
                if done is not None:
                    self.forecast.note(number, done, now)

    def _show(self) -> None:
        self._write(self.line(), end="" if self.is_terminal and self.waiting else "\n")

    def line(self) -> str:
        """For example "figure_4: 12 of 48 runs, 22% of the steps, about 19 minutes left"."""
        names = ", ".join(sorted({job.rule.name for job in self.workflow.dag.targetjobs}))
        done = f"{len(self.jobs) - len(self.waiting)} of {len(self.jobs)} runs"
        if not self.waiting:
            return f"{names}: {done}, all trained"
        share = int(100 * self.forecast.share)
        return f"{names}: {done}, {share}% of the steps, about {_in_words(self.forecast.minutes)} left"

    def _write(self, text: str, end: str = "\n") -> None:
        start = "\r" if self.is_terminal and self._width else ""
        self.stream.write(f"{start}{text:{self._width}}{end}")
        self.stream.flush()
        self._width = 0 if end else len(text)


def _in_words(minutes: float) -> str:
    """Minutes of training and the time of drawing, rounded up: quarters of a minute, then minutes, then hours."""
    minutes += _DRAWING
    if minutes <= 2:
        return f"{15 * math.ceil(4 * minutes)} seconds"
    return f"{math.ceil(minutes)} minutes" if minutes < 150 else f"{math.ceil(minutes / 60)} hours"
