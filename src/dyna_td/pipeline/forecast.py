"""How much of a target's trainings is done, in steps that the jobs report, and how many minutes are left.

The published costs say what share of a run's time its steps take. The speed is the one that is seen on this machine.
"""

import heapq
from dataclasses import dataclass, field

from dyna_td.plan import costs
from dyna_td.plan.planned import Plan
from dyna_td.programs.stacks import stacks_of
from dyna_td.records import results

_HALF_LIFE = 120.0  # seconds in which the memory of a speed fades to half, since other programs come and go
_TRUST = 10.0  # seconds of training after which a speed that is seen counts as much as the one assumed before


@dataclass
class Speed:
    """The published core-seconds that a second brings here, lately."""

    work: float = 0.0
    seconds: float = 0.0

    def add(self, work: float, seconds: float) -> None:
        """Adds what `seconds` seconds of one job have brought."""
        kept = 0.5 ** (seconds / _HALF_LIFE)
        self.work, self.seconds = kept * self.work + work, kept * self.seconds + seconds

    def value(self, before: float) -> float:
        """The speed, if `before` was to be assumed until any was seen."""
        return max((self.work + _TRUST * before) / (self.seconds + _TRUST), 1e-3)


@dataclass
class Training:
    """A job of the target.

    Attributes:
      name: its run's name; a sweep has that of its run, which waits for it.
      total: steps of all its stacks and rates.
      cost: the published one.
      done: steps, those of its checkpoint included.
      begun: when Snakemake started it; None before.
      seen: when its steps were last read; None before its first step.
      has_ended: whether its results are written.
      speed: its own.
    """

    name: str
    total: int
    cost: costs.Cost
    done: int = 0
    begun: float | None = None
    seen: float | None = None
    has_ended: bool = False
    speed: Speed = field(default_factory=Speed)

    @classmethod
    def of(cls, plan: Plan, job: str) -> "Training":
        """The job of this name, see `Plan.jobs`."""
        trained = plan.trained_by(job)
        total = len(stacks_of(trained[0].seeds)) * sum(run.steps for run in trained)
        return cls(job.removesuffix(results.SWEEP), total, costs.expected(plan, job))

    @property
    def left(self) -> float:
        """The published core-seconds of the steps that are left."""
        return self.cost.training(self.total, self.total) - self.cost.training(self.done, self.total)


class Forecast:
    """The progress of `trainings`, by any key, on `cores` cores."""

    def __init__(self, trainings: dict[int, Training], cores: int):
        self.trainings, self.cores = trainings, cores
        self._speed = Speed()  # all jobs together
        self._starts: list[float] = []  # seconds from a job's start to its first step

    def note(self, key: int, done: int, now: float) -> None:
        """Takes the number of steps that a running job says are done, at `now` on a clock in seconds."""
        job = self.trainings[key]
        if job.seen is None:
            if job.begun is not None:
                self._starts.append(now - job.begun)
        elif done > job.done:
            work = job.cost.training(done, job.total) - job.cost.training(job.done, job.total)
            for speed in (job.speed, self._speed):
                speed.add(work, now - job.seen)
        elif done == job.done:  # the next step counts all the time since the last one
            return
        job.done, job.seen = done, now

    @property
    def share(self) -> float:
        """The share of the steps that are done, from 0 to 1."""
        done = sum(job.total if job.has_ended else job.done for job in self.trainings.values())
        return done / sum(job.total for job in self.trainings.values())

    def minutes(self, now: float) -> float:
        """The minutes until the last job ends. Free cores take the longest of the waiting jobs, as Snakemake does."""
        running: list[float] = []
        waiting: dict[str, float] = {}
        common = self._speed.value(1.0)
        for job in self.trainings.values():
            if job.has_ended:
                continue
            if job.seen is not None:
                running.append(job.left / job.speed.value(common))
                continue
            seconds = self._start(job) + job.left / common
            if job.begun is None:
                waiting[job.name] = waiting.get(job.name, 0.0) + seconds
            else:
                running.append(max(seconds - (now - job.begun), job.left / common))
        ends = running + [0.0] * (self.cores - len(running) if waiting else 0)
        heapq.heapify(ends)
        for seconds in sorted(waiting.values(), reverse=True):
            heapq.heappush(ends, heapq.heappop(ends) + seconds)
        return max(ends, default=0.0) / 60

    def _start(self, job: Training) -> float:
        """The seconds before the job's first step: the mean of those seen, or else the published ones."""
        return sum(self._starts) / len(self._starts) if self._starts else costs.START + job.cost.compiling
