"""Dyna agents: equality with ER, the parts of a mini-batch, and a diverged seed among healthy ones."""

import numpy as np
import pytest
import tensorflow as tf
from helpers import parameters_of, perceptron, randomise, run_of, untrained

from dyna_td.programs.program import make_program

STEPS = 120
SEEDS = 3
SHORT = {"planning_updates": 4, "warm_up_steps": 100, "target_period": 50}


def trained(agent, **settings):
    program = make_program(run_of("GridWorld", agent, range(SEEDS), 2 * STEPS, 80, **SHORT, **settings))
    program.train(tf.constant(STEPS))
    return program


@pytest.fixture(scope="module")
def without_simulation():
    """A Dyna agent whose mini-batches hold no simulated transition, after `STEPS` steps."""
    return trained("dyna_td", mixing_rate=0.0, chain_steps=20)


def weights(program):
    return [parameter.numpy() for parameter in program.agent.learner.q.parameters]


def test_with_rho_0_dyna_td_is_er_bit_for_bit(without_simulation):
    er, dyna = trained("er"), without_simulation
    assert (dyna.agent.queue.size.numpy() > 0).all()
    np.testing.assert_equal(weights(dyna), weights(er))
    np.testing.assert_array_equal(dyna.environment_state, er.environment_state)


@pytest.fixture(scope="module")
def car():
    """Dyna-TD on MountainCar, whose model has no noise, with a queue of some states."""
    program = untrained("MountainCar-v0", "dyna_td", 60, SEEDS)
    program.agent.search(tf.constant(60, tf.int64), tf.constant(12))
    assert (program.agent.queue.size.numpy() > 3).all()
    return program


def test_the_first_half_of_a_mini_batch_is_simulated_from_the_queue_and_the_rest_is_ers(car):
    agent, step, k = car.agent, tf.constant(7, tf.int64), tf.constant(2)
    batch, indices, _ = agent.mini_batch(step, k)
    for mine, theirs in zip(batch, agent.replay.gather(indices), strict=True):
        np.testing.assert_array_equal(mine[:, 16:], theirs[:, 16:])
    next_state, reward, terminated = car.twin.step(batch.state, batch.action, None)
    np.testing.assert_allclose(batch.next_state[:, :16], next_state[:, :16], atol=1e-6)
    np.testing.assert_array_equal(batch.reward[:, :16], reward[:, :16])
    np.testing.assert_array_equal(batch.terminated[:, :16], tf.cast(terminated, tf.float32)[:, :16])
    for seed, size in enumerate(agent.queue.size.numpy()):
        queued = {state.tobytes() for state in agent.queue._states.numpy()[seed, :size]}
        assert all(state.tobytes() in queued for state in batch.state.numpy()[seed, :16])


def test_simulated_actions_are_on_policy(car):
    agent = car.agent
    batches = [agent.simulate(tf.constant(step, tf.int64), tf.constant(0)) for step in range(20)]
    greedy = [agent.learner.greedy(batch.state) for batch in batches]
    share = np.mean([np.mean(batch.action == best) for batch, best in zip(batches, greedy, strict=True)])
    assert share == pytest.approx(1 - 0.1 * 2 / 3, abs=0.04)  # 10% random actions, 2 of 3 of them others


@pytest.mark.parametrize(("rule", "network"), [("released", "q_target"), ("algorithm_4", "q")])
def test_chains_bootstrap_from_the_target_network_and_those_of_algorithm_4_from_q_itself(rule, network):
    program = untrained("MountainCar-v0", "dyna_td", 60, SEEDS, search_control=rule)
    learner = program.agent.learner
    for index, name in enumerate(("q", "q_target")):
        randomise(getattr(learner, name), range(SEEDS), index)
    state = tf.constant([[-0.5, 0.02], [0.3, 0.01], [0.49, 0.06]])  # the last state reaches the goal
    found = program.agent.y_hat(state, tf.constant(60, tf.int64), tf.constant(0)).numpy()
    for seed in range(SEEDS):
        best = perceptron(parameters_of(learner.q, seed), state[seed : seed + 1]).argmax()
        action = tf.fill([SEEDS, 1], tf.constant(best, tf.int32))
        stepped = program.twin.step(state[:, None], action, None)
        next_state, reward, terminated = (part.numpy()[seed, 0] for part in stepped)
        bootstrap = perceptron(parameters_of(getattr(learner, network), seed), next_state[None]).max()
        assert found[seed] == pytest.approx(reward + 0.99 * (not terminated) * bootstrap, rel=1e-4)


def test_a_seed_with_an_empty_queue_trains_on_real_experience_alone(car):
    agent = car.agent
    added = agent.queue._added.numpy()
    agent.queue._added.assign(added * [1, 0, 1])
    batch, indices, _ = agent.mini_batch(tf.constant(0, tf.int64), tf.constant(0))
    agent.queue._added.assign(added)
    real = agent.replay.gather(indices)
    for mine, theirs in zip(batch, real, strict=True):
        np.testing.assert_array_equal(mine[1], theirs[1])
    is_real = [np.array_equal(batch.state[seed], real.state[seed]) for seed in range(SEEDS)]
    assert is_real == [False, True, False]


def test_a_seed_that_diverges_is_noticed_and_leaves_the_others_as_they_are(without_simulation):
    program = without_simulation
    before = program.values()
    program.train(tf.constant(40))
    healthy = weights(program)
    program.restore(before)
    kernel = program.agent.learner.q.kernels[1]
    kernel.assign(kernel.numpy() * np.array([1, np.nan, 1], np.float32)[:, None, None])
    program.train(tf.constant(40))
    np.testing.assert_equal([part[[0, 2]] for part in weights(program)], [part[[0, 2]] for part in healthy])
    counters = {name: value.numpy() for name, value in program.agent.counters().items()}
    np.testing.assert_array_equal(counters["diverged"], [0, 1, 0])
    np.testing.assert_array_equal(counters["chain_nonfinite_gradients"] > 0, [False, True, False])
    assert np.isfinite(program.agent.queue._states).all()


def test_dyna_frequency_starts_from_the_queue_when_it_climbs_the_frequency_and_counts_those_steps_apart():
    agent = untrained("MountainCar-v0", "dyna_frequency", 60, SEEDS).agent
    agent.queue.add(tf.random.stateless_uniform([SEEDS, 5, 2], (0, 0)), tf.fill([SEEDS], 5))
    for step in map(tf.constant, range(200, 240)):
        start, climbing = agent.start(step, tf.constant(0)).numpy(), agent.climbs_frequency(step).numpy()
        for seed in range(SEEDS):
            queued = agent.queue._states.numpy()[seed, :5]
            assert (start[seed] == queued).all(axis=1).any() == climbing[seed]
    expected = np.zeros(SEEDS)
    for step in map(tf.constant, range(200, 206)):
        climbing, before = agent.climbs_frequency(step).numpy(), agent.counters()["chain_steps_made"].numpy()
        agent.search(step, tf.constant(9))
        expected += climbing * (agent.counters()["chain_steps_made"].numpy() - before)
    assert expected.min() > 0 and (expected < agent.counters()["chain_steps_made"].numpy()).any()
    np.testing.assert_array_equal(agent.counters()["frequency_steps_made"], expected)
