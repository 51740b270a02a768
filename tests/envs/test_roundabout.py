"""The roundabout against highway-env's own and against hand-computed cases.

`EPISODES=2500 pytest tests/envs/test_roundabout.py` sets the number of random episodes to compare.
"""

import os

import numpy as np
import pytest
from dyna_td.envs.roundabout import Roundabout
from highway_env.envs.roundabout_env import RoundaboutEnv

EPISODES = int(os.environ.get("EPISODES", "24"))
LEFT, RIGHT = 0, 2


def scene(environment):
    """Each vehicle's motion to the last bit, and the state of the random numbers; what else differs moves it later."""
    vehicles = environment.road.vehicles
    motion = [[*each.position, each.heading, each.speed, each.target_speed, each.crashed] for each in vehicles]
    return np.float64(motion).tobytes(), environment.np_random.bit_generator.state


def assert_same_step(ours, theirs, action):
    observation, ours_reward, *ours_ends, info = ours.step(action)
    their_observation, _, *their_ends, their_info = theirs.step(action)
    assert scene(ours) == scene(theirs)
    assert observation.tobytes() == their_observation.tobytes()
    raw = -theirs.vehicle.crashed + 0.2 * (theirs.vehicle.speed_index / 3) - 0.05 * (action in (LEFT, RIGHT))
    assert ours_reward == 0 + (raw + 1.05) * (1 - 0) / (0.2 + 1.05)
    assert ours_ends == their_ends
    assert {**info, "rewards": None} == {**their_info, "rewards": None}
    return any(ours_ends)


@pytest.mark.timeout(max(120, EPISODES))
def test_random_episodes_equal_those_of_highway_env_to_the_last_bit():
    action = {"type": "DiscreteMetaAction", "target_speeds": [0, 5, 10, 15]}  # as in the paper
    theirs = RoundaboutEnv({"observation": {"type": "TimeToCollision", "horizon": 10}, "action": action})
    ours, rng, crashes = Roundabout(), np.random.default_rng(0), 0
    for episode in range(EPISODES):
        seed = episode if episode % 2 == 0 else None  # every other episode continues the stream of random numbers
        observation, info = ours.reset(seed=seed)
        their_observation, their_info = theirs.reset(seed=seed)
        assert scene(ours) == scene(theirs)
        assert observation.tobytes() == their_observation.tobytes()
        assert info == {key: their_info[key] for key in ("crashed", "speed")}
        preferences = rng.dirichlet(np.ones(5))  # careless, careful and undecided drivers
        ended = False
        while not ended:
            ended = assert_same_step(ours, theirs, int(rng.choice(5, p=preferences)))
        crashes += ours.vehicle.crashed
    assert 0 < crashes < EPISODES and ours.ends_are_terminal


def test_environments_that_drive_together_are_as_each_alone_to_the_last_bit():
    together, alone = ([Roundabout() for _ in range(9)] for _ in range(2))
    rng = np.random.default_rng(1)
    for episode in range(max(1, EPISODES // 8)):
        for seed, pair in enumerate(zip(together, alone, strict=True), 100 * episode):
            for environment in pair:
                environment.reset(seed=seed)
        running = list(range(len(together)))
        while running:
            actions = rng.integers(5, size=len(running)).tolist()
            together[0].drive_ahead([together[k] for k in running], actions)
            for k, action in zip(list(running), actions, strict=True):
                if assert_same_step(together[k], alone[k], action):
                    running.remove(k)


def test_options_at_a_reset_are_refused():
    with pytest.raises(ValueError, match="Roundabout has no options at reset"):
        Roundabout().reset(options={"config": {"duration": 5}})


def test_leaving_the_road_is_paid_like_staying_on_it():
    environment = Roundabout()
    environment.reset(seed=0)
    environment.vehicle.position[:] = 60, 60
    environment.road.locate_vehicles()
    assert environment.step(1)[1] == pytest.approx((0.4 / 3 + 1.05) / 1.25, abs=1e-12)
    assert not environment.vehicle.on_road
