"""Every agent that can be named can be trained."""

import pytest
from helpers import run_of

from dyna_td import registry
from dyna_td.training.program import make_program


@pytest.mark.parametrize("name", [*registry.LEARNERS, *registry.AGENTS])
def test_every_agent_can_be_made_and_says_what_it_is(name):
    environment = "sin" if name in registry.LEARNERS else "GridWorld"
    program = make_program(run_of(environment, name, steps=10, **{} if environment == "sin" else {"hidden": (4,)}))
    subject = program.learner if environment == "sin" else program.agent
    assert type(subject).__doc__
