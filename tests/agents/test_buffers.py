"""Buffers have room for all that a run can ever add, and for no more."""

import pytest
from helpers import run_of

from dyna_td.training.program import make_program

STEPS = 40_000


@pytest.mark.parametrize(
    ("environment", "agent", "stored", "numbers"),
    [
        ("GridWorld", "prioritized_er", 40_000, 2 + 2 + 3 + 1),  # s, s', a, r, whether it ends; and its priority
        ("MountainCar-v0", "full_prioritized_er", 40_000, 2 + 2 + 3 + 1 + 1),  # and its target
        ("GridWorld", "er", 5_000, 2 + 2 + 3),
    ],
)
def test_a_buffer_holds_a_transition_for_each_step_up_to_its_capacity(environment, agent, stored, numbers):
    run = run_of(environment, agent, (0, 1, 2), STEPS, hidden=(4,), buffer_capacity=max(stored, 5_000))
    program = make_program(run)
    assert program.agent.replay.capacity == stored
    assert large_arrays(program) == pytest.approx(3 * stored * numbers * 4, rel=0.01)


def test_a_queue_holds_the_states_of_all_fills():
    run = run_of("Acrobot-v1", "dyna_td", (0, 1, 2), STEPS, hidden=(4,), warm_up_steps=2_000, search_every=10)
    program = make_program(run)
    assert program.agent.queue.capacity == 20 * 3_801
    # Of a transition s, s', a, r and whether it ends; of a queued state s.
    assert large_arrays(program) == pytest.approx(3 * 4 * (STEPS * 15 + 20 * 3_801 * 6), rel=0.01)


def large_arrays(program) -> int:
    """The bytes of all arrays that are longer than a network is wide."""
    arrays = program.snapshot().values()
    return sum(array.nbytes for array in arrays if max(array.shape, default=0) > 1_000)
