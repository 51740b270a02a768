"""Seed streams: every random number is a pure function of (seed, purpose, step, inner step).

No draw depends on how many draws were made before it, nor on which other seeds share the program. A loop that runs
until its slowest seed is done therefore shifts nobody's stream, and seed k's numbers are the same alone or among fifty.
"""

import enum

import tensorflow as tf

_INNER_STEPS = 2**24  # draws of one purpose within one step; steps stay below 2**39


class Purpose(enum.IntEnum):
    """What a draw is for. The values are part of the results: never renumber them."""

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


class Streams:
    """The random streams of S seeds.

    Args:
      seeds: S distinct whole numbers from 0 to 2**31 - 1.
    """

    def __init__(self, seeds: tuple[int, ...]):
        self.count = len(seeds)
        self._seeds = tf.constant(seeds, tf.int64)  # [S]

    def uniform(self, purpose: Purpose, shape: tuple[int, ...], step=0, inner=0) -> tf.Tensor:
        """Draws from U[0, 1): float32 [S, *shape]."""
        # From the bits, because TensorFlow's own uniform floats differ inside and outside a compiled program.
        bits = self._draw(
            lambda key: tf.random.stateless_uniform(shape, key, None, None, tf.uint32), tf.uint32, purpose, step, inner
        )
        return tf.cast(tf.bitwise.right_shift(bits, tf.constant(8, tf.uint32)), tf.float32) * 2.0**-24

    def normal(self, purpose: Purpose, shape: tuple[int, ...], step=0, inner=0) -> tf.Tensor:
        """Draws from N(0, 1): float32 [S, *shape]; call it in compiled programs, outside the numbers are others."""
        return self._draw(lambda key: tf.random.stateless_normal(shape, key), tf.float32, purpose, step, inner)

    def integers(self, purpose: Purpose, shape: tuple[int, ...], high, step=0, inner=0) -> tf.Tensor:
        """Draws uniformly from {0, ..., high - 1}: int32 [S, *shape]; `high` may be a scalar tensor."""
        high = tf.cast(high, tf.int32)
        return self._draw(
            lambda key: tf.random.stateless_uniform(shape, key, 0, high, tf.int32), tf.int32, purpose, step, inner
        )

    def _draw(self, draw, dtype, purpose, step, inner) -> tf.Tensor:
        counter = tf.cast(step, tf.int64) * _INNER_STEPS + tf.cast(inner, tf.int64)
        # map_fn compiles to one small loop over the seeds: measured free, where vectorized_map tripled the step's time.
        return tf.map_fn(
            lambda seed: draw(tf.stack([seed * 256 + int(purpose), counter])), self._seeds, fn_output_signature=dtype
        )
