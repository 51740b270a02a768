"""The example agent that has seen the goal."""

import numpy as np
from demonstration import Demonstrated, episode
from helpers import observe, random_transitions, untrained


def test_the_warm_up_ends_with_the_demonstration_and_is_random_before():
    made = untrained("MountainCar-v0", "prioritized_er", 0, warm_up_steps=300)
    agent = Demonstrated(made.agent.settings, made.agent.learner, made.agent.streams, made.twin, 400)
    met = random_transitions(made.twin, 310, seeds=2)
    observe(agent, met)
    shown = episode()
    length = len(shown.reward)
    assert shown.terminated[-1] and not shown.terminated[:-1].any()
    for kept, random, demonstrated in zip(agent.replay.block(0, 310), met, shown, strict=True):
        for seed in range(2):
            expected = random[seed].numpy().copy()
            expected[300 - length : 300] = demonstrated
            np.testing.assert_array_equal(kept[seed], expected)
