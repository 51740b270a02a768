"""The paper's roundabout: highway-env 1.12's `roundabout-v0` with 90 state variables and faster traffic.

Given (row 60 of docs/deviations.md):

- The observation is highway-env's TimeToCollision with a horizon of 10 s, flattened: 3 speeds x 3 lanes x 10 seconds.
- The ego vehicle tracks one of the speeds 0, 5, 10, 15 m/s.
- The reward is -1 for a crash + 0.2 * speed_index / 3 - 0.05 for a lane change, mapped from [-1.05, 0.2] to [0, 1].
- 11 decisions an episode, one a second. `info` has `crashed` (bool) and `speed` (m/s) of the ego vehicle; in a step
  also highway-env's `action` and `rewards`.
- The released code treats the end of an episode as terminal. Here the 11th decision is truncated, as Gymnasium
  requires. The attribute `ends_are_terminal` asks a training loop to cut the bootstrap there too.

Inferred from highway-env of May to August 2020:

- The speed index is that of the ego vehicle's target speed after the decision, not of its current speed.
- A lane change is the choice of action 0 (left) or 2 (right), whether or not there is a lane to change to. The others
  are 1 (idle), 3 (faster) and 4 (slower).
- Leaving the road costs nothing; highway-env 1.12 gives no reward there.

The roads, the traffic and the ego vehicle's start are those of highway-env 1.12: a circle of 20 m, a start at 8 m/s.
The version of 2020 that we could read has 30 m and 5 m/s.

It is faster because traffic.py moves all vehicles of a roundabout, or of many at once (`Roundabout.drive_ahead`), as
arrays; the numbers are highway-env's to the last bit.
"""

import functools
import math
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from dyna_td.envs.lanes import LaneTable
from dyna_td.envs.traffic import EgoVehicle, TableRoad, Traffic, TrafficVehicle, clamp
from gymnasium import spaces
from highway_env import utils
from highway_env.envs.common.action import DiscreteMetaAction
from highway_env.envs.common.graphics import EnvViewer
from highway_env.envs.common.observation import TimeToCollisionObservation
from highway_env.envs.roundabout_env import RoundaboutEnv
from highway_env.vehicle.kinematics import Vehicle

DECISIONS = 11
TARGET_SPEEDS = (0, 5, 10, 15)  # m/s
HORIZON = 10  # s
OBSERVED_SPEEDS = OBSERVED_LANES = 3

CRASH_REWARD, SPEED_REWARD, LANE_CHANGE_REWARD = -1.0, 0.2, -0.05
LANE_CHANGES = (0, 2)


def reward(crashed: bool, speed_index: int, lane_change: bool) -> float:
    """The reward in [0, 1] of a decision.

    Args:
      crashed: whether the ego vehicle has crashed.
      speed_index: index of its target speed in TARGET_SPEEDS.
      lane_change: whether the decision was a lane change.
    """
    speed = speed_index / (len(TARGET_SPEEDS) - 1)
    value = CRASH_REWARD * crashed + SPEED_REWARD * speed + LANE_CHANGE_REWARD * lane_change
    return float(utils.lmap(value, [CRASH_REWARD + LANE_CHANGE_REWARD, SPEED_REWARD], [0, 1]))


class FlatTimeToCollision(TimeToCollisionObservation):
    """highway-env's TimeToCollision over 3 speeds, 3 lanes and HORIZON seconds, flattened to float32 [90].

    An entry is the cost in [0, 1] of driving at that speed on that lane, so many seconds ahead.
    """

    def space(self) -> spaces.Box:
        return spaces.Box(0, 1, (OBSERVED_SPEEDS * OBSERVED_LANES * HORIZON,), np.float32)

    def observe(self) -> np.ndarray:
        vehicle = self.observer_vehicle
        lanes = len(self.env.road.network.all_side_lanes(vehicle.lane_index))
        fastest = len(vehicle.target_speeds) - 1
        grid = np.ones((OBSERVED_SPEEDS, OBSERVED_LANES, HORIZON), np.float32)  # lanes that do not exist cost 1
        first_lane = vehicle.lane_index[2] - 1
        seen = slice(max(-first_lane, 0), min(lanes - first_lane, OBSERVED_LANES))
        others = [self._prospect(other, lanes) for other in self.env.road.vehicles if other is not vehicle]
        for row in range(OBSERVED_SPEEDS):
            speed = vehicle.index_to_speed(clamp(vehicle.speed_index + row - 1, 0, fastest))
            costs = self._costs_at(speed, [other for other in others if other is not None], lanes)
            grid[row, seen] = costs[seen.start + first_lane : seen.stop + first_lane]
        return grid.ravel()

    def _prospect(self, other, lanes: int):
        """(speed, distance, projected speed, lanes) of another vehicle on a road ahead, else None."""
        vehicle, network = self.observer_vehicle, self.env.road.network
        if not network.is_connected_road(vehicle.lane_index, other.lane_index, route=vehicle.route, depth=3):
            return None
        distance = vehicle.lane_distance_to(other)
        projected_speed = other.speed * np.dot(other.direction, vehicle.direction)
        same_width = len(network.all_side_lanes(other.lane_index)) == lanes
        return other.speed, distance, projected_speed, [other.lane_index[2]] if same_width else range(lanes)

    def _costs_at(self, speed: float, others, lanes: int) -> list[list[float]]:
        """Costs [lanes, HORIZON] of driving at a speed (m/s): 1 in a collision, 0.5 within a vehicle's length."""
        costs = [[0.0] * HORIZON for _ in range(lanes)]
        for other_speed, distance, projected_speed, other_lanes in others:
            if speed == other_speed:
                continue
            closing_speed = utils.not_zero(speed - projected_speed)
            for margin, cost in ((0, 1.0), (-Vehicle.LENGTH, 0.5), (Vehicle.LENGTH, 0.5)):
                time = (distance + margin) / closing_speed
                if not 0 <= time < HORIZON:
                    continue
                for second in (math.floor(time), math.ceil(time)):
                    if second < HORIZON:
                        for lane in other_lanes:
                            costs[lane][second] = max(costs[lane][second], cost)
        return costs


class EgoActions(DiscreteMetaAction):
    """The five decisions 0 left, 1 idle, 2 right, 3 faster, 4 slower of an EgoVehicle."""

    @property
    def vehicle_class(self) -> Callable[..., EgoVehicle]:
        return functools.partial(EgoVehicle, target_speeds=self.target_speeds)


class Roundabout(RoundaboutEnv):
    """The paper's roundabout; see the module's docstring.

    Observations are float32 [90] in [0, 1], the five actions are those of EgoActions, rewards lie in [0, 1]. The render
    mode is None or "rgb_array"; any other raises ValueError.
    """

    metadata: ClassVar[dict] = {"render_modes": ["rgb_array"], "render_fps": 2}
    ends_are_terminal = True
    _network: ClassVar[LaneTable | None] = None  # shared by all instances

    def __init__(self, render_mode: str | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"unknown render mode {render_mode!r} of Roundabout: choose 'rgb_array' or None.")
        self._driven_ahead: int | None = None  # the action that `drive_ahead` has driven
        super().__init__(render_mode=render_mode)

    @classmethod
    def default_config(cls) -> dict:
        config = super().default_config()
        config["observation"] = {"type": "TimeToCollision", "horizon": HORIZON}
        config["action"] = {"type": "DiscreteMetaAction", "target_speeds": list(TARGET_SPEEDS)}
        config["other_vehicles_type"] = utils.get_class_path(TrafficVehicle)
        config["duration"] = DECISIONS
        return config

    def define_spaces(self) -> None:
        # Only once: highway-env makes new spaces at each reset, which would lose the seed of the action space.
        if self.action_space is None:
            self.observation_type = FlatTimeToCollision(self, HORIZON)
            self.action_type = EgoActions(self, target_speeds=TARGET_SPEEDS)
            self.observation_space = self.observation_type.space()
            self.action_space = self.action_type.space()

    def _make_road(self) -> None:
        if Roundabout._network is None:
            super()._make_road()
            Roundabout._network = LaneTable(self.road.network)
        self.road = TableRoad(Roundabout._network, np_random=self.np_random)

    def _make_vehicles(self) -> None:
        super()._make_vehicles()
        self.road.locate_vehicles()

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode; returns (observation [90], {"crashed", "speed"}). There are no options."""
        if options:
            raise ValueError(f"Roundabout has no options at reset, got {options!r}: leave them out.")
        self._driven_ahead = None
        observation, info = super().reset(seed=seed)
        return observation, {"crashed": info["crashed"], "speed": info["speed"]}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Drives for a second; returns (observation [90], reward, crashed, whether this was decision 11, info).

        Raises:
          ValueError: the action is not one of 0, 1, 2, 3, 4, or not the one driven ahead, see `drive_ahead`.
        """
        if not self.action_space.contains(action):
            raise ValueError(
                f"unknown action {action!r} of Roundabout: "
                "choose 0 (left), 1 (idle), 2 (right), 3 (faster) or 4 (slower)."
            )
        if self._driven_ahead not in (None, action):
            raise ValueError(
                f"action {action} of Roundabout, which was driven ahead with action {self._driven_ahead}: "
                "step it with that one, or reset it."
            )
        return super().step(action)

    @staticmethod
    def drive_ahead(environments: Sequence["Roundabout"], actions: Sequence[int]) -> None:
        """Drives the environments' next `step`, with these actions, in advance: all together, and so faster."""
        _drive(environments, actions)
        for environment, action in zip(environments, actions, strict=True):
            environment._driven_ahead = action

    def _simulate(self, action: int | None = None) -> None:
        if self._driven_ahead is None:
            _drive([self], [action])
        self._driven_ahead = None

    def _reward(self, action: int) -> float:
        return reward(self.vehicle.crashed, self.vehicle.speed_index, action in LANE_CHANGES)

    def render(self) -> np.ndarray | None:
        """The scene around the ego vehicle (uint8 [600, 600, 3]), or None without a render mode."""
        if self.render_mode is None:
            return None
        if self.viewer is None:
            self.viewer = _offscreen_viewer(self)
        return super().render()


def _drive(environments: Sequence[Roundabout], actions: Sequence[int]) -> None:
    """Drives each environment for a second; those with equally many vehicles move together."""
    by_count = defaultdict(list)
    for environment, action in zip(environments, actions, strict=True):
        environment.action_type.act(action)
        by_count[len(environment.road.vehicles)].append(environment)
    config = environments[0].config
    frames = config["simulation_frequency"] // config["policy_frequency"]
    for group in by_count.values():
        traffic = Traffic([environment.road for environment in group])
        watched = [environment for environment in group if environment.viewer is not None]
        for frame in range(frames):
            traffic.move(1 / config["simulation_frequency"])
            for environment in group:
                environment.steps += 1
            if watched and frame < frames - 1:
                traffic.hand_back()
                for environment in watched:
                    environment._automatic_rendering()
        traffic.hand_back()
        for environment in group:
            environment.enable_auto_render = False


def _offscreen_viewer(env: Roundabout) -> EnvViewer:
    """A viewer that also draws on a machine without a display."""
    driver = os.environ.get("SDL_VIDEODRIVER")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        # Otherwise SDL would look for a display and complain.
        os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        viewer = EnvViewer(env)
    finally:
        if driver is None:
            os.environ.pop("SDL_VIDEODRIVER", None)
        else:
            os.environ["SDL_VIDEODRIVER"] = driver
    # With the dummy driver, highway-env would draw black pictures.
    viewer.enabled = True
    return viewer
