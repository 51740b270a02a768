"""Warm-ups that reach the goal, with its transitions in B_er, and search control without a termination rule."""

import functools

import demonstration
import gymnasium
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from demonstration import Demonstrated, episode
from files import tiers
from helpers import observe, random_transitions, run_of, untrained
from scipy import stats

from dyna_td.errors import UserError
from dyna_td.plan.plans import make_settings
from dyna_td.programs.program import make_program
from dyna_td.publishing.warm_up_goals import SEEDS, warm_up_goals
from dyna_td.records.files import ROOT

WARM_UP = 600


def test_the_published_warm_ups_are_walked_again_whichever_seeds_walk_together():
    published = pd.read_csv(ROOT / "reference" / "warm_up.csv").set_index(["environment", "seed"]).loc["GridWorld"]
    walked = warm_up_goals("GridWorld", [9, 0, 18]).set_index("seed")
    assert list(published.index) == list(SEEDS)
    assert list(walked["goals"]) == [2, 0, 3] == list(published.loc[[9, 0, 18], "goals"])
    np.testing.assert_array_equal(walked["first_goal_step"], published.loc[[9, 0, 18], "first_goal_step"])


@functools.cache
def warmed_up(environment, goal):
    """A program whose agent has seen its warm-up of random transitions, and the transitions of its B_er."""
    made = untrained(environment, "er_warm_up", 0, 3, steps=WARM_UP, warm_up_steps=WARM_UP, warm_up_goal=goal)
    observe(made.agent, random_transitions(made.twin, WARM_UP, 3))
    return made, made.agent.replay.block(0, WARM_UP)


@pytest.mark.parametrize("environment", ["GridWorld", "MountainCar-v0"])
def test_a_shown_goal_is_one_episode_of_the_environment_that_reaches_it(environment):
    made, shown = warmed_up(environment, "shown")
    np.testing.assert_array_equal(shown.terminated.numpy().sum(axis=1), [1, 1, 1])
    for seed in range(3):
        end = int(np.flatnonzero(shown.terminated[seed])[0])
        begin = WARM_UP - 200
        state, next_state = shown.state.numpy()[seed], shown.next_state.numpy()[seed]
        np.testing.assert_array_equal(state[begin + 1 : end + 1], next_state[begin:end])
        assert made.twin.is_terminal(tf.constant(next_state[end]))
        assert not made.twin.is_terminal(tf.constant(next_state[begin:end])).numpy().any()


@pytest.mark.parametrize("environment", tiers(["GridWorld", "MountainCar-v0"], quick=["GridWorld"]))
def test_of_the_last_transition_alone_the_warm_up_has_no_path(environment):
    _, shown = warmed_up(environment, "shown")
    _, last = warmed_up(environment, "last")
    _, hidden = warmed_up(environment, "hidden")
    is_goal = shown.terminated.numpy() > 0
    for whole, alone, without in zip(shown, last, hidden, strict=True):
        np.testing.assert_array_equal(alone.numpy()[is_goal], whole.numpy()[is_goal])
        np.testing.assert_array_equal(alone.numpy()[~is_goal], without.numpy()[~is_goal])


@pytest.mark.parametrize("environment", tiers(["GridWorld", "MountainCar-v0"], quick=["GridWorld"]))
def test_a_random_walk_ends_the_warm_up_at_the_goal_with_actions_of_no_preference(environment):
    made, walked = warmed_up(environment, "walk")
    np.testing.assert_array_equal(walked.terminated.numpy().sum(axis=1), [1, 1, 1])
    assert (walked.terminated.numpy()[:, -1] == 1).all()
    for seed in range(3):
        state, action, next_state = (part[seed, -200:] for part in (walked.state, walked.action, walked.next_state))
        np.testing.assert_array_equal(state[1:], next_state[:-1])
        if not made.twin.noise_dim:
            np.testing.assert_allclose(made.twin.step(state, action, None)[0], next_state, atol=1e-6)
        assert stats.chisquare(np.bincount(action, minlength=made.twin.actions)).pvalue > 1e-3
    assert not np.array_equal(walked.action[0, -200:], walked.action[1, -200:])


def test_a_hidden_goal_replaces_only_the_transitions_into_it():
    _, natural = warmed_up("CartPole-v1", "natural")
    _, hidden = warmed_up("CartPole-v1", "hidden")
    ends = natural.terminated.numpy() > 0
    assert ends.any(axis=1).all()
    assert not hidden.terminated.numpy().any()
    for before, after in zip(natural, hidden, strict=True):
        np.testing.assert_array_equal(before.numpy()[~ends], after.numpy()[~ends])


def test_blind_search_control_takes_no_state_for_terminal_and_its_model_predicts_the_end():
    agents = "GridWorld", "uniform_states_warm_up", 40
    blind, known = (untrained(*agents, model="learned", termination=rule).agent for rule in ("learned", "known"))
    goal = tf.constant([[[0.99, 0.99]]] * 2)
    assert known.first_alive(goal)[1].numpy().tolist() == [0, 0]
    assert blind.first_alive(goal)[1].numpy().tolist() == [1, 1]
    outputs = [agent.model.network.parameters[-1].shape[1] for agent in (blind, known)]
    assert outputs == [4, 3]  # s' - s, r and, for the blind agent, P(terminal)


def test_what_cannot_be_shown_or_held_is_refused():
    for environment in ("CartPole-v1", "GridWorld-corner0.25"):
        with pytest.raises(UserError):
            make_program(run_of(environment, "dyna_td_warm_up", warm_up_goal="shown"))
    with pytest.raises(UserError, match="hold the whole warm-up"):
        make_settings("GridWorld", "er_warm_up", {"warm_up_goal": "hidden", "buffer_capacity": 4999})


def test_the_example_agents_warm_up_ends_with_the_demonstration_and_is_random_before():
    made = untrained("MountainCar-v0", "prioritized_er", 0, warm_up_steps=300)
    agent = Demonstrated(made.agent.settings, made.agent.learner, made.agent.streams, made.twin, 400)
    met = random_transitions(made.twin, 310, seeds=2)
    observe(agent, met)
    shown = episode()
    length = len(shown.reward)
    assert shown.terminated[-1] and not shown.terminated[:-1].any()
    for kept, random, demonstrated in zip(agent.replay.block(0, 310), met, shown, strict=True):
        for seed in range(2):
            expected = random[seed].numpy().copy()
            expected[300 - length : 300] = demonstrated
            np.testing.assert_array_equal(kept[seed], expected)


def test_the_examples_vectors_act_within_the_environments_bounds(monkeypatch):
    monkeypatch.setattr(demonstration, "ENVIRONMENT", "InvertedPendulum-v5")  # its forces reach 3
    monkeypatch.setattr(demonstration, "policy", lambda state: np.array([0.5]))
    environment = gymnasium.make("InvertedPendulum-v5")
    environment.reset(seed=0)
    np.testing.assert_array_equal(episode().next_state[0], environment.step(np.array([1.5]))[0])
