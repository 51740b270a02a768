"""The benchmark of peers: the same work, who may take part, and the numbers that come of their times."""

import importlib
import os
import re
import sys
from pathlib import Path

import model_error
import numpy as np
import pandas as pd
import peers
import pictures
import pytest
import work

import envs

ROOT = Path(__file__).parents[2]
PEERS_PYTHON = Path(os.environ.get("PEERS_PYTHON", ROOT / ".venv-peers/bin/python"))
FACTS = {"seeds": 2, "version": "1.0", **work.LEARNER_FACTS}
FAKE = """
import work

class Fake:
    facts = {facts}
    count = 0

    def train(self):
        self.count += {updates}

    def done(self):
        return self.count

    def improve(self, asked):
        return {learned}

make = Fake
"""


@pytest.fixture
def fakes(tmp_path, monkeypatch):
    """A contest of implementations that a test makes up, by module; the first is ours."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    entrants = []

    def add(module, text=None, learned="work.solve(asked)", updates=7, needs=(), **facts):
        source = text or FAKE.format(facts=FACTS | facts, learned=learned, updates=updates)
        (tmp_path / f"{module}.py").write_text(source)
        entrants.append(peers.Entrant(module, f"<{module}>", needs))
        monkeypatch.setattr(peers, "CONTESTS", {"learning": (entrants[0], tuple(entrants[1:]), work.LEARNER_FACTS)})

    return add


def loss(parameters, asked, seed):
    """The mean squared TD error of one seed in the first mini-batch, transition by transition."""

    def values(weights, state):
        for number, (kernel, bias) in enumerate(weights):
            state = state @ kernel + bias
            state = state if number == 2 else np.where(state > 0, state, 0)
        return state

    batch = asked.batches[0]
    target_weights = [(kernel[seed], bias[seed]) for kernel, bias in asked.target_weights]
    total = 0.0
    for k in range(work.BATCH):
        bootstrap = 0 if batch.terminated[seed, k] else max(values(target_weights, batch.next_state[seed, k]))
        value = values(parameters, batch.state[seed, k])[batch.action[seed, k]]
        total += (batch.reward[seed, k] + 0.99 * bootstrap - value) ** 2
    return total / work.BATCH


def test_gradients_are_the_slopes_of_the_loss_and_a_first_step_of_adam_goes_against_them():
    asked = work.problem(2)
    parameters = [array.astype(float) for layer in asked.weights for array in layer]
    gradients = work._gradients(parameters, asked.target_weights, asked.batches[0])
    rng = np.random.default_rng(0)
    for number, gradient in enumerate(gradients):
        place = (1, *(rng.integers(size) for size in gradient.shape[1:]))
        around = []
        for step in (1e-6, -1e-6):
            moved = [array.copy() for array in parameters]
            moved[number][place] += step
            moved = [array[1] for array in moved]
            around.append(loss(list(zip(moved[::2], moved[1::2], strict=True)), asked, seed=1))
        assert gradient[place] == pytest.approx((around[0] - around[1]) / 2e-6, rel=1e-4, abs=1e-8)
    solved = work.solve(asked._replace(batches=asked.batches[:1]))
    for gradient, old, new in zip(gradients, parameters, [array for layer in solved for array in layer], strict=True):
        clear = abs(gradient) > 1e-4
        np.testing.assert_allclose((new - old)[clear], -1e-3 * np.sign(gradient[clear]), rtol=1e-3)


@pytest.mark.thorough
@pytest.mark.parametrize("module", ["our_dqn", "keras_dqn"])
def test_the_implementations_in_the_projects_environment_learn_the_weights_that_numpy_learns(module, monkeypatch):
    monkeypatch.setattr(work, "BUFFER", 64)
    learner = importlib.import_module(module).make()
    asked = work.problem(learner.facts["seeds"])
    right, begun = (peers.flat(layers) for layers in (work.solve(asked, tensorflow=True), asked.weights))
    learned = peers.flat(learner.improve(asked))
    assert np.linalg.norm(learned - right) < 1e-4 * np.linalg.norm(right - begun)
    assert learner.done() == len(asked.batches)


FOREIGN = [peer for _, others, facts in peers.CONTESTS.values() for peer in others if peer.needs]


@pytest.mark.thorough
@pytest.mark.parametrize("entrant", FOREIGN, ids=lambda entrant: entrant.module)
def test_a_peer_does_the_work_that_it_is_timed_for(entrant):
    if not PEERS_PYTHON.exists():
        pytest.skip(f"{PEERS_PYTHON} is not there: `make benchmark-peers` installs the peers' libraries")
    expected = next(facts for _, others, facts in peers.CONTESTS.values() if entrant in others)
    try:
        with peers.started(entrant, PEERS_PYTHON, expected) as worker:  # which checks sizes and learned weights
            assert worker.facts["seeds"] == (20 if entrant.module == "jax_dqn" else 1)
            times = worker.time()
            assert 0 < times["processor"] < 1.1 * times["clock"]
    except peers.UnusableError as error:
        if "install it with" not in str(error):
            raise
        pytest.skip(str(error))


@pytest.mark.thorough
def test_prioritized_draws_of_ours_leave_new_priorities_where_they_drew(monkeypatch):
    monkeypatch.setattr(work, "BUFFER", 300)
    monkeypatch.setattr(work, "CYCLES", 3)
    ours = importlib.import_module("our_priorities").make()
    before = ours.tree.priorities.numpy()
    ours.train()
    after = ours.tree.priorities.numpy()
    assert ours.done() == 3
    for seed in range(work.SEEDS):
        changed = after[seed] != before[seed]
        assert 32 < changed.sum() <= 96
        assert np.isin(after[seed][changed], ours.priorities.numpy()[:, seed]).all()


def test_a_peer_that_cannot_take_part_is_one_sentence_and_the_others_are_measured_and_drawn(fakes, tmp_path, capsys):
    fakes("ours")
    fakes("absent", "import optax.nowhere", needs=("jax", "optax"))
    fakes("small", batch=16)
    fakes("other", learned="work.solve(asked._replace(target_weights=asked.weights))")
    fakes("clumsy", FAKE.format(facts=FACTS, learned="1 / 0", updates=7))
    fakes("good", updates=3)
    output = tmp_path / "peers.csv"
    assert peers.main(["--repeats", "2", "--python", sys.executable, "--output", str(output)]) == 0
    table = pd.read_csv(output)
    assert list(table["peer"]) == ["<good>", "<good>"] and list(table["pair"]) == [0, 1]
    assert (table[["ratio", "clock_ratio", "our_microseconds"]] > 0).all(axis=None)
    absent, small, other, clumsy = capsys.readouterr().err.splitlines()
    assert absent.startswith("skipped: <absent>") and re.search(r"-m pip install jax==\S+ optax==[\d.]+`\.$", absent)
    assert small == "skipped: <small>: other work than expected: batch is 16, not 32."
    assert other.startswith("skipped: <other>: other work than expected: its weights differ from NumPy's by 0.")
    assert clumsy == "skipped: <clumsy>: its process ended (ZeroDivisionError: division by zero)."
    assert pictures.main([str(output)]) == 0
    assert (tmp_path / "peers.png").stat().st_size > 5_000


def test_nothing_is_measured_without_ours_or_without_the_peers_python(fakes, tmp_path, capsys):
    fakes("ours", batch=16)
    assert peers.main([]) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: <ours>: other work than expected: batch is 16") and err.count("\n") == 1
    with (
        pytest.raises(peers.UnusableError, match=r"no Python at .*/none; `make benchmark-peers` makes one"),
        peers.started(FOREIGN[0], tmp_path / "none", {}),
    ):
        pass


@pytest.mark.parametrize("domain", ["Hopper-v4", "Walker2d-v4"])
def test_mujoco_answers_from_an_observation_as_it_answers_in_an_episode(domain):
    episode, other = envs.make(domain), envs.make(domain)
    states, actions, next_states, rewards = [episode.reset(seed=0)[0]], [], [], []
    other.reset(seed=1)
    for action in np.random.default_rng(0).uniform(-1, 1, (30, *episode.action_space.shape)):
        state, reward, *_ = episode.step(action)
        actions.append(action)
        next_states.append(state)
        rewards.append(reward)
        states.append(state)
    answered = model_error.simulate(other, np.array(states[:-1]), np.array(actions))
    whole = (np.abs(states[:-1]) < 10).all(axis=1)  # an observation clips velocities
    assert whole.sum() > 2
    np.testing.assert_allclose(answered[0][whole], np.array(next_states)[whole], atol=1e-3)
    np.testing.assert_allclose(answered[1][whole], np.array(rewards)[whole], atol=1e-3)


def test_a_perfect_prediction_explains_everything_and_the_mean_nothing():
    truth = np.random.default_rng(0).normal(size=(50, 3))
    assert model_error.explained(truth, truth) == 1
    assert model_error.explained(truth, np.broadcast_to(truth.mean(axis=0), truth.shape)) == pytest.approx(0)
    assert model_error.explained(truth, -truth) < 0
