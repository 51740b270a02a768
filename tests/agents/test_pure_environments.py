"""What an environment has to be, and what happens where it is not: nothing goes on with other numbers unsaid."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
from helpers import register, run_of

from dyna_td import cli
from dyna_td.learning.streams import Purpose
from dyna_td.pipeline.policy import Policy
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.environments import EnvironmentStack, impurity
from dyna_td.training.gym_program import GymProgram
from dyna_td.training.program import CannotResume
from dyna_td.training.trainer import execute

SMALL = {"planning_updates": 1, "warm_up_steps": 10**6, "batch_size": 4, "hidden": (4, 4)}


class Pure(gymnasium.Env):
    """A random walk that follows from the seed of its reset and the actions alone."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(3)
    resets = steps = 0
    opened, most_open = 0, 0  # of all copies, by the class that a test registers

    def __init__(self):
        kind = type(self)
        kind.opened += 1
        kind.most_open = max(kind.most_open, kind.opened)

    def close(self):
        type(self).opened -= 1

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


class Normalising(Pure):
    """Shows a running mean, as a normalising wrapper does."""

    def observed(self):
        return self.state / (1 + self.resets)


class Shared(Pure):
    """Draws from NumPy's global random numbers."""

    def observed(self):
        return self.state + np.random.random()


class SharedAndSeeded(Shared):
    """Does so too, and gives them the seed of its own reset."""

    def reset(self, *, seed=None, options=None):
        np.random.seed(seed)
        return super().reset(seed=seed, options=options)


class Ageing(Pure):
    """Repeats itself in its first resets, and not later."""

    def observed(self):
        return self.state + max(0, self.resets - 4)


IMPURE = [Normalising, Shared]


@pytest.mark.parametrize("kind", [*IMPURE, SharedAndSeeded])
def test_an_environment_that_a_reset_does_not_restore_is_seen_when_training_starts(monkeypatch, kind):
    name = register(monkeypatch, kind, limit=20)
    assert (
        impurity(name, 0) == f"environment {name}: after two resets with one seed, the same actions gave other numbers"
    )


@pytest.mark.parametrize("environment", [Pure, "Pendulum-v1", "CartPole-v1"])
def test_a_pure_environment_is_not_blamed(monkeypatch, environment):
    assert impurity(environment if isinstance(environment, str) else register(monkeypatch, environment), 0) == ""


@pytest.mark.parametrize("kind", [*IMPURE, Ageing, Pure])
def test_episodes_go_on_only_where_they_were(monkeypatch, kind):
    name = register(monkeypatch, kind, limit=20)

    def played(stack, episodes):
        for episode in range(episodes):
            stack.reset(Purpose.RESET, episode)
            ended = False
            while not ended and not (episode + 1 == episodes and stack._environments[1][0].unwrapped.steps % 5 == 4):
                ended = stack.step(1, 0, np.int32(1), episode)[3]
        return stack

    snapshot = played(EnvironmentStack(name, (3, 4)), 9).snapshot("x")
    fresh = EnvironmentStack(name, (3, 4))
    if kind is Pure:
        observed = fresh.resume(snapshot, "x")
        assert observed.shape == (2, 1, 2) and fresh.snapshot("x").keys() == snapshot.keys()
        np.testing.assert_equal(fresh.snapshot("x"), snapshot)
        return
    with pytest.raises(CannotResume, match=rf"^environment {name}, seed \d: its last episode, repeated, gave other"):
        fresh.resume(snapshot, "x")


def test_a_training_that_cannot_go_on_says_so_and_starts_anew(monkeypatch, tmp_path, capsys):
    run = run_of(register(monkeypatch, Ageing, limit=6), "er", (0, 1), 60, 20, **SMALL)
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
    assert said.endswith("; the training starts anew.\n")
    pd.testing.assert_frame_equal(resumed.records, whole.records, check_exact=True)
    seen = pd.concat(watched).sort_values(["seed", "step", "metric"], ignore_index=True)
    pd.testing.assert_frame_equal(seen, whole.records, check_exact=True)  # none of them twice


def test_an_impure_environment_is_remarked_and_never_resumed(monkeypatch):
    program = GymProgram(run_of(register(monkeypatch, Normalising, limit=6), "er", (0, 1), 60, 20, **SMALL))
    assert program.remarks() == dict.fromkeys((0, 1), impurity(program.environments.name, 0))
    with pytest.raises(CannotResume, match="after two resets with one seed"):
        program.resume(program.snapshot())


class OfOneSeed(Pure):
    """Refuses the resets of all seeds but one."""

    def reset(self, *, seed=None, options=None):
        known = [np.random.SeedSequence([0, *key]).generate_state(1)[0] for key in self.keys]
        if seed not in known:
            raise RuntimeError("another seed")
        return super().reset(seed=seed, options=options)


def test_a_single_seed_opens_no_environment_for_its_companion_and_closes_all(monkeypatch):
    keys = [(purpose, step, 0) for purpose in Purpose for step in range(62)]
    run = run_of(register(monkeypatch, OfOneSeed, 6, keys=keys), "er", (0,), 60, 20, **SMALL)
    kind = gymnasium.spec(run.environment).entry_point
    alone = execute(run)
    assert kind.opened == 0 and kind.most_open == 2  # one to train in, one to evaluate in
    name = register(monkeypatch, Pure, 6)
    pair = execute(run_of(name, "er", (0, 5), 60, 20, **SMALL))
    theirs = pair.records[pair.records["seed"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.records, theirs, check_exact=True)
    for weights, both in zip(alone.weights.values(), pair.weights.values(), strict=True):
        np.testing.assert_array_equal(weights, both[:1])


def test_played_seeds_do_not_depend_on_those_before_them(monkeypatch, tmp_path, capsys):
    name = register(monkeypatch, Normalising, limit=6)
    about = {"environment": name, "agent": "er", "seeds": [0, 1], "settings": {"activation": "relu"}}
    weights = {"q.kernel0": np.ones([2, 3, 2], np.float32), "q.bias0": np.zeros([2, 3], np.float32)}
    Policy(about, weights).save(tmp_path / "x.policy.npz")
    command = ["play", str(tmp_path / "x.policy.npz"), "--episodes", "2"]
    assert cli.main(command) == 0
    of_both = capsys.readouterr().out.splitlines()
    assert cli.main([*command, "--seed", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1] == of_both[2]
    assert gymnasium.spec(name).entry_point.opened == 0
