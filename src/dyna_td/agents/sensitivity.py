"""Agents with something open that the paper does not state and that is fixed elsewhere: does it matter?"""

import copy

import tensorflow as tf

from dyna_td.agents.dyna import Dyna
from dyna_td.agents.dyna_frequency import DynaFrequency
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.agents.dyna_value import DynaValue
from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.learning.streams import Streams
from dyna_td.learning.sum_tree import SumTree
from dyna_td.search.chain import SearchControl
from dyna_td.settings import DynaSettings, PriorityExponentSettings


class DynaTDNoise(DynaTD):
    """This is Dyna-TD with: the noise of its chains' rule multiplied by `chain_noise` (1 is Dyna-TD)."""

    def __init__(self, settings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.search_control = _ScaledNoise(settings, streams, space, self.step_size)


class _ScaledNoise(SearchControl):
    def _normals(self, step, i):
        return self.settings.chain_noise * super()._normals(step, i)


class DynaTDAcceptance(DynaTD):
    """This is Dyna-TD with: states accepted from a given distance on, 0.1 in the text, not from the mean move's."""

    def __init__(self, settings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.search_control = _GivenThreshold(settings, streams, space, self.step_size)


class _GivenThreshold(SearchControl):
    def rule(self):
        rule = super().rule()
        rule.threshold = self.settings.acceptance
        return rule


class _ThroughGoals(Dyna):
    """This is HC-Dyna with: terminal states that are queued, and from which chains go on."""

    def __init__(self, settings: DynaSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        endless = copy.copy(space)
        endless.is_terminal = lambda state: tf.zeros(state.shape[:-1], tf.bool)
        self.search_control = SearchControl(settings, streams, endless, self.step_size)


class DynaTDGoals(_ThroughGoals, DynaTD):
    """This is Dyna-TD with: terminal states that are queued, and from which chains go on, as in the box of Algorithm 4.

    The released code does so on GridWorld and in the maze, for which it knows no rule of termination.
    """


class DynaValueGoals(_ThroughGoals, DynaValue):
    """This is Dyna-Value with the same; see `DynaTDGoals`."""


class DynaFrequencyGoals(_ThroughGoals, DynaFrequency):
    """This is Dyna-Frequency with the same; see `DynaTDGoals`."""


class PrioritizedERExponent(PrioritizedER):
    """This is PrioritizedER with: priorities |delta|^`priority_exponent` (1 is PrioritizedER)."""

    def __init__(self, settings: PriorityExponentSettings, learner, streams: Streams, space, steps: int):
        super().__init__(settings, learner, streams, space, steps)
        self.priorities = _PoweredSumTree(streams.count, self.replay.capacity, settings.priority_exponent)


class _PoweredSumTree(SumTree):
    """A sum tree that takes the power of what it is given."""

    def __init__(self, seeds: int, capacity: int, exponent: float):
        super().__init__(seeds, capacity)
        self.exponent = exponent

    def assign(self, leaves: tf.Tensor, priorities: tf.Tensor) -> None:
        super().assign(leaves, priorities**self.exponent)
