"""Measurements on a Q that no longer changes: chains, gradients and the two models, on random networks."""

import functools
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from dyna_td.envs.grid_world import GRID_WALLS, in_goal, transition
from helpers import gradient_of, parameters_of, perceptron, randomise, run_of
from scipy import stats

from dyna_td.measures import frozen_q
from dyna_td.measures.frozen_q import CHAINS, SIDE, SNAPSHOTS, FrozenQ, bound_metrics, chain_metrics
from dyna_td.measures.long_chains import LONG_KINDS, PAIRS, LongChains
from dyna_td.programs import frozen
from dyna_td.programs.program import make_program
from dyna_td.programs.twin import TwinProgram
from dyna_td.records.metrics import FROZEN_METRICS
from dyna_td.settings import FROZEN_SOURCES
from dyna_td.training.log import Log

STEP = tf.constant(900, tf.int64)
OF_LONG_CHAINS = tuple(f"_{kind}" for kind in LongChains.kinds) + tuple(f"_between_{pair}" for pair in PAIRS)
STORED = 400


def program_of(seeds, probe_steps=100):
    """A program with random networks, buffer and statistics of visited states, different for each seed."""
    program = make_program(run_of("GridWorld", "dyna_td_frozen", seeds, 1500, probe_steps=probe_steps))
    agent = program.agent
    for index, network in enumerate((agent.learner.q, agent.learner.q_target, agent.model.network)):
        randomise(network, seeds, index)
    scale = agent.model.network.kernels[-1]
    scale.assign(0.1 * scale)  # s' is near s
    states = np.float32([np.random.default_rng(seed).random((STORED, 2)) for seed in seeds])
    agent.replay._rows[:, :STORED, :2].assign(states)
    agent.replay._added.assign(STORED)
    agent.search_control.visited._mean_product.assign(tf.eye(2, batch_shape=[len(seeds)]) / 12)
    program.step.assign(STEP)
    return program


def probe_of(program):
    return FrozenQ(program.agent, program.streams, program.sampling)


@functools.cache
def two_seeds():
    return program_of((4, 9))


@pytest.mark.thorough
def test_everything_is_measured_of_every_seed_whatever_its_neighbours(monkeypatch):
    # Without the two variants of `langevin`, to save their compilation.
    monkeypatch.setattr(FrozenQ, "kinds", {kind: frozen_q.KINDS[kind] for kind in FROZEN_SOURCES if kind != "ideal"})
    metrics, states = probe_of(two_seeds()).measure(STEP)
    left_out = ("langevin_constant_y", "small_steps", *OF_LONG_CHAINS)
    assert set(metrics) == {name for name in FROZEN_METRICS if not name.endswith(left_out)}
    assert set(states) == set(FROZEN_SOURCES)
    assert all(value.shape == (2,) and np.isfinite(value).all() for value in metrics.values())
    for drawn in states.values():
        assert drawn.shape == (2, 2000, 2) and (drawn.numpy() >= 0).all() and (drawn.numpy() <= 1).all()
    for name in ("beta_langevin", "beta_released", "cosine_uniform", "bound_left"):
        assert metrics[name][0] != metrics[name][1]
    among_three, shown = probe_of(program_of((3, 4, 5))).measure(STEP)
    for name, value in among_three.items():
        if name.startswith(("beta", "variation")):
            assert value[1] == metrics[name][0], name
    for kind in FROZEN_SOURCES:
        np.testing.assert_array_equal(shown[kind][1], states[kind][0])


def smooth_density(points):
    """|delta| = exp(1.5 cos 3 x cos 2 y)."""
    return np.exp(1.5 * np.cos(3.0 * points[..., 0]) * np.cos(2.0 * points[..., 1]))


class Smooth:
    """Chains that climb half of log |delta| of `smooth_density`."""

    def slope(self, columns, through_y, online=False):
        x, y = columns[:, 0], columns[:, 1]
        slopes = -4.5 * tf.sin(3.0 * x) * tf.cos(2.0 * y), -3.0 * tf.cos(3.0 * x) * tf.sin(2.0 * y)
        return 0.5 * tf.stack(slopes, axis=1)

    def _errors_of_cells(self, online):
        by_cell = smooth_density(self.points).reshape(SIDE**2, -1).mean(axis=1)
        return tf.tile(tf.constant(by_cell, tf.float32)[None], [self.streams.count, 1])


class SmoothQ(Smooth, FrozenQ):
    """The density of these chains is the root of `smooth_density`."""

    kinds = {"langevin": frozen_q.KINDS["langevin"]}


class SmoothLongChains(Smooth, LongChains):
    """Metropolis's acceptance gives these chains the whole density, whatever they climb."""

    kinds = {kind: LONG_KINDS[kind] for kind in ("adjusted", "adjusted_uniform", "tenth")}

    def height(self, columns):
        return 1.5 * tf.cos(3.0 * columns[:, 0]) * tf.cos(2.0 * columns[:, 1])


def chains_of(measures, probe_steps):
    """The metrics of two seeds' chains, their visits and states."""
    program = program_of((0, 1), probe_steps)
    probe = measures(program.agent, program.streams, program.sampling)
    visits, shown = probe._run_chains()
    return chain_metrics(*probe._on_open_cells(visits)), visits, shown


def test_chains_with_acceptance_have_the_density_itself_from_wherever_they_start():
    metrics, visits, _ = chains_of(SmoothLongChains, 16_000)
    for kind in ("adjusted", "adjusted_uniform"):
        np.testing.assert_allclose(metrics[f"beta_{kind}"], 1.0, atol=0.1)
        assert (metrics[f"variation_{kind}"] < 0.06).all()
        np.testing.assert_array_equal(visits[kind].numpy().sum(axis=1), LongChains.chains * 16_000)
    assert (visits["adjusted"] != visits["adjusted_uniform"]).numpy().any()
    np.testing.assert_allclose(metrics["beta_tenth"], 0.5, atol=0.2)  # without acceptance: the root, which they climb


@pytest.mark.thorough
def test_long_chains_are_compared_with_each_other():
    program = program_of((4, 9))
    metrics, _ = LongChains(program.agent, program.streams, program.sampling).measure(STEP)
    assert {name for name in FROZEN_METRICS if name.endswith(OF_LONG_CHAINS)} <= set(metrics) <= set(FROZEN_METRICS)
    assert all((metrics[f"variation_between_{pair}"] > 0).all() for pair in PAIRS)


def test_langevin_chains_are_found_to_have_the_exponent_that_they_climb():
    metrics, visits, shown = chains_of(SmoothQ, 4000)
    np.testing.assert_allclose(metrics["beta_langevin"], 0.5, atol=0.1)
    np.testing.assert_allclose(metrics["beta_ideal"], 1.0, atol=0.03)
    assert (metrics["variation_ideal"] < 0.02).all() and (metrics["variation_langevin"] > 0.05).all()
    np.testing.assert_array_equal(visits["langevin"].numpy().sum(axis=1), CHAINS * 4000)
    for drawn in shown["ideal"].numpy():  # states lie anywhere in their cells
        assert stats.kstest(drawn.ravel() * SIDE % 1.0, "uniform").pvalue > 1e-3


def test_exponents_and_distances_by_hand():
    error = np.array([[1.0, 3.0]] * 2)
    visits = {"released": [[0.0, 0.0], [30.0, 10.0]], "algorithm_4": [[20.0, 20.0]] * 2}
    metrics = chain_metrics({kind: np.array(counts) for kind, counts in visits.items()}, error, np.ones((2, 2)))
    np.testing.assert_allclose(metrics["beta_released"], [np.nan, -1.0], atol=1e-4)
    np.testing.assert_allclose(metrics["variation_released"], [1.0, 0.5])  # no chain of seed 0 stays in the space
    diverged = chain_metrics({"released": np.zeros((1, 2))}, np.array([[np.nan, 1.0]]), np.ones((1, 2)))
    assert np.isnan(diverged["variation_released"]).all()  # a Q that is not finite has no distance
    np.testing.assert_allclose(metrics["variation_uniform"], 0.25)
    np.testing.assert_allclose(metrics["variation_uniform_online"], 0.0)
    np.testing.assert_allclose(metrics["variation_algorithm_4"], 0.0)  # its own TD error is the same everywhere


def test_what_theorem_3_says_is_summed_up_over_states():
    # The states of test_theorems.py: the left side is 1/4 in both, the right 0.4375 and 0.875.
    metrics = bound_metrics(np.array([[1.0, 3.0]]), np.array([[2.0, 2.0]]), np.array([[0.1, 0.2]]), largest_value=10.0)
    expected = {"left": 0.25, "right": 0.65625, "ratio": 2.625, "slack": 1 - 0.25 / 0.4375}
    assert metrics == {f"bound_{name}": pytest.approx([value]) for name, value in expected.items()}


def test_what_comes_before_the_burn_in_ends_and_what_leaves_the_space_is_neither_counted_nor_shown():
    probe = probe_of(program_of((4, 9), probe_steps=10))
    stays = tf.constant([True, False] * (CHAINS // 2))

    def advance(state, t):  # at the t-th step all chains are in the t-th column
        place = tf.stack([(tf.cast(t, tf.float32) + 0.5) / SIDE, 0.01])
        return tf.tile(place[None, None], [2, CHAINS, 1]), tf.tile(stays[None], [2, 1])

    visits, shown = probe._visit(advance, 0)
    expected = np.zeros((2, SIDE, SIDE))
    expected[:, 2:12, 0] = CHAINS // 2
    np.testing.assert_array_equal(visits, expected.reshape(2, -1))
    last = shown.numpy().reshape(2, -1, 2)[:, (SNAPSHOTS - 4) * CHAINS :][:, : CHAINS // 2]
    np.testing.assert_allclose(last[:, ::2, 0], 11.5 / SIDE)
    assert np.isnan(last[:, 1::2]).all()
    log = Log(run_of("GridWorld", "dyna_td_frozen", (4, 9), 1500), (4, 9))
    log.add_metrics((4, 9), 0, {"return": np.zeros(2)}, 0.0)
    log.add_states((4, 9), 1500, {"ideal": np.zeros([2, 1, 2]), "langevin": last[:, 1::2]})
    states = log.outcome(0.0).states
    assert list(states["source"]) == ["ideal"] * 2 and states["seed"].dtype == int


def test_a_chain_that_leaves_the_box_restarts_in_the_buffer():
    probe = probe_of(two_seeds())
    probe.slope = lambda columns, through_y, online=False: tf.fill(columns.shape, 100.0 if online else np.nan)
    state, counts = probe.chain(probe.kinds["algorithm_4"], 2)(tf.fill([2, CHAINS, 2], 0.5), tf.constant(0))
    assert not counts.numpy().any()
    stored = probe.agent.replay._rows.numpy()[:, :STORED, :2]
    for seed in range(2):
        assert (state[seed].numpy()[:, None] == stored[seed][None]).all(axis=2).any(axis=1).all()
    state, counts = probe.chain(probe.kinds["langevin"], 0)(tf.fill([2, CHAINS, 2], 0.5), tf.constant(0))
    assert np.isfinite(state).all() and counts.numpy().all()  # gradients that are not finite become 0


def outputs_of(network, seed, rows):
    return perceptron(parameters_of(network, seed), rows)


def target(agent, seed, states):
    """y of the greedy action under the learned model: [N, 2] -> [N]."""
    actions = outputs_of(agent.learner.q, seed, states).argmax(axis=1)
    predicted = outputs_of(agent.model.network, seed, np.concatenate([states, np.eye(4)[actions]], axis=1))
    next_states = np.clip(states + predicted[:, :2], 0.0, 1.0)
    goes_on = ~in_goal(next_states[:, 0], next_states[:, 1])
    return predicted[:, 2] + 0.99 * goes_on * outputs_of(agent.learner.q_target, seed, next_states).max(axis=1)


def test_the_cosine_is_that_of_finite_differences_with_y_constant_and_not():
    agent = two_seeds().agent
    states = np.random.default_rng(0).uniform(0.02, 0.98, size=(2, 300, 2)).astype(np.float32).astype(float)
    cosines, is_defined = probe_of(two_seeds()).cosines(tf.constant(states.transpose(0, 2, 1), tf.float32))
    assert is_defined.numpy().all()
    for seed in range(2):
        y = target(agent, seed, states[seed])

        def h(parts, y=None, seed=seed):
            y = target(agent, seed, parts[0]) if y is None else y
            return np.log(np.abs(y - outputs_of(agent.learner.q, seed, parts[0]).max(axis=1)) + 1e-5).sum()

        steps = ((functools.partial(h, y=y), 1e-6), (h, 1e-6), (h, 1e-4))
        constant, whole, coarse = (gradient_of(height, [states[seed]], step)[0] for height, step in steps)
        is_smooth = np.linalg.norm(coarse - whole, axis=1) < 1e-2 * np.linalg.norm(whole, axis=1)  # away from kinks
        lengths = np.linalg.norm(constant, axis=1) * np.linalg.norm(whole, axis=1)
        expected = (constant * whole).sum(axis=1) / lengths
        assert is_smooth.sum() > 150 and np.ptp(expected[is_smooth]) > 0.5
        np.testing.assert_allclose(cosines[seed].numpy()[is_smooth], expected[is_smooth], atol=0.02)


def test_the_two_models_are_compared_outcome_by_outcome():
    program = program_of((4, 9))
    agent, probe = program.agent, probe_of(program)
    network = agent.model.network
    network.kernels[-1].assign(tf.zeros_like(network.kernels[-1]))
    network.biases[-1].assign(tf.tile([[[0.05], [0.0], [-0.8]]], [2, 1, 1]))  # predicts right for any action
    agent.learner.q.biases[-1].assign_add(tf.tile([[[0.0], [1.5], [0.0], [0.0]]], [2, 1, 1]))  # often greedy: right
    error, learned_error, model_error = (part.numpy() for part in probe._compare_models())
    corners = np.stack(np.divmod(np.arange(2500), 50), axis=1).astype(np.float32) / np.float32(50)
    noise = stats.norm.ppf((np.arange(64) + 0.5) / 64)
    chosen = np.concatenate([np.random.default_rng(0).choice(2500, 40), [2396, 2397, 2448, 1122, 1172, 0, 2499]])
    for seed in range(2):
        values = outputs_of(agent.learner.q, seed, corners)
        bootstrap = outputs_of(agent.learner.q_target, seed, corners).max(axis=1)

        def outcome(state, reward):
            x, y = np.minimum((state * np.float32(50)).astype(int), 49)
            return 50 * x + y, bool(in_goal(*state)), reward

        def y_of(cell, is_terminal, reward, bootstrap=bootstrap):
            return reward + 0.99 * (not is_terminal) * bootstrap[cell]

        for cell in chosen:
            action = values[cell].argmax()
            true = [outcome(*transition(corners[cell], action, draw, GRID_WALLS)[:2]) for draw in noise]
            learned = outcome(np.clip(corners[cell] + np.float32([0.05, 0.0]), 0, 1), -1.0)
            assert model_error[seed, cell] == pytest.approx(1.0 - np.mean([each == learned for each in true]), abs=1e-6)
            y = np.mean([y_of(*each) for each in true])
            assert error[seed, cell] == pytest.approx(abs(y - values[cell].max()), abs=1e-4)
            assert learned_error[seed, cell] == pytest.approx(abs(y_of(*learned) - values[cell].max()), abs=1e-4)
        # A step from a corner ends in the middle of a cell, and 44 of the 64 draws stay in this cell.
        assert 1.0 in model_error[seed, chosen] and np.median(model_error[seed, chosen]) == 20 / 64


def test_a_program_measures_its_q_at_the_last_step_alone(monkeypatch):
    numbers = {"variation_langevin": np.full(2, 0.5)}
    probe = SimpleNamespace(measure=lambda step: (numbers, {"langevin": float(step)}), kinds=frozen_q.KINDS)
    monkeypatch.setattr(TwinProgram, "measure", lambda self: ({"entropy_10": tf.ones([2])}, {"own": "states"}))
    monkeypatch.setattr(frozen, "FrozenQ", lambda *parts: probe)
    program = program_of((4, 9))
    assert set(program.measure()[0]) == {"entropy_10"}
    program.step.assign(1500)
    metrics, states = program.measure()
    assert set(metrics) == {"entropy_10", "variation_langevin"}
    assert states == {"own": "states", "langevin": 1500.0}
