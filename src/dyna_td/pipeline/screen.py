"""The messages of the pipeline: one line of progress for the whole target, failures in a sentence, results.

They replace Snakemake's own, except in dry runs and with `--verbose`.
"""

import logging
import sys
import threading
import time
from pathlib import Path
from typing import Any

from dyna_td.errors import UserError
from dyna_td.plan import costs
from dyna_td.plan.planned import Plan
from dyna_td.records import beginnings, results

_TRAINING = ("select_learning_rate", "train_run", "train_sampled_run")
_SECONDS_BETWEEN_LINES = 30.0  # without a terminal, which can rewrite a line
_STOPPED = "stopped at "  # begins the last line of the log of a job that Ctrl-C ended


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
        self.begun: dict[int, float] = {}
        self.seconds: dict[int, float] = {}  # finished trainings
        self.waiting: set[int] = set()
        self.stopped: list[str] = []
        self.has_failed = False
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
        if self.waiting:
            self._show()
            threading.Thread(target=self._keep_showing, daemon=True).start()

    def emit(self, record: Any) -> None:
        """Takes one of Snakemake's messages, a record with attributes of its own."""
        event = getattr(getattr(record, "event", None), "name", "")
        if event == "JOB_INFO":
            self.begun[record.jobid] = time.monotonic()
        elif event == "JOB_FINISHED":
            self._finish(record.job_id)
        elif event == "JOB_ERROR":
            self._fail(record.rule_name, [Path(path) for path in record.log])
        elif record.levelno >= logging.ERROR and not (self.has_failed or self.stopped):
            if not record.getMessage().startswith("RuleException"):  # the job's own error follows, with its log
                self._print(record.getMessage())
        elif record.getMessage().startswith("Nothing to be done"):
            self.end()

    def end(self) -> None:
        """Says where the pictures of the target are, and how far its runs repeat the published ones."""
        self._ended.set()
        for figure in self._figures():
            curves = results.curves_csv(self.plan.scale, figure)
            picture = curves.with_name(f"{figure}.png")
            if picture.exists():
                self._print(f"{figure}: {picture}")
            try:
                repeats = beginnings.read(results.repeats_csv(curves)) if self.plan.drawn[figure].runs else []
            except UserError as error:
                self._print(f"error: {error}")
                continue
            if repeats:
                self._print("\n".join(beginnings.lines(figure, repeats)))

    def stop(self) -> None:
        """Ends the progress; after an interruption, says how to continue."""
        self._ended.set()
        if self.stopped:
            done = f"{len(self.jobs) - len(self.waiting)} of {len(self.jobs)} runs are done"
            self._print(f"Stopped; {done}. The same command continues at {' and '.join(sorted(self.stopped))}.")

    def _figures(self) -> list[str]:
        names = [name for job in self.workflow.dag.targetjobs for name in (job.rule.name, *job.wildcards)]
        every = set(self.plan.figures) if "all_figures" in names else set()
        return [figure for figure in self.plan.drawn if figure in every.union(names)]

    def _finish(self, number: int) -> None:
        if number in self.waiting:
            self.waiting.remove(number)
            self.seconds[number] = time.monotonic() - self.begun[number]
            self._show()

    def _fail(self, rule: str, logs: list[Path]) -> None:
        lines = [line for path in logs if path.exists() for line in path.read_text(errors="replace").splitlines()]
        last = lines[-1] if lines else ""
        if last.startswith(_STOPPED):
            self.stopped.append(last.removeprefix(_STOPPED).partition(";")[0])
            return
        self.has_failed = True
        errors = [line for line in lines if line.startswith("error: ")]
        what = errors[-1] if errors else "\n".join([f"error: {rule} failed.", *lines[-20:]])
        self._print(f"{what}\n  (log: {', '.join(map(str, logs))})")

    def _keep_showing(self) -> None:
        while self.waiting and not self._ended.wait(1.0 if self.is_terminal else _SECONDS_BETWEEN_LINES):
            self._show()

    def _show(self) -> None:
        self._write(self.line(), end="" if self.is_terminal and self.waiting else "\n")

    def line(self) -> str:
        """For example "figure_4: 12 of 48 runs, 22%, about 19 minutes left"."""
        expected = {number: costs.expected(self.plan, job).core_seconds for number, job in self.jobs.items()}
        now = time.monotonic()
        pace = sum(self.seconds.values()) / sum(expected[number] for number in self.seconds) if self.seconds else 1.0
        left = {}
        for number in self.waiting:
            passed = (now - self.begun[number]) / pace if number in self.begun else 0.0
            left[number] = max(expected[number] - passed, 0.05 * expected[number])
        total, remaining = sum(expected.values()), sum(left.values())
        minutes = pace * max(remaining / (self.workflow.cores or 1), *left.values(), 0.0) / 60
        names = ", ".join(sorted({job.rule.name for job in self.workflow.dag.targetjobs}))
        done = f"{len(self.jobs) - len(self.waiting)} of {len(self.jobs)} runs"
        time_left = f"about {minutes:.0f} minutes left" if minutes > 1.5 else "about a minute left"
        time_left = time_left if self.waiting else "all trained"
        return f"{names}: {done}, {1 - remaining / total:.0%}, {time_left}"

    def _print(self, text: str) -> None:
        self._write(text, end="\n")

    def _write(self, text: str, end: str) -> None:
        start = "\r" if self.is_terminal and self._width else ""
        self.stream.write(f"{start}{text:{self._width}}{end}")
        self.stream.flush()
        self._width = 0 if end else len(text)
