"""The traffic of highway-env's roundabout, on many such roads at once.

highway-env moves one vehicle after the other, 15 frames a second, by Python loops over vehicles and lanes. Here the
numbers of all vehicles of all roads are arrays, [N] or [N, lanes], and a frame is a few dozen NumPy expressions. Rare
events stay with highway-env's own code, on its own updated objects: the next lane at a crossing, a change of lanes, a
collision. Every sum keeps highway-env's order of operations, so all numbers are the same to the last bit.
"""

import math
from collections.abc import Sequence

import numpy as np
from dyna_td.envs.lanes import LaneTable
from highway_env import utils
from highway_env.road.road import Road
from highway_env.vehicle.behavior import IDMVehicle
from highway_env.vehicle.controller import ControlledVehicle, MDPVehicle
from highway_env.vehicle.kinematics import Vehicle


class TableRoad(Road):
    """A road whose vehicles know their coordinates along all its lanes; `Traffic` moves them."""

    network: LaneTable

    def locate_vehicles(self) -> None:
        """Sets each vehicle's lane and its coordinates along and across all lanes from its position and heading."""
        positions = np.array([vehicle.position for vehicle in self.vehicles])
        headings = np.array([vehicle.heading for vehicle in self.vehicles])
        along, across = self.network.coordinates(positions)
        columns = self.network.closest_columns(along, across, headings)
        for vehicle, column, vehicle_along, vehicle_across in zip(self.vehicles, columns, along, across, strict=True):
            vehicle.locate(int(column), vehicle_along, vehicle_across)

    def neighbour_vehicles(self, vehicle, lane_index=None):
        column = self.network.column[lane_index or vehicle.lane_index]
        lane = self.network.lanes[column]
        start, end = -lane.VEHICLE_LENGTH, lane.length + lane.VEHICLE_LENGTH
        s = vehicle.along[column]
        front, s_front, rear, s_rear = None, math.inf, None, -math.inf
        for other in self.vehicles:
            s_other = other.along[column]
            is_beside = abs(other.across[column]) > self.network.half_widths[column]
            if other is vehicle or is_beside or not start <= s_other < end:
                continue
            if s <= s_other <= s_front:
                front, s_front = other, s_other
            elif s_rear < s_other < s:
                rear, s_rear = other, s_other
        return front, rear


class TableVehicle(ControlledVehicle):
    """A controlled vehicle that looks its coordinates up instead of computing them."""

    column: int
    along: np.ndarray  # its position along each lane, m, [lanes]
    across: np.ndarray

    def locate(self, column: int, along: np.ndarray, across: np.ndarray) -> None:
        """Sets its lane, and its coordinates along and across all lanes."""
        self.column, self.along, self.across = column, along, across
        network = self.road.network
        self.lane_index, self.lane = network.indexes[column], network.lanes[column]

    def on_state_update(self) -> None:
        """Does nothing: vehicles are located once all have moved."""

    def lane_distance_to(self, other, lane=None):
        if lane is not None:
            return super().lane_distance_to(other, lane)
        return other.along[self.column] - self.along[self.column]

    def follow_road(self) -> None:
        column = self.road.network.column[self.target_lane_index]
        if self.along[column] > self.road.network.ends[column]:
            super().follow_road()


class EgoVehicle(TableVehicle, MDPVehicle):
    """The agent's vehicle."""


class TrafficVehicle(TableVehicle, IDMVehicle):
    """A vehicle of the traffic: the intelligent driver model along the lane, MOBIL between lanes."""

    def acceleration(self, ego_vehicle, front_vehicle=None, rear_vehicle=None):
        if ego_vehicle is None:
            return 0
        target_speed = utils.not_zero(clamp(ego_vehicle.target_speed, 0, ego_vehicle.lane.speed_limit))
        speed_ratio = max(ego_vehicle.speed, 0) / abs(target_speed)
        acceleration = self.COMFORT_ACC_MAX * (1 - np.power(speed_ratio, self.DELTA))
        if front_vehicle is not None:
            distance = utils.not_zero(ego_vehicle.lane_distance_to(front_vehicle))
            gap_ratio = self.desired_gap(ego_vehicle, front_vehicle) / distance
            acceleration -= self.COMFORT_ACC_MAX * np.power(gap_ratio, 2)
        return acceleration


class Traffic:
    """All vehicles of some roads, moved together.

    The vehicles' objects are outdated until `hand_back`, except for their positions, which are views of `positions`.

    Args:
      roads: at least one; they have the same lanes and equally many vehicles.
    """

    def __init__(self, roads: Sequence[TableRoad]):
        self.network = roads[0].network
        self.vehicles = [vehicle for road in roads for vehicle in road.vehicles]  # N
        self.roads, self.size = len(roads), len(roads[0].vehicles)
        self.rows = np.arange(len(self.vehicles))
        # `others`: the other's row, for pairs [road, other, vehicle]. `is_pair`: each pair [vehicle, other] once.
        self.others = self.rows.reshape(self.roads, self.size, 1)
        self.is_other = ~np.eye(self.size, dtype=bool)
        self.is_pair = np.triu(self.is_other, 1)
        self.positions = self._collect("position")
        self.headings, self.speeds = self._collect("heading"), self._collect("speed")
        self.along, self.across = self._collect("along"), self._collect("across")
        self.columns = np.array([vehicle.column for vehicle in self.vehicles])
        self.targets = np.array([self.network.column[vehicle.target_lane_index] for vehicle in self.vehicles])
        self.target_speeds = self._collect("target_speed")
        self.is_traffic = np.array([isinstance(vehicle, TrafficVehicle) for vehicle in self.vehicles])
        self.exponents = np.array([getattr(vehicle, "DELTA", 1.0) for vehicle in self.vehicles])
        self.timers = np.array([getattr(vehicle, "timer", 0.0) for vehicle in self.vehicles])
        self.crashed = np.array([vehicle.crashed for vehicle in self.vehicles])
        self.diagonal = self.vehicles[0].diagonal
        for vehicle, position in zip(self.vehicles, self.positions, strict=True):
            vehicle.position = position

    def _collect(self, name: str) -> np.ndarray:
        return np.array([getattr(vehicle, name) for vehicle in self.vehicles], np.float64)

    def hand_back(self, road: int | None = None) -> None:
        """Updates the vehicles' objects, those of one road or all."""
        chosen = range(len(self.vehicles)) if road is None else range(road * self.size, (road + 1) * self.size)
        for i in chosen:
            vehicle = self.vehicles[i]
            vehicle.heading, vehicle.speed = float(self.headings[i]), float(self.speeds[i])
            vehicle.locate(int(self.columns[i]), self.along[i], self.across[i])
            if self.is_traffic[i]:
                vehicle.timer = float(self.timers[i])
            if road is None:
                vehicle.action = {"steering": float(self.steering[i]), "acceleration": float(self.acceleration[i])}

    def move(self, dt: float) -> None:
        """One frame of `dt` seconds: every vehicle decides (`Road.act`), then moves (`Road.step`)."""
        self._choose_lanes()
        self._steer()
        self._accelerate()
        self._drive(dt)
        self.along, self.across = self.network.coordinates(self.positions)
        self.columns = self.network.closest_columns(self.along, self.across, self.headings)
        self._collide(dt)

    def _choose_lanes(self) -> None:
        """Chooses next lanes at lanes' ends, and changes of lanes: both rare, so one vehicle after the other."""
        is_at_end = self.along[self.rows, self.targets] > self.network.ends[self.targets]
        numbers = self.network.road_numbers
        is_changing = self.columns != self.targets
        is_due = self.timers > IDMVehicle.LANE_CHANGE_DELAY
        # A change of lanes that has begun may be given up; a new one is considered once a second.
        may_change = np.where(is_changing, numbers[self.columns] == numbers[self.targets], is_due)
        is_asked = (is_at_end | (may_change & self.is_traffic)) & ~(self.is_traffic & self.crashed)
        up_to_date = set()
        for i in np.flatnonzero(is_asked).tolist():
            vehicle = self.vehicles[i]
            if i // self.size not in up_to_date:
                self.hand_back(i // self.size)
                up_to_date.add(i // self.size)
            vehicle.follow_road()
            if self.is_traffic[i]:
                vehicle.change_lane_policy()
                self.timers[i] = vehicle.timer
            self.targets[i] = self.network.column[vehicle.target_lane_index]

    def _steer(self) -> None:
        """Sets the steering angles (rad) [N], as `ControlledVehicle.steering_control`."""
        kind, speed = ControlledVehicle, _not_zero(self.speeds)
        ahead = self.along[self.rows, self.targets] + self.speeds * kind.TAU_PURSUIT
        lateral = -kind.KP_LATERAL * self.across[self.rows, self.targets] / speed
        correction = _clip(np.arcsin(_clip(lateral, -1.0, 1.0)), -np.pi / 4, np.pi / 4)
        heading = self.network.headings_at(self.targets, ahead) + correction
        turn_rate = kind.KP_HEADING * utils.wrap_to_pi(heading - self.headings)
        slip_angle = np.arcsin(_clip(kind.LENGTH / 2 / speed * turn_rate, -1.0, 1.0))
        steering = np.arctan(2 * np.tan(slip_angle))
        self.steering = _clip(steering, -kind.MAX_STEERING_ANGLE, kind.MAX_STEERING_ANGLE)

    def _accelerate(self) -> None:
        """Sets accelerations (m/s2) [N]: `IDMVehicle.acceleration` of the traffic, `speed_control` of the others."""
        kind = IDMVehicle
        wanted = _not_zero(_clip(self.target_speeds, 0.0, self.network.speed_limits[self.columns]))
        speed_ratio = np.maximum(self.speeds, 0.0) / np.abs(wanted)
        free = kind.COMFORT_ACC_MAX * (1 - np.power(speed_ratio, self.exponents))
        is_changing = self.columns != self.targets
        if is_changing.any():
            here, there = self._behind_others(np.stack([self.columns, self.targets]), free)
            chosen = np.where(is_changing, np.minimum(here, there), here)
        else:
            (chosen,) = self._behind_others(self.columns[None], free)
        cruise = ControlledVehicle.KP_A * (self.target_speeds - self.speeds)
        self.acceleration = np.where(self.is_traffic, _clip(chosen, -kind.ACC_MAX, kind.ACC_MAX), cruise)

    def _behind_others(self, columns: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Accelerations [K, N] behind the next vehicle on lanes [K, N]; `free` [N] where there is none."""
        kind = IDMVehicle
        acceleration = np.empty(columns.shape)
        acceleration[:] = free
        front = self._front(columns)
        case, follower = (front >= 0).nonzero()
        if not len(follower):
            return acceleration
        leader, own, speed = front[case, follower], self.columns[follower], self.speeds[follower]
        distance = _not_zero(self.along[leader, own] - self.along[follower, own])
        direction = _directions(self.headings)
        velocity = self.speeds[:, None] * direction
        closing = np.vecdot(velocity[follower] - velocity[leader], direction[follower])
        comfort = math.sqrt(-kind.COMFORT_ACC_MAX * kind.COMFORT_ACC_MIN)
        gap = kind.DISTANCE_WANTED + speed * kind.TIME_WANTED + speed * closing / (2 * comfort)
        acceleration[case, follower] -= kind.COMFORT_ACC_MAX * np.power(gap / distance, 2)
        return acceleration

    def _front(self, columns: np.ndarray) -> np.ndarray:
        """The number of the next vehicle on lanes [K, N], or -1: the first result of `neighbour_vehicles`."""
        wanted = columns.reshape(-1, self.roads, 1, self.size)
        along = self.along[self.others, wanted]  # [K, road, other, vehicle]
        is_ahead = np.abs(self.across[self.others, wanted]) <= self.network.half_widths[wanted]
        is_ahead &= (along >= -Vehicle.LENGTH) & (along < self.network.lengths[wanted] + Vehicle.LENGTH)
        is_ahead &= (along >= self.along[self.rows, columns].reshape(wanted.shape)) & self.is_other
        distance = np.where(is_ahead, along, np.inf)[:, :, ::-1]  # where two are equally far, the last counts
        front = self.size - 1 - distance.argmin(axis=2) + self.others[:, 0]
        return np.where(is_ahead.any(axis=2), front, -1).reshape(columns.shape)

    def _drive(self, dt: float) -> None:
        """`Vehicle.step` of all vehicles."""
        if self.crashed.any():
            self.steering = np.where(self.crashed, 0.0, self.steering)
            self.acceleration = np.where(self.crashed, -1.0 * self.speeds, self.acceleration)
        fastest, slowest = Vehicle.MAX_SPEED, Vehicle.MIN_SPEED
        if (np.abs(self.speeds) > fastest).any():  # `fastest` and `slowest` are equally far from 0
            slower = np.minimum(self.acceleration, fastest - self.speeds)
            faster = np.maximum(self.acceleration, slowest - self.speeds)
            self.acceleration = np.where(self.speeds > fastest, slower, self.acceleration)
            self.acceleration = np.where(self.speeds < slowest, faster, self.acceleration)
        beta = np.arctan(1 / 2 * np.tan(self.steering))
        self.positions += self.speeds[:, None] * _directions(self.headings + beta) * dt
        for i, vehicle in enumerate(self.vehicles):
            if vehicle.impact is not None:
                self.positions[i] += vehicle.impact
                self.crashed[i] = vehicle.crashed = True
                vehicle.impact = None
        self.headings += self.speeds * np.sin(beta) / (Vehicle.LENGTH / 2) * dt
        self.speeds += self.acceleration * dt
        self.timers += dt

    def _collide(self, dt: float) -> None:
        """`RoadObject.handle_collisions` of each pair on a road that is close enough."""
        place = self.positions.reshape(self.roads, self.size, 2)
        between = place[:, None] - place[:, :, None]  # [road, vehicle, other, 2]
        distance = np.sqrt(np.vecdot(between, between))
        reach = (self.diagonal + self.diagonal) / 2 + (self.speeds * dt).reshape(self.roads, self.size, 1)
        is_close = (distance <= reach) & self.is_pair
        if not is_close.any():
            return
        for road, first, second in np.argwhere(is_close).tolist():
            pair = [road * self.size + first, road * self.size + second]
            vehicle, other = (self.vehicles[i] for i in pair)
            for i in pair:
                self.vehicles[i].heading, self.vehicles[i].speed = float(self.headings[i]), float(self.speeds[i])
            vehicle.handle_collisions(other, dt)
            self.crashed[pair] = vehicle.crashed, other.crashed


def clamp(x: float, low: float, high: float) -> float:
    """x, clipped to [low, high]; np.clip takes tens of times as long on one number."""
    return low if x < low else high if x > high else x


def _clip(x: np.ndarray, low, high) -> np.ndarray:
    """`np.clip`, which takes several times as long on a few numbers."""
    return np.minimum(np.maximum(x, low), high)


def _directions(headings: np.ndarray) -> np.ndarray:
    """Unit vectors of headings (rad): [N] -> [N, 2]."""
    directions = np.empty((len(headings), 2))
    directions[:, 0] = np.cos(headings)
    directions[:, 1] = np.sin(headings)
    return directions


def _not_zero(x: np.ndarray) -> np.ndarray:
    """`utils.not_zero` of each number."""
    is_small = np.abs(x) <= 1e-2
    return np.where(is_small, np.where(x >= 0, 1e-2, -1e-2), x) if is_small.any() else x
