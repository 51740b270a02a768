"""What a plan will cost, before anyone starts it: a model fitted to the measured jobs of `experiments/costs.csv`.

The seconds of each phase of a job, and its memory beside its buffers, are sums of its quantities (`costs.QUANTITIES`)
times coefficients that are not negative, found by least squares among the measured jobs of the same kind and agent. How
wrong such an estimate is, is itself measured: each measured job is estimated from all others.
"""

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import scipy  # whose parts are loaded when they are used

from dyna_td.pipeline.costs import PHASES, QUANTITIES, Job, jobs_of
from dyna_td.pipeline.plans import Plan

CORES = 2
# The measured jobs from which a phase is fitted: those that share these columns; and what it is linear in.
_SAME_KIND = {
    "start": ("kind",),
    "compile": ("kind", "agent"),
    "train": ("kind", "agent"),
    "evaluate": ("environment",),
    "memory": ("kind", "agent"),
}
_LINEAR_IN = {
    "start": ("jobs", "records"),
    "compile": ("programs", "learned_programs", "measuring_programs"),
    "train": ("seed_steps", "seed_updates", "update_work", "refresh_work", "model_work", "chain_steps"),
    "evaluate": ("evaluations", "measurements"),
    "memory": ("jobs", "learned_programs"),
}
_DRAWING = ("aggregate", "plot")
_SMALL = 0.05  # of a job's seconds: an error of a phase shorter than this hardly matters


@dataclass(frozen=True)
class Cost:
    """What a job is estimated to take.

    Attributes:
      seconds: core-seconds.
      memory_mib: at its peak.
      beyond: its training seconds over those of the longest measured job of its agent and kind.
      is_measured: whether a job of its agent on its environment was measured at all.
    """

    seconds: float
    memory_mib: float
    beyond: float = 0.0
    is_measured: bool = True


class CostModel:
    """Estimates of jobs' costs from a table of measured jobs (`costs.read_table`)."""

    def __init__(self, table: pd.DataFrame):
        self._keys = {key: table[key].to_numpy(str) for key in ("kind", "agent", "environment")}
        self._amounts = {name: table[name].to_numpy(float) for name in QUANTITIES}
        self._measured = {phase: table[f"{phase}_seconds"].to_numpy(float) for phase in PHASES}
        self.seconds = sum(self._measured.values())
        self._measured["memory"] = table["memory_mib"].to_numpy(float) - self._amounts["buffers"]
        self.table = table
        self._coefficients = cache(self._fit)

    @property
    def machine(self) -> str:
        """The processors on which jobs were measured."""
        return ", ".join(sorted(set(self.table["cpu"]) - {""})) or "an unknown processor"

    def cost(self, job: Job, without: int = -1) -> Cost:
        """The estimate of `job`, if asked without the measured job in row `without` of the table."""
        phases = PHASES[:1] if job.kind in _DRAWING else PHASES
        seconds = {phase: self._estimate(phase, job, without) for phase in phases}
        longest = self._measured["train"][self._rows("train", job, without)].max(initial=0.0)
        return Cost(
            seconds=sum(seconds.values()),
            memory_mib=self._estimate("memory", job, without) + job.quantities.get("buffers", 0.0),
            beyond=seconds.get("train", 0.0) / longest if longest else 0.0,
            is_measured=bool(self._is_like(job, ("kind", "agent", "environment"), without).any()),
        )

    def leave_one_out(self) -> pd.DataFrame:
        """`seconds` and `memory_mib` of each measured job as estimated from all others, beside the `measured_` ones."""
        rows = []
        for row, measured in enumerate(self.table.to_dict("records")):
            cost = self.cost(_job_of(measured), without=row)
            rows.append({"job": measured["job"], "kind": measured["kind"], "seconds": cost.seconds})
            rows[-1] |= {"measured_seconds": self.seconds[row], "memory_mib": cost.memory_mib}
            rows[-1] |= {"measured_memory_mib": measured["memory_mib"]}
        return pd.DataFrame(rows)

    def _estimate(self, phase: str, job: Job, without: int) -> float:
        coefficients = self._coefficients(phase, tuple(np.flatnonzero(self._rows(phase, job, without))))
        chains = [value for name, value in coefficients.items() if name.startswith("chain_steps")]
        total = 0.0
        for name in _LINEAR_IN[phase]:
            own = f"{name} on {job.environment}" if name == "chain_steps" else name
            # Chains of an environment where none was measured are taken to be as the others'.
            default = sum(chains) / len(chains) if name == "chain_steps" and chains else 0.0
            total += coefficients.get(own, default) * job.quantities.get(name, 0.0)
        return total

    def _is_like(self, job: Job, keys: Iterable[str], without: int) -> np.ndarray:
        like = np.arange(len(self.seconds)) != without
        for key in keys:
            like = like & (self._keys[key] == getattr(job, key))
        return like

    def _rows(self, phase: str, job: Job, without: int) -> np.ndarray:
        """Which measured jobs tell how long `phase` takes: the most similar ones that there are."""
        is_known = np.isfinite(self._measured[phase])
        for keys in (_SAME_KIND[phase], ("kind",)):
            rows = self._is_like(job, keys, without) & is_known
            if rows.any():
                return rows
        draws = np.isin(self._keys["kind"], _DRAWING)
        return self._is_like(job, (), without) & is_known & (draws == (job.kind in _DRAWING))

    def _fit(self, phase: str, rows: tuple[int, ...]) -> dict[str, float]:
        """The coefficients of `phase` by name, with one for the chains of each environment: how soon they end differs.

        Errors count in relation to the phase, or to a small part of the job where that is larger.
        """
        if not rows:
            return {}
        chosen = list(rows)
        columns = {name: self._amounts[name][chosen] for name in _LINEAR_IN[phase]}
        environments = self._keys["environment"][chosen]
        chains = columns.pop("chain_steps", np.zeros(len(chosen)))
        for environment in sorted(set(environments[chains > 0])):
            columns[f"chain_steps on {environment}"] = np.where(environments == environment, chains, 0.0)
        matrix, measured = np.stack(list(columns.values()), axis=1), self._measured[phase][chosen]
        scale = measured if phase == "memory" else measured + _SMALL * self.seconds[chosen]
        size = np.maximum(matrix.max(axis=0), 1e-12)  # the solver stops by absolute tolerances
        solution, _ = scipy.optimize.nnls(matrix / size / scale[:, None], measured / scale)
        return dict(zip(columns, (solution / size).tolist(), strict=True))


def _job_of(row: Mapping) -> Job:
    return Job(row["job"], row["kind"], row["agent"], row["environment"], {name: row[name] for name in QUANTITIES})


def makespan(jobs: Mapping[str, Job], seconds: Mapping[str, float], cores: int = CORES) -> float:
    """Seconds until all of `jobs` are done on `cores` cores, if of those that can start the longest starts first.

    A job waits for those of `jobs` that it comes after; what is not among them is there already.
    """
    waiting = {name: {other for other in job.after if other in jobs} for name, job in jobs.items()}
    followers = {name: [other for other, needs in waiting.items() if name in needs] for name in jobs}
    ready = [(-seconds[name], name) for name, needs in waiting.items() if not needs]
    heapq.heapify(ready)
    running: list[tuple[float, str]] = []
    now = 0.0
    while ready or running:
        while ready and len(running) < cores:
            duration, name = heapq.heappop(ready)
            heapq.heappush(running, (now - duration, name))
        now, done = heapq.heappop(running)
        for name in followers[done]:
            waiting[name].discard(done)
            if not waiting[name]:
                heapq.heappush(ready, (-seconds[name], name))
    return now


@dataclass(frozen=True)
class Line:
    """What a figure, or all of them, is estimated to take: one line of `make estimate`."""

    name: str
    jobs: int
    core_seconds: float
    longest_job: str
    longest_seconds: float
    memory_mib: float
    clock_seconds: float
    beyond: float
    unmeasured: tuple[str, ...]


def line(name: str, jobs: Mapping[str, Job], model: CostModel, cores: int = CORES) -> Line:
    """The sum of `jobs`, each of them once."""
    costs = {job: model.cost(jobs[job]) for job in jobs}
    seconds = {job: cost.seconds for job, cost in costs.items()}
    longest = max(seconds, key=seconds.__getitem__)
    return Line(
        name=name,
        jobs=len(jobs),
        core_seconds=sum(seconds.values()),
        longest_job=longest,
        longest_seconds=seconds[longest],
        memory_mib=max(cost.memory_mib for cost in costs.values()),
        clock_seconds=makespan(jobs, seconds, cores),
        beyond=max(cost.beyond for cost in costs.values()),
        unmeasured=tuple(job for job, cost in costs.items() if not cost.is_measured),
    )


def lines(plan: Plan, figures: Iterable[str], model: CostModel, cores: int = CORES) -> list[Line]:
    """One line a figure, and one for all of them together if there are several: runs that they share count once."""
    chosen = [plan.figure(name) for name in figures]
    found = [line(figure.name, jobs_of(plan, [figure]), model, cores) for figure in chosen]
    return [*found, line("all", jobs_of(plan, chosen), model, cores)] if len(chosen) > 1 else found


def as_text(found: Iterable[Line], cores: int = CORES) -> str:
    """A table to read.

    Its `beyond` is how many times the longest training exceeds the longest measured one of its agent.
    """
    found = list(found)
    head = ("figure", "jobs", "core time", f"on {cores} cores", "a job's memory", "beyond", "longest job")
    rows = [
        (
            entry.name,
            str(entry.jobs),
            duration(entry.core_seconds),
            duration(entry.clock_seconds),
            f"{entry.memory_mib:.0f} MiB",
            f"{entry.beyond:.1f}x",
            f"{duration(entry.longest_seconds)}: {entry.longest_job}",
        )
        for entry in found
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    text = []
    for row in (head, *rows):
        cells = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1], strict=True)]
        text.append("  ".join([row[0].ljust(widths[0]), *cells, row[-1]]))
    unmeasured = sorted({job.rpartition("/")[0] for entry in found for job in entry.unmeasured})
    if unmeasured:
        text.append(f"no such agent and environment was measured, so these are guesses: {', '.join(unmeasured)}")
    return "\n".join(text)


def accuracy_text(model: CostModel) -> str:
    """How well each measured job is estimated from all others, by kind."""
    table = model.leave_one_out()
    error = (table["seconds"] / table["measured_seconds"] - 1).abs()
    memory = (table["memory_mib"] / table["measured_memory_mib"] - 1).abs()
    text = ["each measured job estimated from all others is wrong by"]
    for kind in dict.fromkeys(table["kind"]):
        of_kind = table["kind"] == kind
        longest = model.seconds[of_kind].max()
        half, most, mib = error[of_kind].median(), error[of_kind].quantile(0.9), memory[of_kind].median()
        text.append(
            f"  {kind:10} {half:4.0%} (half of {of_kind.sum()} jobs), {most:4.0%} (nine of ten); memory {mib:.0%}; "
            f"the longest took {duration(longest)}"
        )
    return "\n".join(text)


def announcement(plan: Plan, names: Iterable[str], model: CostModel) -> str:
    """What the pipeline is about to do, in one line; `names` are of its jobs, see `costs.Job`."""
    known = jobs_of(plan, plan.drawn.values())
    jobs = {name: known[name] for name in names if name in known}
    if not jobs:
        return ""
    total = line("", jobs, model)
    return (
        f"estimate: about {duration(total.core_seconds)} of one core in {total.jobs} jobs, on {CORES} cores about "
        f"{duration(total.clock_seconds)}; the longest about {duration(total.longest_seconds)}: {total.longest_job}"
    )


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, with about two digits."""
    for unit, name in ((3600, "h"), (60, "min")):
        if seconds >= 1.95 * unit:
            return f"{seconds / unit:.{0 if seconds >= 9.95 * unit else 1}f} {name}"
    return f"{seconds:.0f} s"
