"""Demands on an environment: one that breaks them is reported, and never resumed with other numbers in silence."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from helpers import register, run_of

from dyna_td.learning.streams import Purpose
from dyna_td.programs.environments import EnvironmentStack, impurity
from dyna_td.programs.gym import GymProgram
from dyna_td.programs.program import CannotResume
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.trainer import execute

SMALL = {"planning_updates": 1, "warm_up_steps": 10**6, "batch_size": 4, "hidden": (4, 4)}


class Pure(gymnasium.Env):
    """A random walk that depends only on the seed of its reset and the actions."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(3)
    resets = steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.resets = self.np_random.normal(size=2), self.resets + 1
        return self.observed(), {}

    def step(self, action):
        self.steps += 1
        self.state = self.state + self.np_random.normal(size=2) + action
        return self.observed(), float(self.state[0]), bool(self.state[1] > 8), False, {}

    def observed(self):
        return self.state.copy()


def seeded_reset(self, *, seed=None, options=None):
    np.random.seed(seed)
    return Pure.reset(self, seed=seed, options=options)


# Attributes that make impure environments.
NORMALISING = {"observed": lambda self: self.state / (1 + self.resets)}  # as a wrapper's running mean
SHARED = {"observed": lambda self: self.state + np.random.random()}  # draws from NumPy's global random numbers
SHARED_AND_SEEDED = SHARED | {"reset": seeded_reset}  # seeds NumPy's global numbers at each reset
AGEING = {"observed": lambda self: self.state + max(0, self.resets - 4)}  # pure only in its first resets


@pytest.mark.parametrize("kind", [NORMALISING, SHARED, SHARED_AND_SEEDED, {}, "Pendulum-v1", "CartPole-v1"])
def test_an_environment_that_a_reset_does_not_restore_is_seen_when_training_starts_and_no_other(monkeypatch, kind):
    name = kind if isinstance(kind, str) else register(monkeypatch, Pure, limit=20, **kind)
    blame = f"environment {name}: after two resets with one seed, the same actions gave other numbers"
    assert impurity(name, 0) == (blame if "observed" in kind else "")


@pytest.mark.parametrize("kind", [NORMALISING, SHARED, AGEING, {}])
def test_episodes_go_on_only_where_they_were(monkeypatch, kind):
    name = register(monkeypatch, Pure, limit=20, **kind)

    def played(stack, episodes):
        for episode in range(episodes):
            stack.reset(Purpose.RESET, episode)
            ended = False
            while not ended and not (episode + 1 == episodes and stack._environments[1][0].unwrapped.steps % 5 == 4):
                ended = stack.step(1, 0, np.int32(1), episode)[3]
        return stack

    snapshot = played(EnvironmentStack(name, (3, 4)), 9).snapshot()
    fresh = EnvironmentStack(name, (3, 4))
    if not kind:
        observed = fresh.resume(snapshot)
        assert observed.shape == (2, 1, 2) and fresh.snapshot().keys() == snapshot.keys()
        np.testing.assert_equal(fresh.snapshot(), snapshot)
        return
    with pytest.raises(CannotResume, match=rf"^environment {name}, seed \d: its last episode, repeated, gave other"):
        fresh.resume(snapshot)


def test_a_training_that_cannot_go_on_says_so_and_restarts(monkeypatch, tmp_path, capsys):
    run = run_of(register(monkeypatch, Pure, limit=6, **AGEING), "er", (0, 1), 60, 20, **SMALL)
    watched = []

    def kill(done, total):
        if done >= 40:
            raise KeyboardInterrupt

    path = tmp_path / "x.checkpoint"
    whole = execute(run)
    with pytest.raises(KeyboardInterrupt):
        execute(run, kill, Checkpoint(path, {}, interval=0.0))
    capsys.readouterr()
    resumed = execute(run, checkpoint=Checkpoint(path, {}), watch=watched.append)
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and f"{run.environment}, seed 0: its last episode" in said
    assert said.endswith("; the training restarts.\n")
    pd.testing.assert_frame_equal(resumed.records, whole.records, check_exact=True)
    seen = pd.concat(watched).sort_values(["seed", "step", "metric"], ignore_index=True)
    pd.testing.assert_frame_equal(seen, whole.records, check_exact=True)  # no record occurs twice


def test_an_impure_environment_is_remarked_and_never_resumed(monkeypatch):
    program = GymProgram(run_of(register(monkeypatch, Pure, limit=6, **NORMALISING), "er", (0, 1), 60, 20, **SMALL))
    assert program.remarks() == dict.fromkeys((0, 1), impurity(program.environments.name, 0))
    with pytest.raises(CannotResume, match="after two resets with one seed"):
        program.resume(program.snapshot())


@pytest.mark.parametrize(("bound", "words"), [(8, ""), (0, "is_terminal_state is True in the state [")])
def test_a_rule_of_termination_that_contradicts_the_environment_is_remarked(monkeypatch, bound, words):
    name = register(monkeypatch, Pure, limit=20, is_terminal_state=staticmethod(lambda states: states[..., 1] > bound))
    program = GymProgram(run_of(name, "dyna_td", (0, 1), 60, 20, model="learned", **SMALL))
    program.train(tf.constant(30))
    remarks = program.remarks()
    assert sorted(remarks) == ([0, 1] if words else [])
    assert all(f"seed {seed}: {words}" in text and "of 30 transitions" in text for seed, text in remarks.items())
