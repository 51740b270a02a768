import pytest

import envs
from dyna_td import registry
from envs.twins import TWINS


def test_every_control_environment_has_a_time_limit_and_a_twin():
    assert registry.TWIN_ENVIRONMENTS == tuple(envs.TIME_LIMITS) == tuple(TWINS)


@pytest.mark.parametrize("name", [*registry.LEARNERS, *registry.CONTROL_AGENTS])
def test_every_agent_of_the_catalog_can_be_loaded_and_says_what_it_is(name):
    agent = registry.load((registry.LEARNERS | registry.CONTROL_AGENTS)[name])
    assert agent.__name__.lower() == name.replace("_", "")
    assert agent.__doc__
