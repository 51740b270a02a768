"""`make benchmark`: what one update of one seed costs, on one thread, beside a plain Keras DQN in the same run."""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.errors import UserError
from dyna_td.pipeline.arguments import Parser
from dyna_td.pipeline.files import require_writable, write_whole
from dyna_td.pipeline.quiet_import import import_quietly
from dyna_td.registry import settings_type
from dyna_td.settings import ControlSettings, Run, Settings

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
    "seeds": {seeds: _case("dyna_td", "GridWorld", seeds=seeds) for seeds in (1, 2, 5, 10, 20, 50)},
    "planning_updates": {n: _case("dyna_td", "GridWorld", planning_updates=n) for n in (5, 10, 20, 30)},
    "hidden": {width: _case("dyna_td", "GridWorld", hidden=(width, width)) for width in (16, 32, 64, 128)},
    "chain_steps": {k: _case("dyna_td", "Acrobot-v1", planning_updates=10, chain_steps=k) for k in (10, 30, 100, 300)},
}


@dataclass(frozen=True)
class Measurement:
    """What training a case costs.

    Attributes:
      best: microseconds of one update of one seed in the fastest timed chunk.
      median: the same, of the median chunk.
      compile_seconds: until all that training calls is compiled, in a process that has imported TensorFlow.
      memory_mib: the process's peak, most of it TensorFlow.
      operations: multiplications and additions in the matrix products of one update of one seed.
      product_microseconds: that this machine needs for those products at best.
    """

    best: float
    median: float
    compile_seconds: float
    memory_mib: float
    operations: float = np.nan
    product_microseconds: float = np.nan

    @property
    def gigaflops(self) -> float:
        """Billions of operations of the updates' products in a second of training."""
        return self.operations / self.median / 1e3

    @property
    def product_share(self) -> float:
        """The share of the training time that the updates' products would need at best."""
        return self.product_microseconds / self.median


def main(arguments: Sequence[str] = ()) -> None:
    """Prints one line a case, each measured in a process of its own; then how costs grow.

    With `--output`, the same numbers go to a CSV file.
    """
    parser = Parser(prog="python -m dyna_td benchmark", description=__doc__, allow_abbrev=False)
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
        require_writable(options.output)

    rows = [*_measure_cases(options.cases, options.repeats), *_measure_scaling(options.scaling, options.repeats)]
    for name in options.also:
        rows += _ALSO[name](options.repeats)
    if options.output:
        with write_whole(options.output) as file:
            pd.DataFrame(rows).to_csv(file, index=False, float_format="%.4g", lineterminator="\n")


def _measure_cases(names: Sequence[str], repeats: int) -> Iterator[dict]:
    keras = _in_new_process(_measure_keras, repeats)
    print(
        f"{SEEDS} seeds (5 on {HOPPER}), one thread; microseconds per update of one seed, without compilation; of the"
    )
    print("updates' matrix products: GFLOP/s, and the share of the time that they would take at this machine's best")
    print(
        f"{'case':22}{'environment':16}{'n':>3}{'best':>8}{'median':>8}{'ms a step':>11}{'GFLOP/s':>9}{'share':>7}"
        f"{'compile s':>11}{'MiB':>7}{'keras / this':>14}"
    )
    print(
        f"{'plain Keras, 1 seed':22}{'-':16}{'-':>3}{keras.best:8.1f}{keras.median:8.1f}{'-':>11}{'-':>9}{'-':>7}",
        end="",
    )
    print(f"{keras.compile_seconds:11.1f}{keras.memory_mib:7.0f}{1:14.1f}", flush=True)
    for name in names:
        case = CASES[name]
        cost = _in_new_process(_measure_case, case, repeats, True)
        step = cost.median * case.updates * case.seeds / 1e3
        comparable = isinstance(case.settings, ControlSettings) and case.settings.hidden == (32, 32)
        ratio = keras.median / cost.median if comparable else np.nan
        print(
            f"{name:22}{case.environment:16}{case.updates:3}{cost.best:8.1f}{cost.median:8.1f}{step:11.2f}"
            f"{cost.gigaflops:9.0f}{cost.product_share:7.0%}{cost.compile_seconds:11.1f}{cost.memory_mib:7.0f}"
            f"{ratio:14.1f}".replace("nan", "  -"),
            flush=True,
        )
        derived = {"gigaflops": cost.gigaflops, "product_share": cost.product_share, "keras_ratio": ratio}
        yield {"table": "cases", "case": name, "milliseconds_per_step": step, **asdict(cost), **derived}


def _measure_scaling(names: Sequence[str], repeats: int) -> Iterator[dict]:
    for name in names:
        cases = SCALING[name]
        print(f"\nDyna-TD on {next(iter(cases.values())).environment}: milliseconds per environment step by {name}")
        steps = {}
        for value, case in cases.items():
            cost = _in_new_process(_measure_case, case, repeats)
            steps[value] = cost.median * case.updates * case.seeds / 1e3
            print(f"{value:8}{steps[value]:10.2f}", flush=True)
            yield {"table": name, "case": value, "milliseconds_per_step": steps[value], **asdict(cost)}
        print(fitted_curve(name, list(steps), list(steps.values()))[0])


def fitted_curve(
    name: str, values: Sequence[float], milliseconds: Sequence[float]
) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
    """A line through costs, whose relative errors are least in the mean square: as a formula, and as a function.

    Args:
      name: one of `SCALING`; the costs of networks are a line in the square of their width.
      values: of that quantity.
      milliseconds: what an environment step costs with each.
    """
    power, symbol = (2, "x²") if name == "hidden" else (1, "x")
    milliseconds = np.asarray(milliseconds, float)
    slope, intercept = np.polyfit(np.asarray(values, float) ** power, milliseconds, 1, w=1 / milliseconds)
    return f"{intercept:.2f} + {slope:.3g} {symbol}", lambda values: intercept + slope * values**power


def _measure_step(repeats: int) -> list[dict]:
    """Where the time of an environment step in Gymnasium goes: DDPG with ER on Hopper, 5 seeds, n = 5."""
    return _in_new_process(_step_parts, repeats)


def _step_parts(repeats: int) -> list[dict]:
    import tensorflow as tf

    from dyna_td.training.trainer import make_program

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
        print(f"{part:>14}{value:8.2f}", flush=True)
    return [
        {"table": "hopper_step", "case": part, "milliseconds_per_step": value} for part, value in milliseconds.items()
    ]


def _measure_roundabout(repeats: int) -> Iterator[dict]:
    """Decisions of one roundabout, of 20 together, and of highway-env's own with the same configuration, in turn."""
    from highway_env.envs.roundabout_env import RoundaboutEnv

    from envs.roundabout import Roundabout

    configuration = Roundabout.default_config()
    del configuration["other_vehicles_type"]  # the one thing in it that is ours
    environments = {
        "roundabout": [Roundabout()],
        "20 together": [Roundabout() for _ in range(20)],
        "highway_env": [RoundaboutEnv(configuration)],
    }

    def drive(alike: list) -> Callable[[], None]:
        def decide() -> None:
            draws = np.random.default_rng(0).integers(5, size=(DECISIONS // len(alike), len(alike)))
            for seed, environment in enumerate(alike):
                environment.reset(seed=seed)
            for actions in draws.tolist():
                if len(alike) > 1:
                    alike[0].drive_ahead(alike, actions)
                for environment, action in zip(alike, actions, strict=True):
                    *_, terminated, truncated, _ = environment.step(action)
                    if terminated or truncated:
                        environment.reset()

        return decide

    times = {name: _time(drive(alike), DECISIONS, repeats)[1] / 1e3 for name, alike in environments.items()}
    print("\nroundabout: milliseconds per decision of one environment")
    for name, value in times.items():
        print(f"{name:>14}{value:8.2f}{times['highway_env'] / value:8.1f} times highway-env's own speed")
        yield {"table": "roundabout", "case": name, "milliseconds_per_step": value}


_ALSO = {"hopper_step": _measure_step, "roundabout": _measure_roundabout}


def _in_new_process(function: Callable, *arguments):
    """What `function` returns in a new process, whose memory and compilation are therefore its own.

    Raises:
      UserError: if the process is killed.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        try:
            return executor.submit(_quietly, function, *arguments).result()
        except BrokenProcessPool as error:
            raise UserError("a measurement was killed, perhaps for want of memory: try fewer --cases.") from error


def _quietly(function: Callable, *arguments):
    import_quietly("tensorflow")
    return function(*arguments)


def _measure_case(case: Case, repeats: int, with_products: bool = False) -> Measurement:
    """Times a case, in this process."""
    begun = time.perf_counter()
    program, train, updates = _program(case)
    compile_seconds = time.perf_counter() - begun
    _warm_up(program, case)
    cost = Measurement(*_time(train, updates, repeats), compile_seconds, _peak_memory_mib())
    return replace(cost, **_measure_products(program, case)) if with_products else cost


def _measure_products(program, case: Case) -> dict[str, float]:
    """The last two attributes of a case's `Measurement`; search control and the model are no part of an update."""
    import tensorflow as tf

    from dyna_td.learning.xla import xla_function
    from dyna_td.products import best_seconds, products_of

    step, k = tf.constant(1, tf.int64), tf.constant(0)
    if case.environment == "sin":
        products = products_of(xla_function(program.learner.update), step)
    else:
        products = products_of(xla_function(program.agent.update), step, k)
    operations = sum(product.operations * count for product, count in products.items())
    seconds = sum(best_seconds(product) * count for product, count in products.items())
    return {"operations": operations / case.seeds, "product_microseconds": seconds / case.seeds * 1e6}


def _program(case: Case) -> tuple[object, Callable[[], None], int]:
    """A compiled program, a function that trains some steps of all seeds, and its number of seed-updates."""
    import tensorflow as tf

    from dyna_td.training.trainer import make_program

    slow = case.agent.startswith("full") or case.agent == "cubic"
    steps = max(10, 1500 // case.updates // (10 if slow else 1))
    # As many steps after those that fill it as in a paper-scale run: they size the search-control queue.
    run = Run(case.environment, case.agent, case.settings, tuple(range(case.seeds)), steps=2 * FILL)
    program = make_program(run)
    program.compile(measures=False)

    def train() -> None:
        program.train(tf.constant(steps))
        program.step.numpy()

    return program, train, steps * case.updates * case.seeds


def _warm_up(program, case: Case) -> None:
    """Fills the buffer."""
    import tensorflow as tf

    program.train(tf.constant(getattr(case.settings, "warm_up_steps", 0)))
    program.step.numpy()


def _time(train: Callable[[], None], seed_updates: int, repeats: int) -> tuple[float, float]:
    """Best and median microseconds per seed-update, after one call that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        train()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[1:])
    return seconds[0] / seed_updates * 1e6, seconds[len(seconds) // 2] / seed_updates * 1e6


def _measure_keras(repeats: int) -> Measurement:
    """Times the plain Keras DQN, one seed, in this process."""
    begun = time.perf_counter()
    learn = import_quietly("dyna_td.keras_dqn").KerasDQN().learn
    learn(1)
    compile_seconds = time.perf_counter() - begun
    times = _time(partial(learn, KERAS_UPDATES), KERAS_UPDATES, repeats)
    return Measurement(*times, compile_seconds, _peak_memory_mib())


def _peak_memory_mib() -> float:
    from dyna_td.training.trainer import peak_memory_bytes

    return peak_memory_bytes() / 2**20
