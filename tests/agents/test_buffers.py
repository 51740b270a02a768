"""The memory of an agent's buffers is known before it is made (`costs`)."""

import pytest

from dyna_td.pipeline import costs
from dyna_td.registry import has_twin, settings_type
from dyna_td.settings import Run
from dyna_td.training.program import make_program
from dyna_td.training.twin_program import make_twin
from envs import make
from envs.spaces import GymSpace


@pytest.mark.parametrize("environment", costs.DIMENSIONS)
def test_the_figures_environments_have_the_dimensions_that_are_counted_with(environment):
    space = make_twin(environment) if has_twin(environment) else GymSpace(environment, make(environment))
    assert costs.DIMENSIONS[environment] == (space.state_dim, space.action_dim or 1)


@pytest.mark.parametrize(
    ("environment", "agent"),
    [
        ("GridWorld", "prioritized_er"),
        ("MountainCar-v0", "full_prioritized_er"),
        ("Acrobot-v1", "dyna_td"),
        ("Walker2d-v4", "dyna_td"),
    ],
)
def test_the_buffers_take_the_memory_that_is_estimated(environment, agent):
    settings = settings_type(environment, agent)(hidden=(4,), warm_up_steps=2_000)
    run = Run(environment, agent, settings, (0, 1, 2), steps=40_000)
    arrays = make_program(run).snapshot().values()
    found = sum(array.nbytes for array in arrays if max(array.shape, default=0) > 1_000)  # no network is as wide
    assert found / 2**20 == pytest.approx(costs.training_job(run).quantities["buffers"], rel=0.01)
