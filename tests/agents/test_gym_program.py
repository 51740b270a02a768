"""Training in Gymnasium environments: stored transitions, ends of episodes, and mistakes of environments."""

import gymnasium
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from files import sentence_of
from helpers import register, run_of, stored

from dyna_td.programs import gym
from dyna_td.programs.environments import EnvironmentStack, impurity
from dyna_td.programs.gym import GymProgram
from dyna_td.programs.program import CannotResume
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.trainer import execute

SEEDS = 2
SMALL = {"planning_updates": 1, "warm_up_steps": 10**6, "batch_size": 4, "hidden": (4, 4)}


class Counter(gymnasium.Env):
    """Observations count the steps of an episode, from 100 in one copy's first episode, 200 in its second ..."""

    terminate_at = None  # the last step of an episode that ends by itself
    unit = 1.0  # of rewards
    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2, 1), np.float64)
    action_space = gymnasium.spaces.Discrete(3)

    def __init__(self):
        self.episode, self.seeds = 0, []

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.episode += 1
        self.count = 0
        return self.observe(), {}

    def step(self, action):
        self.count += 1
        return self.observe(), self.unit * self.count, self.count == self.terminate_at, False, {}

    def observe(self):
        return np.array([[100.0 * self.episode + self.count], [self.seeds[-1] % 97]])


ARRAY = np.zeros([2, 1], np.float32)


def refill(self):
    """Observes in a single array, which every step overwrites."""
    ARRAY[:] = Counter.observe(self)
    return ARRAY


def short_run(environment, agent="er", seeds=range(SEEDS), evaluate_every=500, **settings):
    return run_of(environment, agent, seeds, 60, evaluate_every, **SMALL | settings)


def test_a_last_observation_is_stored_and_a_terminal_one_ends_the_bootstrap(monkeypatch):
    program = GymProgram(short_run(register(monkeypatch, Counter, terminate_at=4, observe=refill)))
    program.agent.learner.q_target.biases[-1].assign(tf.fill([SEEDS, 3, 1], 1000.0))  # Q is about 1000 everywhere
    program.train(tf.constant(9))
    batch = stored(program.agent)
    state, next_state = batch.state.numpy()[0, :, 0], batch.next_state.numpy()[0, :, 0]
    np.testing.assert_array_equal(state, [100, 101, 102, 103, 200, 201, 202, 203, 300])
    np.testing.assert_array_equal(next_state, [101, 102, 103, 104, 201, 202, 203, 204, 301])
    rewards = np.array([1, 2, 3, 4, 1, 2, 3, 4, 1])
    np.testing.assert_array_equal(batch.reward[0], rewards)
    ends = np.array([0, 0, 0, 1, 0, 0, 0, 1, 0])
    np.testing.assert_array_equal(batch.terminated[1], ends)
    target = program.agent.learner.td_target(batch).numpy()
    np.testing.assert_allclose(target, [rewards + 990 * (1 - ends)] * SEEDS, rtol=0.01)


def begun(name, seed=0):
    """An environment after its reset."""
    stack = EnvironmentStack(name, (seed,))
    stack.reset(0, 0)
    return stack


@pytest.mark.parametrize("ends_are_terminal", [False, True])
def test_a_time_limit_is_no_terminal_state_unless_the_environment_says_so(monkeypatch, ends_are_terminal):
    stack = begun(register(monkeypatch, Counter, limit=4, ends_are_terminal=ends_are_terminal))
    ends = [stack.step(0, 0, np.int32(0), step)[2:4] for step in range(4)]
    assert ends == [(False, False)] * 3 + [(ends_are_terminal, True)]


def with_part(number, value):
    """An environment's answer with one part replaced."""
    return lambda *answer: (*answer[:number], value, *answer[number + 1 :])


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (ZeroDivisionError("the wheel\ncame off"), "step raised ZeroDivisionError: the wheel came off"),
        (with_part(0, np.array([[1.0], [np.nan]])), "part 1 of the observation is nan"),
        (with_part(0, np.zeros(5)), "the observation has shape (5,), its declared space (2, 1)"),
        (with_part(1, np.float64(np.inf)), "reward is inf, expected a finite number"),
        (with_part(3, None), "truncated is None, expected True or False"),
        (lambda *answer: answer[:3] + answer[4:], "step returned 4 values, expected a tuple of observation, reward"),
    ],
)
def test_a_mistake_of_an_environment_is_one_sentence_with_seed_and_step(monkeypatch, fault, words):
    def step(self, action):
        if isinstance(fault, BaseException):
            raise fault
        return fault(*Counter.step(self, action))

    name = register(monkeypatch, Counter, step=step)
    sentence = sentence_of(begun(name, seed=3).step, 0, 0, np.int32(0), 6)
    assert sentence.startswith(f"environment {name}, seed 3, step 6: {words}")
    assert sentence.endswith("; training stops.")


def test_a_reward_in_an_array_is_the_number_in_it(monkeypatch):
    answer = (np.zeros((2, 1)), np.array([2.5]), np.array([1]), np.False_, {})
    stack = begun(register(monkeypatch, Counter, step=lambda self, action: answer))
    _, reward, is_terminal, is_over, _ = stack.step(0, 0, np.int32(0), 0)
    assert (reward, is_terminal, is_over) == (2.5, True, True) and type(reward) is float


def test_leaving_the_declared_space_is_remarked_even_after_a_kill_and_stops_nothing(monkeypatch):
    narrow = gymnasium.spaces.Box(np.float64([[0], [0]]), np.float64([[3], [97]]))
    # Its observations depend only on the seed of its reset and the steps since, as in a well-behaved environment.
    shown = {"observe": lambda self: np.array([[float(self.count)], [self.seeds[-1] % 97]])}
    name = register(monkeypatch, Counter, limit=6, observation_space=narrow, **shown)
    killed, resumed = (GymProgram(short_run(name)) for _ in range(2))
    killed.train(tf.constant(10))
    resumed.resume(killed.snapshot())
    declared = f"environment {name}, seed 0, step 3: part 0 of the observation was 4, outside its declared [0, 3]"
    assert resumed.remarks() == {0: declared, 1: declared.replace("seed 0", "seed 1")}
    np.testing.assert_equal(resumed.environments.snapshot(), killed.environments.snapshot())  # for the next kill


def test_an_evaluation_without_end_is_cut_and_its_return_keeps_all_digits(monkeypatch):
    monkeypatch.setattr(gym, "MAX_EPISODE_STEPS", 25)
    metrics = GymProgram(short_run(register(monkeypatch, Counter, unit=1_000_001.0))).evaluate()
    np.testing.assert_array_equal(metrics["episode_length"], [25, 25])
    np.testing.assert_array_equal(metrics["return"], [1_000_001 * 25 * 26 / 2] * 2)


def test_an_evaluation_is_the_mean_of_its_episodes_and_changes_nothing(monkeypatch):
    program = GymProgram(short_run("Pendulum-v1", evaluation_episodes=3))
    before = program.values()
    metrics = program.evaluate()
    np.testing.assert_equal(program.values(), before)
    for seed in range(SEEDS):
        total = []
        for copy in range(3):
            episode = gymnasium.make("Pendulum-v1")
            entropy = np.random.SeedSequence([seed, 9, 1, copy])  # purpose 9 is EVALUATION_RESET, step 0 counts as 1
            state, _ = episode.reset(seed=int(entropy.generate_state(1)[0]))
            for _ in range(200):
                states = tf.constant(np.broadcast_to(state, (SEEDS, 1, 3)), tf.float32)
                state, reward, *_ = episode.step(2 * program.agent.learner.greedy(states)[seed, 0].numpy())
                total.append(reward)
        assert metrics["return"][seed].numpy() == pytest.approx(sum(total) / 3, rel=1e-4)


def test_roundabout_evaluations_report_crashes_and_speed():
    metrics = GymProgram(short_run("roundabout-paper-v0")).evaluate()
    length, crashed = metrics["episode_length"].numpy(), metrics["crashed"].numpy()
    assert set(crashed) <= {0, 1} and ((length < 11) == (crashed == 1)).all()
    assert ((metrics["speed"].numpy() > 0) & (metrics["speed"].numpy() <= 20)).all()


# Demands on an environment: one that breaks them is reported, and never resumed with other numbers in silence.


class Pure(gymnasium.Env):
    """A random walk that depends only on the seed of its reset and the actions."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    action_space = gymnasium.spaces.Discrete(3)
    resets = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.state, self.resets = self.np_random.normal(size=2), self.resets + 1
        return self.observed(), {}

    def step(self, action):
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


def test_a_training_that_cannot_go_on_says_so_and_restarts(monkeypatch, tmp_path, capsys):
    run = short_run(register(monkeypatch, Pure, limit=6, **AGEING), evaluate_every=20)
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
    program = GymProgram(short_run(register(monkeypatch, Pure, limit=6, **NORMALISING)))
    assert program.remarks() == dict.fromkeys((0, 1), impurity(program.environments.name, 0))
    with pytest.raises(CannotResume, match="after two resets with one seed"):
        program.resume(program.snapshot())


@pytest.mark.parametrize(("bound", "words"), [(8, ""), (0, "is_terminal_state is True in the state [")])
def test_a_rule_of_termination_that_contradicts_the_environment_is_remarked(monkeypatch, bound, words):
    name = register(monkeypatch, Pure, limit=20, is_terminal_state=staticmethod(lambda states: states[..., 1] > bound))
    program = GymProgram(short_run(name, "dyna_td", model="learned"))
    program.train(tf.constant(30))
    remarks = program.remarks()
    assert sorted(remarks) == ([0, 1] if words else [])
    assert all(f"seed {seed}: {words}" in text and "of 30 transitions" in text for seed, text in remarks.items())
