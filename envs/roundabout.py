"""The paper's roundabout: highway-env 1.12's `roundabout-v0` with 90 state variables, and faster.

What is taken as given (the specification of this reproduction):

- The observation is highway-env's TimeToCollision with a horizon of 10 s, flattened: 3 speeds x 3 lanes x 10 seconds.
- The ego vehicle tracks one of the speeds 0, 5, 10, 15 m/s.
- The reward is -1 for a crash + 0.2 * speed_index / 3 - 0.05 for a lane change, mapped from [-1.05, 0.2] to [0, 1].
- 11 decisions an episode, one a second. `info` has `crashed` (bool) and `speed` (m/s) of the ego vehicle.
- The released code treats the end of an episode as terminal. Here the 11th decision is truncated, as Gymnasium wants
  it, and the attribute `ends_are_terminal` tells a training loop to cut the bootstrap there all the same.

What is inferred, from highway-env as it was between May and August 2020:

- The speed index is that of the ego vehicle's target speed after the decision, not of its current speed.
- A lane change is the choice of action 0 (left) or 2 (right), whether or not there is a lane to change to. The others
  are 1 (idle), 3 (faster) and 4 (slower).
- Leaving the road costs nothing; highway-env 1.12 gives no reward there.

The roads, the traffic and the ego vehicle's start are those of highway-env 1.12: a circle of 20 m, a start at 8 m/s.
The version of 2020 that we could read has 30 m and 5 m/s.

Most of highway-env's time goes into Python loops over the 32 lanes, which find the lane closest to each vehicle in
each of the 15 frames a second. Here one NumPy expression gives the coordinates of all vehicles along all lanes, once a
frame, and whatever needs coordinates looks them up. Every sum keeps highway-env's order of operations, so all numbers
are the same to the last bit.
"""

import functools
import math
import os
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from gymnasium import spaces
from highway_env import utils
from highway_env.envs.common.action import DiscreteMetaAction
from highway_env.envs.common.graphics import EnvViewer
from highway_env.envs.common.observation import TimeToCollisionObservation
from highway_env.envs.roundabout_env import RoundaboutEnv
from highway_env.road.lane import AbstractLane, CircularLane, SineLane
from highway_env.road.road import LaneIndex, Road, RoadNetwork
from highway_env.vehicle.behavior import IDMVehicle
from highway_env.vehicle.controller import MDPVehicle
from highway_env.vehicle.kinematics import Vehicle

from dyna_td.errors import UserError

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


def _clamp(x: float, low: float, high: float) -> float:
    # np.clip takes tens of times as long on a number.
    return low if x < low else high if x > high else x


class LaneTable(RoadNetwork):
    """A road network that knows the coordinates of many positions along all its lanes at once.

    A lane is a column: first the arcs, which share one centre, then the straight and sinusoidal lanes.
    """

    def __init__(self, network: RoadNetwork):
        super().__init__()
        self.graph = network.graph
        lanes = self.lanes_dict()
        ordered = sorted(lanes, key=lambda index: not isinstance(lanes[index], CircularLane))
        self.indexes: list[LaneIndex] = ordered
        self.lanes: list[AbstractLane] = [lanes[index] for index in ordered]
        self.column = {index: column for column, index in enumerate(ordered)}
        # Equally close lanes: the first in highway-env's order wins.
        self.search_order = np.array([self.column[index] for index in lanes])
        self.lengths = np.array([lane.length for lane in self.lanes])
        self._describe_arcs([lane for lane in self.lanes if isinstance(lane, CircularLane)])
        self._describe_lines([lane for lane in self.lanes if not isinstance(lane, CircularLane)])

    def _describe_arcs(self, arcs: list[CircularLane]) -> None:
        (centre,) = {tuple(lane.center) for lane in arcs}
        self.centre = np.array(centre)
        self.start_phases = np.array([lane.start_phase for lane in arcs])
        self.radii = np.array([lane.radius for lane in arcs])
        self.turns = np.array([lane.direction for lane in arcs])

    def _describe_lines(self, lines: list[AbstractLane]) -> None:
        # A straight lane is a sinusoidal one of amplitude 0: it adds an exact 0 to headings and lateral coordinates.
        waves = np.array(
            [
                (lane.amplitude, lane.pulsation, lane.phase) if isinstance(lane, SineLane) else (0, 0, 0)
                for lane in lines
            ]
        )
        self.amplitudes, self.pulsations, self.phases = waves.T
        self.starts = np.array([lane.start for lane in lines])
        self.directions = np.array([lane.direction for lane in lines])
        self.normals = np.array([lane.direction_lateral for lane in lines])
        self.line_headings = np.array([lane.heading for lane in lines])

    def coordinates(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Longitudinal and lateral coordinates (m) [V, lanes] of positions (m) [V, 2], as `local_coordinates`."""
        from_centre = positions - self.centre
        # vecdot, because it adds two products exactly as the dot product inside np.linalg.norm does.
        radius = np.sqrt(np.vecdot(from_centre, from_centre))
        angle = np.arctan2(from_centre[:, 1], from_centre[:, 0])
        phase = self.start_phases + utils.wrap_to_pi(angle[:, None] - self.start_phases)  # [V, arcs]
        from_start = positions[:, None] - self.starts  # [V, lines, 2]
        along_lines = np.vecdot(from_start, self.directions)
        waves = self.amplitudes * np.sin(self.pulsations * along_lines + self.phases)
        along = (self.turns * (phase - self.start_phases) * self.radii, along_lines)
        across = (self.turns * (self.radii - radius[:, None]), np.vecdot(from_start, self.normals) - waves)
        return np.concatenate(along, axis=1), np.concatenate(across, axis=1)

    def headings(self, along: np.ndarray) -> np.ndarray:
        """Headings (rad) [V, lanes] of the lanes at longitudinal coordinates [V, lanes], as `heading_at`."""
        arcs, lines = along[:, : len(self.radii)], along[:, len(self.radii) :]
        slopes = self.amplitudes * self.pulsations * np.cos(self.pulsations * lines + self.phases)
        return np.concatenate(
            [
                self.turns * arcs / self.radii + self.start_phases + np.pi / 2 * self.turns,
                self.line_headings + np.arctan(slopes),
            ],
            axis=1,
        )

    def closest_columns(self, along: np.ndarray, across: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """The columns [V] of the lanes closest in position and heading (rad) [V], as `get_closest_lane_index`."""
        angles = np.abs(utils.wrap_to_pi(headings[:, None] - self.headings(along)))
        beyond = np.maximum(along - self.lengths, 0)
        distances = np.abs(across) + beyond + np.maximum(-along, 0) + angles
        return self.search_order[np.argmin(distances[:, self.search_order], axis=1)]

    def get_closest_lane_index(self, position: np.ndarray, heading: float) -> LaneIndex:
        columns = self.closest_columns(*self.coordinates(position[None]), np.array([heading]))
        return self.indexes[columns[0]]


class TableRoad(Road):
    """A road that tells all its vehicles their lanes and coordinates at once; without objects other than vehicles."""

    network: LaneTable

    def locate_vehicles(self) -> None:
        """Sets each vehicle's lane and its coordinates along and across all lanes from its position and heading."""
        positions = np.array([vehicle.position for vehicle in self.vehicles])
        headings = np.array([vehicle.heading for vehicle in self.vehicles])
        along, across = self.network.coordinates(positions)
        columns = self.network.closest_columns(along, across, headings)
        rows = zip(self.vehicles, columns.tolist(), along.tolist(), across.tolist(), strict=True)
        for vehicle, column, vehicle_along, vehicle_across in rows:
            vehicle.column, vehicle.along, vehicle.across = column, vehicle_along, vehicle_across
            vehicle.lane_index, vehicle.lane = self.network.indexes[column], self.network.lanes[column]

    def step(self, dt: float) -> None:
        for vehicle in self.vehicles:
            vehicle.step(dt)
        self.locate_vehicles()
        for i, vehicle in enumerate(self.vehicles):
            x, y = vehicle.position.tolist()
            # Twice the reach at which highway-env begins to look closer: no rounding can matter.
            reach = 2 * (vehicle.diagonal + vehicle.speed * dt)
            for other in self.vehicles[i + 1 :]:
                other_x, other_y = other.position.tolist()
                if abs(other_x - x) < reach and abs(other_y - y) < reach:
                    vehicle.handle_collisions(other, dt)

    def neighbour_vehicles(self, vehicle, lane_index=None):
        column = self.network.column[lane_index or vehicle.lane_index]
        lane = self.network.lanes[column]
        half_width = lane.width / 2 + 1
        start, end = -lane.VEHICLE_LENGTH, lane.length + lane.VEHICLE_LENGTH
        s = vehicle.along[column]
        front, s_front, rear, s_rear = None, math.inf, None, -math.inf
        for other in self.vehicles:
            s_other = other.along[column]
            if other is vehicle or abs(other.across[column]) > half_width or not start <= s_other < end:
                continue
            if s <= s_other <= s_front:
                front, s_front = other, s_other
            elif s_rear < s_other < s:
                rear, s_rear = other, s_other
        return front, rear


class TableVehicle(Vehicle):
    """A controlled vehicle that looks its coordinates up instead of computing them."""

    column: int
    along: list[float]
    across: list[float]

    def on_state_update(self) -> None:
        """Nothing: the road locates its vehicles once all have moved."""

    def lane_distance_to(self, other, lane=None):
        if lane is not None:
            return super().lane_distance_to(other, lane)
        return other.along[self.column] - self.along[self.column]

    def follow_road(self) -> None:
        column = self.road.network.column[self.target_lane_index]
        lane = self.road.network.lanes[column]
        if self.along[column] > lane.length - lane.VEHICLE_LENGTH / 2:
            super().follow_road()

    def steering_control(self, target_lane_index: LaneIndex) -> float:
        column = self.road.network.column[target_lane_index]
        speed = utils.not_zero(self.speed)
        ahead = self.along[column] + self.speed * self.TAU_PURSUIT
        correction = np.arcsin(_clamp(-self.KP_LATERAL * self.across[column] / speed, -1, 1))
        heading = self.road.network.lanes[column].heading_at(ahead) + _clamp(correction, -np.pi / 4, np.pi / 4)
        turn_rate = self.KP_HEADING * utils.wrap_to_pi(heading - self.heading)
        slip_angle = np.arcsin(_clamp(self.LENGTH / 2 / speed * turn_rate, -1, 1))
        steering_angle = np.arctan(2 * np.tan(slip_angle))
        return float(_clamp(steering_angle, -self.MAX_STEERING_ANGLE, self.MAX_STEERING_ANGLE))


class EgoVehicle(TableVehicle, MDPVehicle):
    """The agent's vehicle."""


class TrafficVehicle(TableVehicle, IDMVehicle):
    """A vehicle of the traffic: the intelligent driver model along the lane, MOBIL between lanes."""

    def act(self, action=None) -> None:
        if self.crashed:
            return
        self.follow_road()
        if self.enable_lane_change:
            self.change_lane_policy()
        acceleration = self._acceleration_behind_others(self.lane_index)
        if self.lane_index != self.target_lane_index:
            acceleration = min(acceleration, self._acceleration_behind_others(self.target_lane_index))
        self.action = {
            "steering": self.steering_control(self.target_lane_index),
            "acceleration": _clamp(acceleration, -self.ACC_MAX, self.ACC_MAX),
        }

    def _acceleration_behind_others(self, lane_index: LaneIndex) -> float:
        front, rear = self.road.neighbour_vehicles(self, lane_index)
        return self.acceleration(self, front, rear)

    def acceleration(self, ego_vehicle, front_vehicle=None, rear_vehicle=None):
        if ego_vehicle is None:
            return 0
        target_speed = utils.not_zero(_clamp(ego_vehicle.target_speed, 0, ego_vehicle.lane.speed_limit))
        speed_ratio = max(ego_vehicle.speed, 0) / abs(target_speed)
        acceleration = self.COMFORT_ACC_MAX * (1 - np.power(speed_ratio, self.DELTA))
        if front_vehicle is not None:
            distance = utils.not_zero(ego_vehicle.lane_distance_to(front_vehicle))
            gap_ratio = self.desired_gap(ego_vehicle, front_vehicle) / distance
            acceleration -= self.COMFORT_ACC_MAX * np.power(gap_ratio, 2)
        return acceleration


class FlatTimeToCollision(TimeToCollisionObservation):
    """highway-env's TimeToCollision over 3 speeds, 3 lanes and HORIZON seconds, flattened to float32 [90].

    An entry is the cost in [0, 1] of being on that lane, after so many seconds, at that speed.
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
            speed = vehicle.index_to_speed(_clamp(vehicle.speed_index + row - 1, 0, fastest))
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
    """The paper's roundabout; see the module's text.

    Observations are float32 [90] in [0, 1], the five actions are those of EgoActions, rewards lie in [0, 1]. The render
    mode is None or "rgb_array"; any other raises UserError.
    """

    metadata: ClassVar[dict] = {"render_modes": ["rgb_array"], "render_fps": 2}
    ends_are_terminal = True

    def __init__(self, render_mode: str | None = None):
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise UserError(f"unknown render mode {render_mode!r} of Roundabout: choose 'rgb_array' or None.")
        self._network: LaneTable | None = None
        super().__init__(render_mode=render_mode)

    @classmethod
    def default_config(cls) -> dict:
        config = super().default_config()
        config["observation"] = {"type": "TimeToCollision", "horizon": HORIZON}
        config["action"] = {"type": "DiscreteMetaAction", "target_speeds": list(TARGET_SPEEDS)}
        config["other_vehicles_type"] = f"{__name__}.{TrafficVehicle.__name__}"
        config["duration"] = DECISIONS
        return config

    def define_spaces(self) -> None:
        # Once: highway-env makes new spaces at each reset, which would forget the seed of the action space.
        if self.action_space is None:
            self.observation_type = FlatTimeToCollision(self, HORIZON)
            self.action_type = EgoActions(self, target_speeds=TARGET_SPEEDS)
            self.observation_space = self.observation_type.space()
            self.action_space = self.action_type.space()

    def _make_road(self) -> None:
        if self._network is None:
            super()._make_road()
            self._network = LaneTable(self.road.network)
        self.road = TableRoad(self._network, np_random=self.np_random)

    def _make_vehicles(self) -> None:
        super()._make_vehicles()
        self.road.locate_vehicles()

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[np.ndarray, dict]:
        """Starts an episode; returns (observation [90], {"crashed", "speed"}). There are no options."""
        if options:
            raise UserError(f"Roundabout has no options at reset, got {options!r}: leave them out.")
        observation, info = super().reset(seed=seed)
        return observation, {"crashed": info["crashed"], "speed": info["speed"]}

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        """Drives for a second; returns (observation [90], reward, crashed, whether this was decision 11, info).

        Raises:
          UserError: the action is not one of 0, 1, 2, 3, 4.
        """
        if not self.action_space.contains(action):
            raise UserError(
                f"unknown action {action!r} of Roundabout: "
                "choose 0 (left), 1 (idle), 2 (right), 3 (faster) or 4 (slower)."
            )
        return super().step(action)

    def _rewards(self, action: int) -> dict[str, float]:
        return {
            "collision_reward": self.vehicle.crashed,
            "high_speed_reward": self.vehicle.speed_index / (len(TARGET_SPEEDS) - 1),
            "lane_change_reward": action in LANE_CHANGES,
        }

    def _reward(self, action: int) -> float:
        return reward(self.vehicle.crashed, self.vehicle.speed_index, action in LANE_CHANGES)

    def render(self) -> np.ndarray | None:
        """The scene around the ego vehicle (uint8 [600, 600, 3]), or None without a render mode."""
        if self.render_mode is None:
            return None
        if self.viewer is None:
            self.viewer = _offscreen_viewer(self)
        return super().render()


def _offscreen_viewer(env: Roundabout) -> EnvViewer:
    """A viewer that draws on a machine without a display, too."""
    driver = os.environ.get("SDL_VIDEODRIVER")
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        # Else SDL would look for a display and complain that there is none.
        os.environ["SDL_VIDEODRIVER"] = "dummy"
    try:
        viewer = EnvViewer(env)
    finally:
        if driver is None:
            os.environ.pop("SDL_VIDEODRIVER", None)
        else:
            os.environ["SDL_VIDEODRIVER"] = driver
    # highway-env takes the dummy driver as a wish for black pictures.
    viewer.enabled = True
    return viewer
