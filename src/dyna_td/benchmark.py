"""`make benchmark`: what one update of one seed costs, on one thread, beside a plain Keras DQN in the same run."""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pandas as pd

from dyna_td import results
from dyna_td.catalog import settings_type
from dyna_td.errors import UserError
from dyna_td.files import write_whole
from dyna_td.quietly import import_quietly
from dyna_td.runs import ControlSettings, Run, Settings

SEEDS = 20
FILL = 50_000  # environment steps that fill the buffer before anything is timed
HOPPER = "Hopper-v4"
GYM_FILL = 1_000  # the same where environments run in Python, which takes a while
DECISIONS = 600  # of the roundabout in one timed chunk
KERAS_UPDATES = 300  # of the plain Keras DQN in one timed chunk


@dataclass(frozen=True)
class Case:
    """One line of the table: an agent with all but its settings' defaults named."""

    agent: str
    environment: str
    settings: Settings
    seeds: int = SEEDS

    @property
    def updates(self) -> int:
        """Parameter updates of one seed in a step of the program."""
        return getattr(self.settings, "planning_updates", 1)


def _case(agent: str, environment: str, seeds: int = SEEDS, **settings) -> Case:
    if environment == HOPPER:
        settings = {"warm_up_steps": GYM_FILL, **settings}
    elif environment != "sin":
        settings = {"planning_updates": 30, "warm_up_steps": FILL, **settings}
    if settings.get("model") == "learned":
        settings["model_start"] = settings["warm_up_steps"]
    return Case(agent, environment, settings_type(environment, agent)(**settings), seeds)


CASES = {
    "er": _case("er", "GridWorld"),
    "prioritized_er": _case("prioritized_er", "GridWorld"),
    "schaul_prioritized_er": _case("schaul_prioritized_er", "GridWorld"),
    "full_prioritized_er": _case(
        "full_prioritized_er", "MountainCar-v0", planning_updates=10, hidden=(16, 16), buffer_capacity=10_000
    ),
    "dyna_td": _case("dyna_td", "GridWorld"),
    "dyna_td_learned": _case("dyna_td", "GridWorld", model="learned"),
    "dyna_value": _case("dyna_value", "GridWorld"),
    "dyna_frequency": _case("dyna_frequency", "GridWorld"),
    "ddpg_er": _case("er", HOPPER, seeds=5),
    "ddpg_prioritized_er": _case("prioritized_er", HOPPER, seeds=5),
    "ddpg_dyna_td": _case("dyna_td", HOPPER, seeds=5, model="learned"),
    "l2": _case("l2", "sin"),
    "prioritized_l2": _case("prioritized_l2", "sin"),
    "full_prioritized_l2": _case("full_prioritized_l2", "sin"),
    "cubic": _case("cubic", "sin"),
}

# How Dyna-TD's cost grows, one quantity at a time. Chains are compared on Acrobot, where they use all their steps; on
# GridWorld they have their m states after about 25.
SCALING = {
    "seeds": {seeds: _case("dyna_td", "GridWorld", seeds=seeds) for seeds in (2, 5, 10, 20)},
    "planning_updates": {n: _case("dyna_td", "GridWorld", planning_updates=n) for n in (5, 10, 30)},
    "chain_steps": {k: _case("dyna_td", "Acrobot-v1", planning_updates=10, chain_steps=k) for k in (10, 30, 100, 300)},
}


def main(arguments: Sequence[str] = ()) -> None:
    """Prints one line a case, best and median of the timed chunks, and the ratio to Keras; then how costs grow.

    With `--output`, the same numbers go to a CSV file.
    """
    parser = argparse.ArgumentParser(prog="python -m dyna_td benchmark", description=__doc__)
    parser.add_argument("--cases", nargs="*", choices=list(CASES), default=list(CASES), help="default: all")
    scaling_help = "also measure how Dyna-TD's cost grows with these (default: all)"
    parser.add_argument("--scaling", nargs="*", choices=list(SCALING), default=list(SCALING), help=scaling_help)
    parser.add_argument("--repeats", type=int, default=7, help="timed chunks of each case (default: 7)")
    parser.add_argument("--output", type=Path, metavar="CSV", help="file for the numbers, a .csv file")
    options_help = "what else to measure (default: all)"
    parser.add_argument("--also", nargs="*", choices=list(_ALSO), default=list(_ALSO), help=options_help)
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        raise UserError(f"--repeats is {options.repeats}, expected at least 1.")
    if options.output:
        results.require_writable(options.output)

    rows = [*_measure_cases(options.cases, options.repeats), *_measure_scaling(options.scaling, options.repeats)]
    for name in options.also:
        rows += _ALSO[name](options.repeats)
    if options.output:
        with write_whole(options.output) as file:
            pd.DataFrame(rows).to_csv(file, index=False, float_format="%.4g", lineterminator="\n")


def _measure_cases(names: Sequence[str], repeats: int) -> Iterator[dict]:
    keras = _time(_train_keras(), KERAS_UPDATES, repeats)
    print(f"{SEEDS} seeds (5 on {HOPPER}), one thread; without compilation; microseconds per update of one seed")
    print(f"{'case':24}{'environment':16}{'n':>4}{'best':>10}{'median':>10}{'ms per step':>13}{'keras / this':>14}")
    print(f"{'plain Keras DQN, 1 seed':24}{'-':16}{'-':>4}{keras[0]:10.1f}{keras[1]:10.1f}{'-':>13}{1:14.1f}")
    for name in names:
        case = CASES[name]
        best, median = _time(*_program(case), repeats)
        step = median * case.updates * case.seeds / 1e3
        comparable = isinstance(case.settings, ControlSettings) and case.settings.hidden == (32, 32)
        ratio = f"{keras[1] / median:14.1f}" if comparable else f"{'-':>14}"
        print(
            f"{name:24}{case.environment:16}{case.updates:4}{best:10.1f}{median:10.1f}{step:13.2f}{ratio}", flush=True
        )
        yield {"table": "cases", "case": name, "microseconds_per_update": median, "milliseconds_per_step": step}


def _measure_scaling(names: Sequence[str], repeats: int) -> Iterator[dict]:
    for name in names:
        environment = next(iter(SCALING[name].values())).environment
        print(f"\nDyna-TD on {environment}: milliseconds per environment step by {name}")
        for value, case in SCALING[name].items():
            step = _time(*_program(case), repeats)[1] * case.updates * case.seeds / 1e3
            print(f"{value:8}{step:10.2f}", flush=True)
            yield {"table": name, "case": value, "milliseconds_per_step": step}


def _measure_step(repeats: int) -> Iterator[dict]:
    """Where the time of an environment step in Gymnasium goes: DDPG with ER on Hopper, 5 seeds, n = 5."""
    import tensorflow as tf

    from dyna_td.training import make_program

    settings = settings_type(HOPPER, "er")(warm_up_steps=300 * (repeats + 2))
    program = make_program(Run(HOPPER, "er", settings, tuple(range(5)), steps=50_000))
    program.train(tf.constant(100))

    def step_environments() -> None:
        for _ in range(100):
            program.step_environments(0)

    milliseconds = {"environments": _time(step_environments, 100, repeats)[1] / 1e3}
    milliseconds["call"] = _time(lambda: program.train(tf.constant(100)), 100, repeats)[1] / 1e3
    program.train(tf.constant(settings.warm_up_steps - int(program.step)))
    milliseconds["learning"] = _time(lambda: program.train(tf.constant(100)), 100, repeats)[1] / 1e3
    milliseconds["learning"] -= milliseconds["call"]
    milliseconds["call"] -= milliseconds["environments"]  # warming up: store and act, without an update
    print("\nDDPG with ER on Hopper, 5 seeds, n = 5: milliseconds per environment step")
    for part, value in milliseconds.items():
        print(f"{part:>14}{value:8.2f}")
        yield {"table": "hopper_step", "case": part, "milliseconds_per_step": value}


def _measure_roundabout(repeats: int) -> Iterator[dict]:
    """Decisions of the roundabout, and of highway-env's own with the same configuration, one after the other."""
    import numpy as np
    from highway_env.envs.roundabout_env import RoundaboutEnv

    from envs.roundabout import Roundabout

    configuration = Roundabout.default_config()
    del configuration["other_vehicles_type"]  # the one thing in it that is ours
    environments = {"roundabout": Roundabout(), "highway_env": RoundaboutEnv(configuration)}

    def drive(environment) -> Callable[[], None]:
        def decide() -> None:
            actions = np.random.default_rng(0).integers(5, size=DECISIONS)
            environment.reset(seed=0)
            for action in actions:
                *_, terminated, truncated, _ = environment.step(int(action))
                if terminated or truncated:
                    environment.reset()

        return decide

    times = {name: _time(drive(environment), DECISIONS, repeats)[1] / 1e3 for name, environment in environments.items()}
    print("\nroundabout: milliseconds per decision of one environment")
    for name, value in times.items():
        print(f"{name:>14}{value:8.2f}{times['highway_env'] / value:8.1f} times highway-env's own speed")
        yield {"table": "roundabout", "case": name, "milliseconds_per_step": value}


_ALSO = {"hopper_step": _measure_step, "roundabout": _measure_roundabout}


def _program(case: Case) -> tuple[Callable[[], None], int]:
    """A function that trains some steps of all seeds, and its number of seed-updates; warm-up is already done."""
    import tensorflow as tf

    from dyna_td.training import make_program

    slow = case.agent.startswith("full") or case.agent == "cubic"
    steps = max(10, 1500 // case.updates // (10 if slow else 1))
    # `steps` of the run sizes the buffer: as large as in a paper-scale run, and the tree as deep.
    warm_up = getattr(case.settings, "warm_up_steps", 0)
    settings = replace(case.settings, warm_up_steps=5_000) if warm_up else case.settings  # sizes the queue
    run = Run(case.environment, case.agent, settings, tuple(range(case.seeds)), steps=50_000)
    program = make_program(run)
    program.settings = case.settings  # read when `train` is compiled
    program.train(tf.constant(warm_up))

    def train() -> None:
        program.train(tf.constant(steps))
        program.step.numpy()

    return train, steps * case.updates * case.seeds


def _time(train: Callable[[], None], seed_updates: int, repeats: int) -> tuple[float, float]:
    """Best and median microseconds per seed-update, after one call that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        train()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[1:])
    return seconds[0] / seed_updates * 1e6, seconds[len(seconds) // 2] / seed_updates * 1e6


def _train_keras() -> Callable[[], None]:
    """A function that trains the plain Keras DQN, one seed, by `KERAS_UPDATES`."""
    return partial(import_quietly("dyna_td.keras_dqn").KerasDQN().learn, KERAS_UPDATES)
