"""What each job of the pipeline has to do, in countable quantities, and what finished jobs took.

`experiments/costs.csv` has one row for each measured job: its quantities, its seconds in each phase, and its memory.
All seconds are core-seconds: a phase's time by the clock times the share of a core that the job had, which Snakemake's
benchmark file tells. Nothing here imports TensorFlow.
"""

import itertools
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline import plans, results
from dyna_td.pipeline.files import write_whole
from dyna_td.pipeline.metrics import SAMPLING_METRICS
from dyna_td.pipeline.plans import Figure, Plan
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.registry import FULL_PASS, SAMPLED_ENVIRONMENT, SUPERVISED_TASK
from dyna_td.settings import Run

TABLE = plans.DIRECTORY / "costs.csv"
LARGEST_STACK = 20  # training.LARGEST_STACK, which planning must not import; a test compares them
ITERATIONS_A_STEP, MOST_ITERATIONS = 10, 4_000  # of chains, in search_control; alike
# d and a (1 where actions are discrete) of the figures' environments, which planning must not make; alike.
DIMENSIONS = {
    "GridWorld": (2, 1),
    "MazeGridWorld": (2, 1),
    "MountainCar-v0": (2, 1),
    "CartPole-v1": (4, 1),
    "Acrobot-v1": (6, 1),
    "Hopper-v4": (11, 3),
    "Hopper-v5": (11, 3),
    "Walker2d-v4": (17, 6),
    "Walker2d-v5": (17, 6),
    "roundabout-paper-v0": (90, 1),
}
PHASES = ("start", "compile", "train", "evaluate")
# What a phase's seconds are linear in; a job's memory is its buffers and what else it is linear in.
QUANTITIES = {
    "jobs": "1",
    "records": "means over seeds that a drawing job shows, in thousands",
    "programs": "compiled programs: one for each stack of seeds",
    "learned_programs": "those that train a model too",
    "measuring_programs": "those that measure sampling distributions too",
    "seed_steps": "environment steps of all seeds, in thousands",
    "seed_updates": "parameter updates of all seeds, in thousands",
    "update_work": "multiplications and additions of these updates on their mini-batches, in thousand millions",
    "refresh_work": "the same of passing all that is stored through the network at every update",
    "chain_steps": "steps of search control at most, of all seeds, in thousands",
    "model_work": "as update_work, of a learned model's updates",
    "evaluations": "evaluation episodes of all seeds",
    "measurements": "evaluations that measure sampling distributions, of all seeds",
    "buffers": "replay buffers, priorities and search-control queues of one program, in MiB",
}
_KEYS = ["scale", "job", "kind", "agent", "environment"]
_SECONDS = [f"{phase}_seconds" for phase in PHASES]
COLUMNS = [*_KEYS, *QUANTITIES, *_SECONDS, "memory_mib", "clock_seconds", "cpu"]

# When Snakemake 9 last looked at a job: every half second at first, thirty times, which takes half a second more;
# then every 30 seconds.
_OFTEN, _SELDOM = 15.5, 30.0


@dataclass(frozen=True)
class Job:
    """One job of the pipeline.

    Attributes:
      name: the stem of its benchmark file: `<run>`, `<run>.selection`, `<figure>.aggregate` or `<figure>.plot`.
      kind: supervised, control, continuous or roundabout; aggregate or plot.
      agent: that it trains, or empty.
      environment: that it trains on, or empty.
      quantities: by name, see `QUANTITIES`; what is missing is 0.
      after: the names of the jobs whose results it needs.
    """

    name: str
    kind: str
    agent: str
    environment: str
    quantities: dict[str, float]
    after: tuple[str, ...] = ()

    def as_row(self, scale: str) -> dict:
        """Its columns of the table."""
        named = {"scale": scale, "job": self.name, "kind": self.kind, "agent": self.agent}
        amounts = {name: float(f"{self.quantities.get(name, 0):.6g}") for name in QUANTITIES}
        return named | {"environment": self.environment} | amounts


def jobs_of(plan: Plan, figures: Iterable[Figure]) -> dict[str, Job]:
    """Every job that makes `figures`, by name, a shared run once."""
    jobs = {}
    for figure in figures:
        for run in figure.runs:
            jobs |= {job.name: job for job in _training_jobs(plan, run)}
        jobs |= {job.name: job for job in _drawing_jobs(figure)}
    return jobs


def _training_jobs(plan: Plan, run: Run) -> list[Job]:
    candidates = plan.selection_runs(run)
    if not candidates:
        return [training_job(run)]
    sweep = training_job(candidates[0], rates=len(candidates), name=f"{run.name}.selection")
    return [sweep, training_job(run, after=(sweep.name,))]


def _drawing_jobs(figure: Figure) -> list[Job]:
    records = sum(_evaluations(run) * _metrics(run.environment) for run in figure.runs) / 1e3
    amounts = {"jobs": 1, "records": records}
    aggregate = Job(f"{figure.name}.aggregate", "aggregate", "", "", amounts, tuple(run.name for run in figure.runs))
    return [aggregate, Job(f"{figure.name}.plot", "plot", "", "", amounts, (aggregate.name,))]


def training_job(run: Run, rates: int = 0, name: str = "", after: tuple[str, ...] = ()) -> Job:
    """The job that trains `run`: once, or for a sweep one time after the other with `rates` learning rates."""
    kind = plans.kind_of(run.environment)
    return Job(name or run.name, kind, run.agent, run.environment, _quantities(run, rates), after)


def _quantities(run: Run, rates: int) -> dict[str, float]:
    settings, repeats = run.settings, rates or 1
    seeds = max(2, len(run.seeds))  # a single one has a companion
    programs = math.ceil(seeds / LARGEST_STACK)
    stack = math.ceil(seeds / programs)
    learning = max(0, run.steps - getattr(settings, "warm_up_steps", 0)) * seeds * repeats / 1e3
    updates = learning * getattr(settings, "planning_updates", 1)
    weights = _weights(settings.hidden)
    d, a = DIMENSIONS.get(run.environment, (4, 1))
    stored = getattr(settings, "examples", None) or min(settings.buffer_capacity, run.steps)
    measures = run.environment == SAMPLED_ENVIRONMENT and not rates
    amounts = {
        "jobs": 1,
        "programs": programs,
        "measuring_programs": programs if measures else 0,
        "seed_steps": run.steps * seeds * repeats / 1e3,
        "seed_updates": updates,
        "update_work": updates * 3 * settings.batch_size * weights / 1e6,
        "refresh_work": updates * stored * weights / 1e6 if run.agent in FULL_PASS else 0,
        "evaluations": _evaluations(run) * seeds * repeats * getattr(settings, "evaluation_episodes", 1),
        "measurements": _evaluations(run) * seeds if measures else 0,
    }
    kept = 2 * d + a + 2 + ("prioritized" in run.agent) + (run.agent in FULL_PASS)  # with its priority, and y
    numbers = 0.0 if run.environment == SUPERVISED_TASK else stored * kept
    if hasattr(settings, "chain_steps"):
        fills = learning / settings.search_every
        most_fills = max(0, run.steps - settings.warm_up_steps) // settings.search_every + 1
        numbers += min(settings.queue_capacity, most_fills * settings.states_per_fill) * d
        steps = settings.chain_steps
        if settings.search_control == "algorithm_4":  # a restart costs no step, and a seed that only restarts, most
            steps = min(steps * ITERATIONS_A_STEP, MOST_ITERATIONS)
        amounts["chain_steps"] = fills * steps
        if settings.model == "learned":
            work = learning * 3 * settings.model_batch_size * _weights(settings.model_hidden) / 1e6
            amounts |= {"model_work": work, "learned_programs": programs}
    return amounts | {"buffers": numbers * stack * 4 / 2**20}


def _weights(hidden: tuple[int, ...]) -> int:
    """Of a network between about four inputs and four outputs; an environment's own numbers are in its cost."""
    return sum(a * b for a, b in itertools.pairwise((4, *hidden, 4)))


def _metrics(environment: str) -> int:
    """Of one evaluation, roughly."""
    return 2 + (len(SAMPLING_METRICS) if environment == SAMPLED_ENVIRONMENT else 0)


def _evaluations(run: Run) -> int:
    return 1 + math.ceil(run.steps / run.evaluate_every)


def measure(directory: Path) -> pd.DataFrame:
    """The measured jobs of one scale, as rows of the table.

    Left out are jobs without a result, and those too short for Snakemake to look at. A job that went on from a
    checkpoint counts by its own clocks: its benchmark file tells the last part alone, and nothing how long it took to
    start. A figure's own jobs have the quantities of today's plan. Of a run that was restamped, the memory is left
    empty: it is that of older code.

    Args:
      directory: of the results of a scale, such as results/quick.

    Raises:
      UserError: if there is no measured job, or a file cannot be read.
    """
    directory = Path(directory)
    scale = directory.resolve().name
    try:
        plan = plans.load_plan(scale)
    except UserError as error:
        raise UserError(f"{directory} is no folder of a scale, such as results/quick: {error}") from error
    rows = []
    for path in sorted((directory / "benchmarks").rglob("*.tsv")):
        name = str(path.relative_to(directory / "benchmarks").with_suffix(""))
        figure, _, part = name.partition(".")
        clock, cpu_time, memory = read_benchmark(path)
        share = core_share(clock, cpu_time)
        if figure in plan.drawn and part in ("aggregate", "plot"):
            if math.isnan(memory):  # Snakemake never looked at it
                continue
            job = _drawing_jobs(plan.drawn[figure])[part == "plot"]
            rows.append(job.as_row(scale) | {"start_seconds": clock * share, "memory_mib": memory, "cpu": ""})
        elif (described := directory / "runs" / f"{name}.json").exists():
            with told_if_damaged(described, "make that run anew"):
                rows.append(_measured_training(name, scale, json.loads(described.read_text()), clock, share))
        else:
            continue
        rows[-1].setdefault("clock_seconds", clock)
    if not rows:
        raise UserError(
            f"{directory} has no measured jobs, expected the results of a scale, such as results/quick: "
            f"run `make all-figures` first."
        )
    return pd.DataFrame(rows).reindex(columns=COLUMNS).fillna(dict.fromkeys(_SECONDS, 0.0))


class Benchmark(NamedTuple):
    """What Snakemake measured of a job: seconds by the clock and of a core, and most memory in MiB.

    The latter two are NaN if the job was over before Snakemake looked at it.
    """

    clock: float
    cpu_time: float
    memory_mib: float


def read_benchmark(path: Path) -> Benchmark:
    """What the benchmark file at `path` tells of its job.

    Raises:
      UserError: if it is missing or damaged.
    """
    with told_if_damaged(path, "delete it, and its job counts as not measured"):
        row = pd.read_csv(path, sep="\t", na_values="-").iloc[-1]
        found = Benchmark(*(float(row[name]) for name in ("s", "cpu_time", "max_rss")))
        if not math.isfinite(found.clock):
            raise ValueError("no time")
        return found


def core_share(clock: float, cpu_time: float) -> float:
    """The share of a core that a job of `clock` seconds had, by Snakemake's `cpu_time`; 1 if that is not known.

    `cpu_time` counts up to the last look at the job alone, which is up to 30 s before its end.
    """
    looked = clock if clock < _OFTEN else _OFTEN + (clock - _OFTEN) // _SELDOM * _SELDOM
    return min(1.0, cpu_time / looked) if cpu_time > 0 else 1.0


def _measured_training(name: str, scale: str, details: dict, clock: float, share: float) -> dict:
    environment, agent = details["environment"], details["agent"]
    rates = len(details["sweep"]) if name.endswith(".selection") else 0
    numbers = {key: value for key, value in details["settings"].items() if value is not None}
    run = Run(
        environment=environment,
        agent=agent,
        settings=plans.make_settings(environment, agent, numbers),
        seeds=tuple(details["seeds"]),
        steps=details["steps"],
        evaluate_every=details["evaluate_every"],
    )
    seconds = {f"{phase}_seconds": details[f"{phase}_seconds"] for phase in PHASES[1:]}
    if clock < sum(seconds.values()):  # it went on from a checkpoint
        seconds["train_seconds"] = _without_pauses(details)
        clock = sum(seconds.values())
    seconds["start_seconds"] = clock - sum(seconds.values())
    shared = {phase: value * share for phase, value in seconds.items()} | {"clock_seconds": clock}
    # Code that makes the same numbers may do so in another room.
    memory = math.nan if details.get("restamped") else details["peak_memory_mib"]
    known = {"memory_mib": memory, "cpu": details.get("cpu") or ""}
    return training_job(run, rates, name).as_row(scale) | shared | known


def _without_pauses(details: dict) -> float:
    """The training seconds of a run. From one evaluation to the next, ten times the median or more was a pause.

    A process that is stopped and goes on hours later cannot tell; what it did meanwhile is taken to be the median.
    """
    ends = pd.Series([seconds for _, seconds in details.get("train_seconds_at", [])])
    pieces = ends.diff().dropna()
    pauses = pieces[pieces >= 10 * pieces.median()]
    return details["train_seconds"] - (pauses - pieces.median()).sum()


def read_table(path: Path = TABLE) -> pd.DataFrame:
    """The measured jobs.

    Raises:
      UserError: if `path` cannot be read, or is no such table.
    """
    fit = f"make it with `python -m dyna_td estimate --fit results/quick --costs {path}`"
    try:
        texts = dict.fromkeys(("scale", "job", "agent"), str)
        table = pd.read_csv(path, keep_default_na=False, na_values={"memory_mib": ""}, dtype=texts)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {fit}.") from error
    except (ValueError, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise UserError(f"{path} is no table of measured jobs ({reason}); {fit}.") from error
    numbers = [*QUANTITIES, *_SECONDS, "memory_mib", "clock_seconds"]
    missing = [column for column in COLUMNS if column not in table]
    if table.empty and not missing:
        missing = ["rows"]
    broken = [column for column in numbers if not missing and not pd.api.types.is_numeric_dtype(table[column])]
    if missing or broken:
        what = f"{(missing or broken)[0]}{' as numbers' if broken else ''}"
        raise UserError(f"{path} lacks {what}, expected a table of measured jobs; {fit}.")
    return table


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Writes measured jobs to `path`; those that are there already stay, unless `table` measures them anew."""
    if path.exists():
        table = pd.concat([read_table(path), table]).drop_duplicates(["scale", "job"], keep="last")
    results.require_writable(path)
    with write_whole(path) as file:
        ordered = table.sort_values(["scale", "job"])[COLUMNS]
        ordered.to_csv(file, index=False, float_format="%.6g", lineterminator="\n")
