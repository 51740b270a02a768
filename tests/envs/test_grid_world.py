"""GridWorld and MazeGridWorld: geometry and dynamics against hand-computed cases."""

import numpy as np
import pytest
from dyna_td.envs.grid_world import DOWN, GRID_WALLS, LEFT, MAZE_WALLS, RIGHT, UP, in_goal, in_wall, transition


def moved(state, action, noise=0.0, walls=GRID_WALLS):
    next_state, _, _ = transition(np.array(state, np.float32), action, noise, walls)
    return next_state


@pytest.mark.parametrize(("noise", "length"), [(0.0, 0.05), (2.0, 0.07), (-1.0, 0.04)])
@pytest.mark.parametrize(("action", "way"), [(UP, (0, 1)), (RIGHT, (1, 0)), (DOWN, (0, -1)), (LEFT, (-1, 0))])
def test_an_action_moves_one_coordinate_by_a_twentieth_and_a_hundredth_for_each_deviation(action, way, noise, length):
    sign = 1 if sum(way) > 0 else -1  # noise keeps its sign for every action
    end = 0.3 + np.abs(way) * (sign * 0.05 + 0.01 * noise)
    np.testing.assert_allclose(moved((0.3, 0.3), action, noise), end, rtol=0, atol=1e-7)


INSIDE = {
    "GridWorld": [(0.55, 0.2), (0.55, 0.8), (0.5, 0.2), (0.6, 0.2), (0.55, 0.399), (0.55, 0.501)],
    "MazeGridWorld": [(0.25, 0.3), (0.45, 0.45), (0.75, 0.45)],
}
OUTSIDE = {
    "GridWorld": [(0.55, 0.45), (0.499, 0.2), (0.601, 0.2), (0.55, 0.4), (0.55, 0.5), (0.5, 0.4), (0.6, 0.5)],
    "MazeGridWorld": [(0.25, 0.45), (0.35, 0.3), (0.45, 0.95), (0.45, 1.0), (0.6, 0.5), (0.75, 0.15), (0.9, 0.5)],
}


@pytest.mark.parametrize(("world", "walls"), [("GridWorld", GRID_WALLS), ("MazeGridWorld", MAZE_WALLS)])
def test_walls_contain_their_edges_and_so_do_their_holes(world, walls):
    for points, inside in ((INSIDE[world], True), (OUTSIDE[world], False)):
        for x, y in points:
            assert in_wall(np.float32(x), np.float32(y), walls) == inside, (x, y)


@pytest.mark.parametrize(
    ("start", "action", "end", "walls"),
    [
        ((0.48, 0.2), RIGHT, (0.48, 0.2), GRID_WALLS),  # the wall
        ((0.48, 0.45), RIGHT, (0.53, 0.45), GRID_WALLS),  # its hole
        ((0.58, 0.2), RIGHT, (0.63, 0.2), GRID_WALLS),  # out of the wall
        ((0.98, 0.3), RIGHT, (1.0, 0.3), GRID_WALLS),  # the borders of the square
        ((0.3, 0.02), DOWN, (0.3, 0.0), GRID_WALLS),
        ((0.45, 0.98), UP, (0.45, 0.98), MAZE_WALLS),  # above the hole [0.9, 1.0]: walls are tested before clipping
    ],
)
def test_a_move_ends_at_a_border_and_is_blocked_by_a_wall_but_not_in_its_hole(start, action, end, walls):
    found = moved(start, action, walls=walls)
    np.testing.assert_allclose(found, np.float32(end), rtol=0, atol=1e-7)
    assert ((found >= 0) & (found <= 1)).all()


def test_the_goal_excludes_its_inner_edges_and_only_the_step_into_it_ends_the_episode_and_costs_nothing():
    x, y = np.float32([[0.96, 1.0, 0.95, 1.0], [0.96, 1.0, 1.0, 0.95]])
    np.testing.assert_array_equal(in_goal(x, y), [True, True, False, False])
    for start, expected in (((0.92, 0.97), (0.0, True)), ((0.92, 0.9), (-1.0, False))):
        assert transition(np.float32(start), RIGHT, 0.0, GRID_WALLS)[1:] == expected
