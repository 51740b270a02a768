"""How much of a target's trainings is done, in steps that the jobs report, and how many minutes are left.

The published costs say how long each step takes. The speed of all trainings so far turns them into times here.
"""

from dataclasses import dataclass

from dyna_td.plan import costs
from dyna_td.plan.planned import Plan
from dyna_td.programs.stacks import stacks_of
from dyna_td.records import results

_TRUST = 10.0  # seconds of training after which the speed that is seen counts as much as the published one


@dataclass
class Training:
    """A job of the target.

    Attributes:
      name: its run's name; a sweep has that of its run, which waits for it.
      total: steps of all its stacks and rates.
      cost: the published one.
      done: steps, those of its checkpoint included.
      has_begun: whether Snakemake has started it.
      seen: when its steps were last read, on a clock in seconds; None before its first step.
      has_ended: whether its results are written.
    """

    name: str
    total: int
    cost: costs.Cost
    done: int = 0
    has_begun: bool = False
    seen: float | None = None
    has_ended: bool = False

    @classmethod
    def of(cls, plan: Plan, job: str) -> "Training":
        """The job of this name, see `Plan.jobs`."""
        trained = plan.trained_by(job)
        total = len(stacks_of(trained[0].seeds)) * sum(run.steps for run in trained)
        return cls(job.removesuffix(results.SWEEP), total, costs.expected(plan, job))

    @property
    def left(self) -> float:
        """The published core-seconds that are left."""
        if self.has_ended:
            return 0.0
        start = costs.START + self.cost.compiling if self.seen is None else 0.0
        return start + self.cost.training(self.total, self.total) - self.cost.training(self.done, self.total)


class Forecast:
    """The progress of `trainings`, by any key, on `cores` cores."""

    def __init__(self, trainings: dict[int, Training], cores: int):
        self.trainings, self.cores = trainings, cores
        self._work = self._seconds = _TRUST  # published core-seconds of the steps seen, and those that they took

    def note(self, key: int, done: int, now: float) -> None:
        """Takes the number of steps that a running job says are done, at `now` on a clock in seconds."""
        job = self.trainings[key]
        if job.seen is not None and done == job.done:
            return  # the next step counts all the time since the last one
        if job.seen is not None and done > job.done:
            self._work += job.cost.training(done, job.total) - job.cost.training(job.done, job.total)
            self._seconds += now - job.seen
        job.done, job.seen = done, now

    @property
    def share(self) -> float:
        """The share of the steps that are done, from 0 to 1."""
        done = sum(job.total if job.has_ended else job.done for job in self.trainings.values())
        return done / sum(job.total for job in self.trainings.values())

    @property
    def minutes(self) -> float:
        """The minutes for all jobs on all cores, or for the longest run and its sweep, if they take longer."""
        of_runs: dict[str, float] = {}
        for job in self.trainings.values():
            of_runs[job.name] = of_runs.get(job.name, 0.0) + job.left
        work = max(sum(of_runs.values()) / self.cores, *of_runs.values(), 0.0)
        return work * self._seconds / self._work / 60
