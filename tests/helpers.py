"""What tests of several folders share."""

from dyna_td.registry import settings_type


def settings_of(environment, agent, **changes):
    """The settings of an agent on an environment, with some numbers changed."""
    return settings_type(environment, agent)(**changes)
