import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from dyna_td.streams import Purpose, Streams


def test_a_seeds_draws_do_not_depend_on_its_neighbours():
    together = Streams(tuple(range(20)))
    alone = Streams((7,))
    for draw in ("uniform", "normal"):
        np.testing.assert_array_equal(
            getattr(together, draw)(Purpose.EXPLORE, (5,), step=3)[7],
            getattr(alone, draw)(Purpose.EXPLORE, (5,), step=3)[0],
        )


def test_draws_differ_between_seeds_purposes_steps_and_inner_steps():
    streams = Streams((0, 1, 255, 256))
    draws = []
    for purpose in Purpose:
        draw = tf.function(
            lambda step, inner, purpose=purpose: streams.uniform(purpose, (3,), step=step, inner=inner),
            jit_compile=True,
        )
        draws += [draw(tf.constant(step), tf.constant(inner)).numpy() for step in range(3) for inner in range(3)]
    draws = np.concatenate(draws)
    assert len(np.unique(draws, axis=0)) == len(draws) == len(Purpose) * 9 * 4


@pytest.mark.parametrize(("kind", "bound"), [("uniform", ()), ("integers", (50_000,))])
def test_the_same_key_gives_the_same_draw_inside_and_outside_a_compiled_program(kind, bound):
    draw = getattr(Streams((3, 4)), kind)
    compiled = tf.function(lambda step: draw(Purpose.ENVIRONMENT, (600,), *bound, step=step), jit_compile=True)
    np.testing.assert_array_equal(compiled(tf.constant(9)), draw(Purpose.ENVIRONMENT, (600,), *bound, step=9))


@pytest.mark.parametrize("high", [2, 1000, 50_000])
def test_integers_are_uniform_below_their_bound(high):
    draws = Streams((0,)).integers(Purpose.UNIFORM_BATCH, (400_000,), high).numpy()[0]
    assert draws.min() >= 0 and draws.max() < high
    counts = np.bincount(draws * 100 // high if high > 100 else draws)
    assert stats.chisquare(counts).pvalue > 1e-3


def test_uniform_and_normal_draws_have_their_distribution():
    streams = Streams((0, 1))
    uniform = streams.uniform(Purpose.EXPLORE, (50_000,)).numpy()
    normal = streams.normal(Purpose.EXPLORE, (50_000,)).numpy()
    assert uniform.min() >= 0 and uniform.max() < 1
    for seed in range(2):
        assert stats.kstest(uniform[seed], "uniform").pvalue > 1e-3
        assert stats.kstest(normal[seed], "norm").pvalue > 1e-3
    assert abs(np.corrcoef(uniform)[0, 1]) < 0.02
