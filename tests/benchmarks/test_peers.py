"""The benchmark of peers: our own implementation and Keras's do the same work as NumPy."""

import importlib

import numpy as np
import peers
import pytest
import work


@pytest.mark.parametrize("module", ["our_dqn", pytest.param("keras_dqn", marks=pytest.mark.thorough)])
def test_the_implementations_in_the_projects_environment_learn_the_weights_that_numpy_learns(module, monkeypatch):
    monkeypatch.setattr(work, "BUFFER", 64)
    learner = importlib.import_module(module).make()
    asked = work.problem(learner.facts["seeds"])
    right, begun = (peers.flat(layers) for layers in (work.solve(asked, tensorflow=True), asked.weights))
    learned = peers.flat(learner.improve(asked))
    assert np.linalg.norm(learned - right) < 1e-4 * np.linalg.norm(right - begun)
    assert learner.done() == len(asked.batches)
