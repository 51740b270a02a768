"""The benchmark of peers: the same work, who may take part, and the numbers that come of their times."""

import importlib
import re
import sys

import numpy as np
import pandas as pd
import peers
import pytest
import work

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


@pytest.mark.parametrize("module", ["our_dqn", pytest.param("keras_dqn", marks=pytest.mark.thorough)])
def test_the_implementations_in_the_projects_environment_learn_the_weights_that_numpy_learns(module, monkeypatch):
    monkeypatch.setattr(work, "BUFFER", 64)
    learner = importlib.import_module(module).make()
    asked = work.problem(learner.facts["seeds"])
    right, begun = (peers.flat(layers) for layers in (work.solve(asked, tensorflow=True), asked.weights))
    learned = peers.flat(learner.improve(asked))
    assert np.linalg.norm(learned - right) < 1e-4 * np.linalg.norm(right - begun)
    assert learner.done() == len(asked.batches)


def test_a_peer_that_cannot_take_part_is_one_sentence_and_the_others_are_measured(fakes, tmp_path, capsys):
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
