"""Seed streams: every random number is a pure function of (seed, purpose, step, inner step).

A draw is independent of earlier draws and of the program's other seeds. So seed k's numbers are the same alone or among
fifty, even where a loop runs until its slowest seed is done.
"""

import enum

import tensorflow as tf

from dyna_td.errors import UserError

# A key is two words of 32 bits: seed and inner step share the first, step and purpose the second. XLA silently drops
# higher bits, so a larger step would repeat earlier draws.
SEEDS = 2**20
_INNER_STEPS = 2**12
STEPS = 2**26 - 1
_PURPOSES = 2**6


class Purpose(enum.IntEnum):
    """The purpose of a draw. The values are part of the results: never renumber them.

    Values from 27 to 59 are free for users' own agents.
    """

    WEIGHTS = 0
    TRAINING_INPUTS = 1
    TRAINING_NOISE = 2
    TEST_INPUTS = 3
    RESET = 4
    EXPLORE = 5
    ENVIRONMENT = 6
    UNIFORM_BATCH = 7
    PRIORITIZED_BATCH = 8
    EVALUATION_RESET = 9
    EVALUATION_EXPLORE = 10
    EVALUATION_ENVIRONMENT = 11
    MODEL_BATCH = 12
    CHAIN_NOISE = 13
    CHAIN_START = 14
    CHAIN_MODEL = 15
    CHAIN_CRITERION = 16  # a random criterion: Dyna-Frequency's coin, an ablation's sign or direction
    SIMULATED_STATES = 17
    SIMULATED_EXPLORE = 18
    SIMULATED_ENVIRONMENT = 19
    IDEAL_ENVIRONMENT = 20
    IDEAL_DRAWS = 21
    OWN_DRAWS = 22
    BUFFER_DRAWS = 23
    RECENT_DRAWS = 24
    CHAIN_RESTART = 25  # Dyna-Frequency's starts and restarts from the queue
    EXPLORE_NOISE = 26
    FROZEN_IDEAL_STATES = 60
    FROZEN_UNIFORM_STATES = 61
    FROZEN_CHAIN_STARTS = 62
    FROZEN_CHAIN_NOISE = 63


class Streams:
    """The random streams of S seeds.

    Args:
      seeds: S whole numbers below `SEEDS`; equal ones draw the same. Steps stay below `STEPS`, inner steps below 4096.

    Raises:
      UserError: for a seed out of range.
    """

    def __init__(self, seeds: tuple[int, ...]):
        if not all(0 <= seed < SEEDS for seed in seeds):
            raise UserError(f"seeds are {seeds}, expected whole numbers from 0 to {SEEDS - 1}.")
        self.count = len(seeds)
        # [S]; a variable, so that runs with other seeds share the compiled program.
        self._seeds = tf.Variable(seeds, dtype=tf.int64, trainable=False)

    def uniform(self, purpose: int, shape: tuple[int, ...], step=0, inner=0) -> tf.Tensor:
        """Draws from U[0, 1): float32 [S, *shape]."""
        # Floats are made from bits, because TensorFlow's own differ inside and outside a compiled program.
        bits = self._draw(
            lambda key: tf.random.stateless_uniform(shape, key, None, None, tf.uint32), tf.uint32, purpose, step, inner
        )
        return tf.cast(tf.bitwise.right_shift(bits, tf.constant(8, tf.uint32)), tf.float32) * 2.0**-24

    def normal(self, purpose: int, shape: tuple[int, ...], step=0, inner=0) -> tf.Tensor:
        """Draws from N(0, 1): float32 [S, *shape]; only for compiled programs, because eager numbers differ."""
        if 0 in shape:  # a space without noise
            return tf.zeros([self.count, *shape])
        return self._draw(lambda key: tf.random.stateless_normal(shape, key), tf.float32, purpose, step, inner)

    def integers(self, purpose: int, shape: tuple[int, ...], high, step=0, inner=0) -> tf.Tensor:
        """Draws uniformly from {0, ..., high - 1}: int32 [S, *shape]; `high` > 0 is a scalar or [S]."""
        high = tf.broadcast_to(tf.cast(high, tf.int32), [self.count])
        return self._draw(
            lambda key, high: tf.random.stateless_uniform(shape, key, 0, high, tf.int32),
            tf.int32,
            purpose,
            step,
            inner,
            high,
        )

    def _draw(self, draw, dtype, purpose, step, inner, *by_seed) -> tf.Tensor:
        first = self._seeds * _INNER_STEPS + tf.cast(inner, tf.int64)  # [S]
        second = (tf.cast(step, tf.int64) + 1) * _PURPOSES + int(purpose)  # step -1 is before the first step
        # map_fn compiles to a small loop over the seeds, at no measured cost; vectorized_map tripled a step's time.
        return tf.map_fn(
            lambda parts: draw(tf.stack([parts[0], second]), *parts[1:]), (first, *by_seed), fn_output_signature=dtype
        )
