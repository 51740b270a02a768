"""Buffers have exactly as much room as a run can fill."""

import pytest
from helpers import run_of

from dyna_td.programs.program import make_program

STEPS, SEEDS = 40_000, (0, 1, 2)


@pytest.mark.parametrize(
    ("environment", "agent", "settings", "numbers"),
    [  # numbers per transition: s, s', a, r, terminated; then its priority, its target; per queued state: s
        ("GridWorld", "prioritized_er", {"buffer_capacity": STEPS}, STEPS * (2 + 2 + 3 + 1)),
        ("MountainCar-v0", "full_prioritized_er", {"buffer_capacity": STEPS}, STEPS * (2 + 2 + 3 + 1 + 1)),
        ("GridWorld", "er", {"buffer_capacity": 5_000}, 5_000 * (2 + 2 + 3)),
        ("Acrobot-v1", "dyna_td", {"warm_up_steps": 2_000, "search_every": 10}, STEPS * 15 + 20 * 3_801 * 6),
    ],
)
def test_a_buffer_has_room_for_each_step_up_to_its_capacity(environment, agent, settings, numbers):
    arrays = make_program(run_of(environment, agent, SEEDS, STEPS, hidden=(4,), **settings)).snapshot().values()
    large = sum(array.nbytes for array in arrays if max(array.shape, default=0) > 1_000)  # wider than any layer
    assert large == pytest.approx(len(SEEDS) * 4 * numbers, rel=0.01)
