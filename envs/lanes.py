"""The lanes of highway-env's roundabout as arrays, for the coordinates of many positions along all lanes at once.

Every sum keeps highway-env's order of operations, so all numbers are the same to the last bit.
"""

import numpy as np
from highway_env import utils
from highway_env.road.lane import AbstractLane, CircularLane, SineLane
from highway_env.road.road import LaneIndex, RoadNetwork


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
        # Among equally close lanes, the first in highway-env's order wins.
        self.search_order = np.array([self.column[index] for index in lanes])
        self.lengths = np.array([lane.length for lane in self.lanes])
        self.half_widths = np.array([lane.width / 2 + 1 for lane in self.lanes])  # m, to either side of a lane
        self.speed_limits = np.array([lane.speed_limit for lane in self.lanes])
        self.ends = np.array([lane.length - lane.VEHICLE_LENGTH / 2 for lane in self.lanes])  # see `after_end`
        roads = [index[:2] for index in ordered]
        self.road_numbers = np.array([roads.index(road) for road in roads])  # one number for lanes side by side
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

    def headings_at(self, columns: np.ndarray, along: np.ndarray) -> np.ndarray:
        """The headings (rad) [V] of one lane each at longitudinal coordinates [V]."""
        arcs = len(self.radii)
        is_arc = columns < arcs
        arc, line = np.where(is_arc, columns, 0), np.where(is_arc, 0, columns - arcs)
        turns = self.turns[arc]
        on_arcs = turns * along / self.radii[arc] + self.start_phases[arc] + np.pi / 2 * turns
        pulsations = self.pulsations[line]
        slopes = self.amplitudes[line] * pulsations * np.cos(pulsations * along + self.phases[line])
        return np.where(is_arc, on_arcs, self.line_headings[line] + np.arctan(slopes))

    def closest_columns(self, along: np.ndarray, across: np.ndarray, headings: np.ndarray) -> np.ndarray:
        """The columns [V] of the lanes closest in position and heading (rad) [V], as `get_closest_lane_index`."""
        angles = np.abs(utils.wrap_to_pi(headings[:, None] - self.headings(along)))
        beyond = np.maximum(along - self.lengths, 0)
        distances = np.abs(across) + beyond + np.maximum(-along, 0) + angles
        return self.search_order[np.argmin(distances[:, self.search_order], axis=1)]

    def get_closest_lane_index(self, position: np.ndarray, heading: float) -> LaneIndex:
        columns = self.closest_columns(*self.coordinates(position[None]), np.array([heading]))
        return self.indexes[columns[0]]
