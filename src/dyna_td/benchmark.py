"""`make benchmark`: what one update of one seed costs, on one thread, beside a plain Keras DQN in the same run."""

import argparse
import time
from collections.abc import Callable, Sequence

from dyna_td.errors import UserError
from dyna_td.runs import ControlSettings, RegressionSettings, Run

SEEDS = 20
FILL = 50_000  # environment steps that fill the buffer before anything is timed
UPDATES = 30  # n, mini-batch updates an environment step
KERAS_UPDATES = 300  # of the plain Keras DQN in one timed chunk
CASES = {
    "er": ("GridWorld", ControlSettings(planning_updates=UPDATES, warm_up_steps=FILL)),
    "prioritized_er": ("GridWorld", ControlSettings(planning_updates=UPDATES, warm_up_steps=FILL)),
    "schaul_prioritized_er": ("GridWorld", ControlSettings(planning_updates=UPDATES, warm_up_steps=FILL)),
    "full_prioritized_er": (
        "MountainCar-v0",
        ControlSettings(planning_updates=10, warm_up_steps=FILL, hidden=(16, 16), buffer_capacity=10_000),
    ),
    "l2": ("sin", RegressionSettings()),
    "prioritized_l2": ("sin", RegressionSettings()),
    "full_prioritized_l2": ("sin", RegressionSettings()),
    "cubic": ("sin", RegressionSettings()),
}


def main(arguments: Sequence[str] = ()) -> None:
    """Prints one line a case: microseconds per seed-update (best and median of the chunks), and the ratio to Keras."""
    parser = argparse.ArgumentParser(prog="python -m dyna_td benchmark", description=__doc__)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="default: all")
    parser.add_argument("--repeats", type=int, default=7, help="timed chunks of each case (default: 7)")
    options = parser.parse_args(arguments)
    if options.repeats < 1:
        raise UserError(f"--repeats is {options.repeats}, expected at least 1.")

    keras_seconds = _time(*keras_dqn(), options.repeats)
    print(f"{SEEDS} seeds, one thread; compilation excluded; microseconds per seed-update")
    print(f"{'case':24}{'environment':16}{'n':>4}{'best':>10}{'median':>10}{'keras / this':>14}")
    print(f"{'plain Keras DQN, 1 seed':24}{'-':16}{'-':>4}{keras_seconds[0]:10.1f}{keras_seconds[1]:10.1f}{1:14.1f}")
    for name in options.cases:
        environment, settings = CASES[name]
        updates = getattr(settings, "planning_updates", 1)
        best, median = _time(*_program(name, environment, settings), options.repeats)
        comparable = isinstance(settings, ControlSettings) and settings.hidden == (32, 32)
        ratio = f"{keras_seconds[1] / median:14.1f}" if comparable else f"{'-':>14}"
        print(f"{name:24}{environment:16}{updates:4}{best:10.1f}{median:10.1f}{ratio}", flush=True)


def _program(agent: str, environment: str, settings) -> tuple[Callable[[], None], int]:
    """A function that trains some steps of all seeds, and its number of seed-updates; warm-up is already done."""
    import tensorflow as tf

    from dyna_td.training import make_program

    updates = getattr(settings, "planning_updates", 1)
    steps = max(10, 1500 // updates // (10 if agent.startswith("full") or agent == "cubic" else 1))
    # `steps` of the run sizes the buffer: as large as in a paper-scale run, and the tree as deep.
    program = make_program(Run(environment, agent, settings, tuple(range(SEEDS)), steps=50_000))
    program.train(tf.constant(getattr(settings, "warm_up_steps", 0)))

    def train() -> None:
        program.train(tf.constant(steps))
        program.step.numpy()

    return train, steps * updates * SEEDS


def _time(train: Callable[[], None], seed_updates: int, repeats: int) -> tuple[float, float]:
    """Best and median microseconds per seed-update, after one call that is not counted."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        train()
        seconds.append(time.perf_counter() - start)
    seconds = sorted(seconds[1:])
    return seconds[0] / seed_updates * 1e6, seconds[len(seconds) // 2] / seed_updates * 1e6


def keras_dqn() -> tuple[Callable[[], None], int]:
    """Updates of an ordinary Keras DQN of the same size, one seed, one `tf.function`; and how many they are."""
    import keras
    import numpy as np
    import tensorflow as tf

    def network():
        layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(32, activation="relu")]
        return keras.Sequential([keras.Input((2,)), *layers, keras.layers.Dense(4)])

    rng = np.random.default_rng(0)
    buffer = {
        "state": rng.random((50_000, 2), dtype=np.float32),
        "action": rng.integers(0, 4, 50_000, dtype=np.int32),
        "reward": -np.ones(50_000, np.float32),
        "next_state": rng.random((50_000, 2), dtype=np.float32),
        "terminated": np.zeros(50_000, np.float32),
    }
    q, q_target = network(), network()
    optimizer = keras.optimizers.Adam(1e-3)

    @tf.function
    def update(state, action, reward, next_state, terminated):
        target = reward + 0.99 * (1.0 - terminated) * tf.reduce_max(q_target(next_state), axis=1)
        with tf.GradientTape() as tape:
            value = tf.gather(q(state), action, axis=1, batch_dims=1)
            loss = tf.reduce_mean((target - value) ** 2)
        gradients = tape.gradient(loss, q.trainable_variables)
        optimizer.apply_gradients(zip(gradients, q.trainable_variables, strict=True))

    def train() -> None:
        for _ in range(KERAS_UPDATES):
            places = rng.integers(0, 50_000, 32)
            update(*(tf.constant(values[places]) for values in buffer.values()))

    return train, KERAS_UPDATES
