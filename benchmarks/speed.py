"""`make benchmark`: the cost of one update of one seed, on one thread, beside a plain Keras DQN in the same run."""

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from tools import require_table, write_table

from dyna_td.errors import UserError, exit_status
from dyna_td.learning.tensorflow_import import import_tensorflow
from dyna_td.runs.registry import settings_type
from dyna_td.runs.run import Run
from dyna_td.settings import ControlSettings

SEEDS = 20
FILL = 50_000  # environment steps that fill the buffer before anything is timed
HOPPER = "Hopper-v4"
GYM_FILL = 1_000  # the same for environments in Python, which are slow
DECISIONS = 600  # in one timed chunk of the roundabout
KERAS_UPDATES = 300  # in one timed chunk of the plain Keras DQN


def case(agent: str, environment: str = "GridWorld", seeds: int = SEEDS, **settings) -> Run:
    """The run that is timed; only the settings that differ from the agent's defaults are named."""
    if environment == HOPPER:
        settings = {"warm_up_steps": GYM_FILL, **settings}
    elif environment != "sin":
        settings = {"planning_updates": 30, "warm_up_steps": FILL, **settings}
    if settings.get("model") == "learned":
        settings["model_start"] = settings["warm_up_steps"]
    # About as many steps after the fill as at the paper's scale: they size the search-control queue.
    return Run(environment, agent, settings_type(environment, agent)(**settings), tuple(range(seeds)), steps=2 * FILL)


CASES = {
    "er": case("er"),
    "prioritized_er": case("prioritized_er"),
    "schaul_prioritized_er": case("schaul_prioritized_er"),
    "full_prioritized_er": case(
        "full_prioritized_er", "MountainCar-v0", planning_updates=10, hidden=(16, 16), buffer_capacity=10_000
    ),
    "dyna_td": case("dyna_td"),
    "dyna_td_learned": case("dyna_td", model="learned"),
    "dyna_value": case("dyna_value"),
    "dyna_frequency": case("dyna_frequency"),
    "ddpg_er": case("er", HOPPER, seeds=5),
    "ddpg_prioritized_er": case("prioritized_er", HOPPER, seeds=5),
    "ddpg_dyna_td": case("dyna_td", HOPPER, seeds=5, model="learned"),
    **{name: case(name, "sin") for name in ("l2", "prioritized_l2", "full_prioritized_l2", "cubic")},
}

SEED_COUNTS = (2, 5, 10, 20)  # Dyna-TD on GridWorld is timed with these


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a line for each case and writes a CSV; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES), help="default: all")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="default: all")
    parser.add_argument("--repeats", type=int, default=7, help="timed chunks of each case (default: 7)")
    parser.add_argument("--output", type=Path, metavar="CSV", help="file for the numbers, a .csv file")
    options = parser.parse_args(arguments)

    def measure_all() -> None:
        require_table(options.output, options.repeats)
        rows = []
        for table in options.tables:
            numbers = TABLES[table](options.repeats, **({"names": options.cases} if table == "cases" else {}))
            rows += [{"table": table, **row} for row in numbers]
        write_table(options.output, rows)

    return exit_status(measure_all)


def measure_cases(repeats: int, names: Sequence[str] = tuple(CASES)) -> Iterator[dict]:
    """A row for each agent, in microseconds for one update of one seed, without compilation."""
    keras = in_new_process(time_keras, repeats)
    print(f"{SEEDS} seeds (5 on {HOPPER}), one thread; microseconds for one update of one seed, without compilation")
    titles = f"{'best':>8}{'median':>8}{'ms a step':>11}{'compile s':>11}{'MiB':>7}{'keras / this':>14}"
    print(f"{'case':22}{'environment':16}{'n':>3}{titles}")

    def show(name: str, environment: str, n, cost: dict, step, ratio: float) -> None:
        times = f"{cost['best']:8.1f}{cost['median']:8.1f}{step:>11.4}"
        memory = f"{cost['compile_seconds']:11.1f}{cost['memory_mib']:7.0f}"
        print(f"{name:22}{environment:16}{n:>3}{times}{memory}{ratio:14.1f}".replace("nan", "  -"), flush=True)

    show("plain Keras, 1 seed", "-", "-", keras, "-", 1.0)
    for name in names:
        run = CASES[name]
        cost = in_new_process(time_case, name, repeats)
        comparable = isinstance(run.settings, ControlSettings) and run.settings.hidden == (32, 32)
        ratio = keras["median"] / cost["median"] if comparable else np.nan
        step = milliseconds_per_step(run, cost)
        show(name, run.environment, updates_per_step(run), cost, step, ratio)
        yield {"case": name, "milliseconds_per_step": step, **cost, "keras_ratio": ratio}


def measure_seeds(repeats: int) -> Iterator[dict]:
    """A row for each number of stacked seeds of Dyna-TD."""
    print("\nDyna-TD on GridWorld: milliseconds per environment step by seeds")
    for seeds in SEED_COUNTS:
        cost = in_new_process(time_case, "dyna_td", repeats, seeds)
        step = milliseconds_per_step(case("dyna_td", seeds=seeds), cost)
        print(f"{seeds:8}{step:10.2f}", flush=True)
        yield {"case": seeds, "milliseconds_per_step": step, **cost}


def measure_roundabout(repeats: int) -> Iterator[dict]:
    """Decisions of one roundabout, of 20 together, and of highway-env's own with the same configuration, in turn."""
    from dyna_td.envs.roundabout import Roundabout
    from highway_env.envs.roundabout_env import RoundaboutEnv

    configuration = Roundabout.default_config()
    del configuration["other_vehicles_type"]  # the only part that is ours
    environments = {
        "roundabout": [Roundabout()],
        "20 together": [Roundabout() for _ in range(20)],
        "highway_env": [RoundaboutEnv(configuration)],
    }
    times = {name: time_chunks(partial(drive, built), DECISIONS, repeats)[1] for name, built in environments.items()}
    print("\nroundabout: milliseconds per decision of one environment")
    for name, value in times.items():
        print(f"{name:>14}{value / 1e3:8.2f}{times['highway_env'] / value:8.1f} times highway-env's own speed")
        yield {"case": name, "milliseconds_per_step": value / 1e3}


TABLES = {"cases": measure_cases, "seeds": measure_seeds, "roundabout": measure_roundabout}


def updates_per_step(run: Run) -> int:
    """Parameter updates of one seed in a step of the program."""
    return getattr(run.settings, "planning_updates", 1)


def milliseconds_per_step(run: Run, cost: dict) -> float:
    """The cost of an environment step of all seeds, from the median cost of one seed's update."""
    return cost["median"] * updates_per_step(run) * len(run.seeds) / 1e3


def in_new_process(function: Callable, *arguments):
    """The result of `function` in a new process: its memory and compilation are its own.

    Raises:
      UserError: if the process is killed.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        try:
            return executor.submit(_quietly, function, *arguments).result()
        except BrokenProcessPool as error:
            raise UserError("a measurement was killed, perhaps for lack of memory: try fewer --cases.") from error


def _quietly(function: Callable, *arguments):
    import_tensorflow()
    return function(*arguments)


def time_case(name: str, repeats: int, seeds: int = 0) -> dict[str, float]:
    """Times of a case in this process: microseconds of one update of one seed, compilation, peak memory.

    A name crosses between processes; composed settings cannot. `seeds` replaces the case's own number, unless 0.
    """
    run = replace(CASES[name], seeds=tuple(range(seeds))) if seeds else CASES[name]
    begun = time.perf_counter()
    import tensorflow as tf

    from dyna_td.programs.program import make_program

    program = make_program(run)
    program.compile(measures=False)
    compile_seconds = time.perf_counter() - begun
    slow = run.agent.startswith("full") or run.agent == "cubic"
    steps = max(10, 1500 // updates_per_step(run) // (10 if slow else 1))

    def train(count: int) -> None:
        program.train(tf.constant(count))
        program.step.numpy()

    train(getattr(run.settings, "warm_up_steps", 0))  # fills the buffer
    best, median = time_chunks(partial(train, steps), steps * updates_per_step(run) * len(run.seeds), repeats)
    return {"best": best, "median": median, "compile_seconds": compile_seconds, "memory_mib": peak_memory_mib()}


def time_keras(repeats: int) -> dict[str, float]:
    """See `time_case`, for the plain Keras DQN with one seed."""
    begun = time.perf_counter()
    from keras_dqn import KerasDQN

    learn = KerasDQN().learn
    learn(1)
    compile_seconds = time.perf_counter() - begun
    best, median = time_chunks(partial(learn, KERAS_UPDATES), KERAS_UPDATES, repeats)
    return {"best": best, "median": median, "compile_seconds": compile_seconds, "memory_mib": peak_memory_mib()}


def drive(environments: list) -> None:
    """Makes `DECISIONS` random decisions, divided among the environments."""
    draws = np.random.default_rng(0).integers(5, size=(DECISIONS // len(environments), len(environments)))
    for seed, environment in enumerate(environments):
        environment.reset(seed=seed)
    for actions in draws.tolist():
        if len(environments) > 1:
            environments[0].drive_ahead(environments, actions)
        for environment, action in zip(environments, actions, strict=True):
            *_, terminated, truncated, _ = environment.step(action)
            if terminated or truncated:
                environment.reset()


def time_chunks(work: Callable[[], None], count: int, repeats: int) -> tuple[float, float]:
    """Best and median microseconds of `repeats` calls, divided by `count`, after one more call to warm up."""
    seconds = []
    for _ in range(repeats + 1):
        begun = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begun)
    seconds = sorted(seconds[1:])
    return seconds[0] / count * 1e6, seconds[len(seconds) // 2] / count * 1e6


def peak_memory_mib() -> float:
    """The most memory that this process has held, most of it TensorFlow."""
    from dyna_td.training.log import peak_memory_bytes

    return peak_memory_bytes() / 2**20


if __name__ == "__main__":
    sys.exit(main())
