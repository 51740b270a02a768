"""The queue, the visited states, the three rules' steps and a whole fill, each against a naive twin in NumPy."""

import functools
from collections import deque
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.spaces import Space
from hypothesis import given, settings
from hypothesis import strategies as st

from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.xla import xla_function
from dyna_td.search.chain import COUNTERS, SearchControl
from dyna_td.search.queue import StateQueue
from dyna_td.search.rules import cholesky
from dyna_td.search.visited import VisitedStates
from dyna_td.settings import DynaSettings

RULES = ("released", "algorithm_4", "langevin")


@settings(max_examples=12, deadline=None)
@given(data=st.data(), seeds=st.integers(1, 3), m=st.integers(1, 5), extra=st.integers(0, 12))
def test_the_queue_is_a_deque_of_each_seed(data, seeds, m, extra):
    capacity = m + extra
    queue = StateQueue(seeds, capacity, state_dim=2)
    twins = [deque(maxlen=capacity) for _ in range(seeds)]
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    for _ in range(8):
        states = rng.normal(size=(seeds, m, 2)).astype(np.float32)
        counts = rng.integers(0, m + 1, seeds)
        queue.add(tf.constant(states), tf.constant(counts, tf.int32))
        for seed, twin in enumerate(twins):
            twin.extend(states[seed, : counts[seed]])
        assert queue.size.numpy().tolist() == [len(twin) for twin in twins]
        ages = np.stack([rng.integers(0, max(len(twin), 1), 9) for twin in twins])
        gathered = queue.gather(tf.constant(ages, tf.int32)).numpy()
        for seed, twin in enumerate(twins):
            newest_first = list(twin)[::-1] or [np.zeros(2)]
            np.testing.assert_array_equal(gathered[seed], [newest_first[age] for age in ages[seed]])


def observe_all(visited, states, next_states):
    """Shows the agent's states [T, S, d] one after the other."""

    @tf.function(jit_compile=True)
    def show(states, next_states):
        t = tf.constant(0)
        while t < len(states):
            none = tf.zeros([states.shape[1], 1])
            visited.observe(Transition(states[t][:, None], none, none, next_states[t][:, None], none))
            t += 1

    show(tf.constant(states, tf.float32), tf.constant(next_states, tf.float32))


def test_the_covariance_and_the_mean_move_are_those_of_all_visited_states():
    rng = np.random.default_rng(0)
    states = rng.normal(size=(200, 2, 3)) @ rng.normal(size=(3, 3)) + [1.0, -2.0, 0.5]
    next_states = states + rng.normal(size=states.shape)
    visited = VisitedStates(seeds=2, state_dim=3)
    observe_all(visited, states, next_states)
    moves = np.linalg.norm(next_states - states, axis=2)
    recent = np.zeros(2)
    for move in moves:
        recent = 0.999 * recent + 0.001 * move
    for seed in range(2):
        np.testing.assert_allclose(visited.covariance[seed], np.cov(states[:, seed].T, bias=True), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(visited.mean_move, moves.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(visited.recent_move, recent, rtol=1e-5)


def test_a_long_run_far_from_the_origin_does_not_wear_the_covariance_out():
    rng = np.random.default_rng(1)
    states = rng.normal(size=(50_000, 1, 2)) * [0.03, 0.01] + [-0.5, 0.0]  # the range of MountainCar's states
    visited = VisitedStates(seeds=1, state_dim=2)
    observe_all(visited, states, states)
    np.testing.assert_allclose(np.diag(visited.covariance[0]), np.var(states[:, 0], axis=0), rtol=0.02)


def test_the_cholesky_factor_even_of_a_singular_matrix_is_a_triangle_that_multiplies_out():
    roots = np.random.default_rng(0).normal(size=(5, 4, 4))
    roots[:3, :, 2:] = 0.0  # rank 2 in 4 dimensions; the others have full rank
    singular = [np.zeros((4, 4)), np.diag([1.0, 0.0, 2.0, 0.0]), np.ones((4, 4))]
    matrices = np.concatenate([singular, roots @ roots.transpose(0, 2, 1)]).astype(np.float32)
    factor = cholesky(tf.constant(matrices)).numpy()
    assert np.isfinite(factor).all()
    np.testing.assert_array_equal(factor, np.tril(factor))
    np.testing.assert_allclose(factor @ factor.transpose(0, 2, 1), matrices, atol=2e-3)
    np.testing.assert_array_equal(factor[0], np.zeros((4, 4)))


def is_terminal(state):
    return (state[0] > 0.5) & (state[1] > 2.5)


class Room(Space):
    """A box whose last corner is terminal."""

    state_dim = 2
    low, high = np.float32([-1.0, 0.0]), np.float32([1.0, 4.0])

    def is_terminal(self, state):
        return is_terminal(tf.unstack(state, axis=-1))


M, BUDGET = 6, 33  # no multiple of each other; a seed with a complete fill waits for the others
TOO_LONG = 60  # iterations for which this test keeps random numbers
SEEDS = 5
THRESHOLDS = 0.08 + 0.06 * np.arange(SEEDS)  # the mean and the recent move: some seeds accept most states, others few
SIGMAS = np.float32([[0.5, 0.2], [0.2, 1.0]]) * np.linspace(1.0, 1.8, SEEDS, dtype=np.float32)[:, None, None]
AS_IT_IS = np.ones((TOO_LONG, SEEDS))  # factors that leave the gradients unchanged


def slope(x, y, xp):
    """The gradient that chains follow in these tests, in NumPy or TensorFlow."""
    return 3.0 * xp.cos(4.0 * x), 1.5 * xp.sin(2.0 * y)


class Filler:
    """`SearchControl.fill` of several seeds in `Room`, compiled."""

    def __init__(self, rule, full_chains=False):
        self.streams, self.twin = Streams(tuple(range(SEEDS))), Room()
        settings = DynaSettings(search_control=rule, states_per_fill=M, chain_steps=BUDGET, full_chains=full_chains)
        self.control = SearchControl(settings, self.streams, self.twin)
        moves = tf.constant(THRESHOLDS, tf.float32)
        self.control.visited = SimpleNamespace(covariance=tf.constant(SIGMAS), mean_move=moves, recent_move=moves)
        self.initial = [variable.numpy() for variable in self.control.variables]

    def start(self, step, i):
        uniform = self.streams.uniform(Purpose.CHAIN_START, (2,), step=step, inner=i)
        return self.twin.low + (self.twin.high - self.twin.low) * uniform

    @xla_function
    def fill(self, step, budget, factors):
        """Multiplies the gradients of iteration i by the i-th row of `factors` [I, S], or by the last one."""

        def gradient(state, i):
            x, y = slope(state[:, 0], state[:, 1], tf.math)
            factor = tf.gather(factors, tf.minimum(i, factors.shape[0] - 1))
            return tf.stack([x, y], axis=1) * factor[:, None]

        return self.control.fill(step, budget, gradient, lambda i: self.start(step, i))

    def run(self, steps, factors=AS_IT_IS):
        """Fills once for each of `steps`, from the beginning; states [steps, S, M, 2], counts [steps, S], counters."""
        for variable, value in zip(self.control.variables, self.initial, strict=True):
            variable.assign(value)
        factors = tf.constant(factors, tf.float32)
        results = [self.fill(tf.constant(step), tf.constant(BUDGET), factors) for step in steps]
        states, counts = (np.stack(parts) for parts in zip(*results, strict=True))
        return states, counts, {name: counter.numpy() for name, counter in self.control.counters.items()}


filler = functools.cache(Filler)


@functools.cache
def randomness(steps):
    """The draws for the fills of `steps`, by step and iteration: starts [T, I, S, 2] and normals [T, I, S, 4]."""
    subject = filler("released")

    @tf.function(jit_compile=True)
    def draw(step):  # compiled like a fill, because eager normal numbers differ
        def of_iteration(i):
            return subject.start(step, i), subject.streams.normal(Purpose.CHAIN_NOISE, (4,), step=step, inner=i)

        return tf.map_fn(of_iteration, tf.range(TOO_LONG), fn_output_signature=(tf.float32, tf.float32))

    drawn = [draw(tf.constant(step)) for step in steps]
    return tuple(np.stack(part).astype(np.float64) for part in zip(*drawn, strict=True))


class NaiveChain:
    """The inner loop of Algorithm 4 for one seed, line by line, with the step of any rule."""

    def __init__(self, rule, seed):
        self.rule = rule
        self.sigma, self.threshold = SIGMAS[seed], THRESHOLDS[seed] / (2**0.5 if rule == "released" else 1.0)
        self.going_on = None
        self.counters = dict.fromkeys(COUNTERS, 0)

    def near(self, start, normals):
        if self.rule != "released":
            return start
        return np.clip(start + 0.05 * np.sqrt(np.diag(self.sigma)) * normals[2:], Room.low, Room.high)

    def step(self, s, g, normals):
        """(the next state, whether a new start is due)."""
        if self.rule == "langevin":
            width = Room.high - Room.low
            moved = s + 0.001 * width**2 * g + 0.002**0.5 * width * normals[:2]
            while ((moved < Room.low) | (moved > Room.high)).any():
                moved = np.where(moved < Room.low, 2 * Room.low - moved, moved)
                moved = np.where(moved > Room.high, 2 * Room.high - moved, moved)
            return moved, False
        if self.rule == "algorithm_4":
            moved = s + 0.1 * g + 0.1 * np.linalg.cholesky(self.sigma) @ normals[:2]
            return moved, ((moved < Room.low) | (moved > Room.high)).any()
        climb = self.sigma @ g
        length = np.linalg.norm(climb)
        moved = s + (0.1 * climb / length if length >= 1e-5 else 0.0)
        moved = np.clip(moved + 0.05 * np.sqrt(np.diag(self.sigma)) * normals[:2], Room.low, Room.high)
        return moved, is_terminal(moved) or np.linalg.norm(moved - s) < 1e-5

    def fill(self, starts, normals, factors, most=M):
        i = used = 0
        s = self.near(starts[0], normals[0])
        if self.going_on is not None:
            s = self.going_on
        last, found = s, []
        while len(found) < most and used < BUDGET:
            with np.errstate(invalid="ignore"):
                g = np.array(slope(*s, np)) * factors[i]
            self.counters["chain_vanished_gradients"] += np.linalg.norm(g) < 1e-5
            self.counters["chain_nonfinite_gradients"] += not np.isfinite(g).all()
            i += 1
            moved, leaves = self.step(s, g if np.isfinite(g).all() else np.zeros(2), normals[i])
            restart = leaves or not np.isfinite(g).all()
            if not (leaves and np.isfinite(g).all() and self.rule == "algorithm_4"):
                used += 1
            if restart:
                self.counters["chain_restarts"] += 1
                s = last = self.near(starts[i], normals[i])
                continue
            s = moved
            if self.rule == "langevin":
                accepts = used % (BUDGET // M) == 0 and not is_terminal(s)
            else:
                accepts = np.linalg.norm(s - last) / 2**0.5 >= self.threshold
            if accepts:
                found.append(s)
                last = s
        self.counters["chain_steps_made"] += used
        self.counters["chain_states"] += len(found)
        self.going_on = s if self.rule == "langevin" else None
        return found


def disturbed():
    """Factors that make some gradients NaN, infinite or zero; for seed 0 only when it is mostly done."""
    factors = AS_IT_IS.copy()
    factors[10:, 0] = 0.0
    factors[[2, 9], 1] = np.nan
    factors[[0, 1, 7], 2] = np.inf
    factors[5, 3] = -np.inf
    factors[[3, 4], 4] = 0.0
    return factors


@pytest.mark.parametrize("factors", [AS_IT_IS, disturbed()], ids=["as it is", "disturbed"])
@pytest.mark.parametrize("rule", RULES)
def test_a_fill_is_the_inner_loop_of_algorithm_4_for_each_seed(rule, factors):
    steps = range(8)
    states, counts, counters = filler(rule).run(steps, factors=factors)
    starts, normals = randomness(steps)
    for seed in range(SEEDS):
        chain = NaiveChain(rule, seed)
        for step in steps:
            found = chain.fill(starts[step, :, seed], normals[step, :, seed], factors[:, seed])
            assert counts[step, seed] == len(found)
            np.testing.assert_allclose(states[step, seed, : len(found)], np.reshape(found, (-1, 2)), atol=2e-4)
            assert not states[step, seed, len(found) :].any()
        assert {name: counters[name][seed] for name in COUNTERS} == chain.counters
    assert counts.min() < M == counts.max()  # both complete fills and used-up budgets occur
    assert (counters["chain_restarts"].sum() > 3) or rule == "langevin"


@pytest.mark.parametrize("rule", RULES)
def test_a_gradient_near_overflow_brings_no_state_outside_the_space(rule):
    states, counts, _ = filler(rule).run(range(4), factors=1e38 * AS_IT_IS)
    for found, count in zip(states.reshape(-1, M, 2), counts.ravel(), strict=True):
        assert ((found[:count] >= Room.low) & (found[:count] <= Room.high)).all()


def test_a_full_chain_makes_all_its_steps_and_keeps_the_last_states():
    states, counts, counters = filler("released", full_chains=True).run((0, 1))
    starts, normals = randomness((0, 1))
    assert (counters["chain_steps_made"] == 2 * BUDGET).all() and (counts == M).any()
    for seed in range(SEEDS):
        chain = NaiveChain("released", seed)
        for step in (0, 1):
            found = chain.fill(starts[step, :, seed], normals[step, :, seed], AS_IT_IS[:, seed], most=BUDGET)[-M:]
            kept = states[step, seed, : counts[step, seed]]
            assert len(kept) == len(found)  # before the comparison below, because rounding grows with the chain
            np.testing.assert_allclose(np.sort(kept, axis=0), np.sort(found, axis=0), atol=5e-3)
