"""The warm-ups that reach the goal: walked again they are the published ones, whichever seeds walk together."""

from pathlib import Path

import numpy as np
import pandas as pd

from dyna_td.training.warm_up_goals import SEEDS, warm_up_goals

PUBLISHED = pd.read_csv(Path(__file__).parents[2] / "reference" / "warm_up.csv").set_index("seed")


def test_the_published_warm_ups_are_walked_again():
    walked = warm_up_goals([9, 0, 18]).set_index("seed")
    assert list(PUBLISHED.index) == list(SEEDS)
    assert list(walked["goals"]) == [2, 0, 3] == list(PUBLISHED.loc[[9, 0, 18], "goals"])
    np.testing.assert_array_equal(walked["first_goal_step"], PUBLISHED.loc[[9, 0, 18], "first_goal_step"])
