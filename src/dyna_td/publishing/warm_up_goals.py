"""Which seeds reach GridWorld's goal by chance in the random warm-up: `python -m dyna_td.publishing.warm_up_goals`.

The warm-up depends on the seed alone, so it is the same for all agents, models and numbers of updates. Nothing is
trained: 5,000 random steps of each seed take seconds. The output is reference/warm_up.csv, a row a seed: how many
episodes reached the goal, and the step at which the first did (empty if none).
"""

import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd
import tensorflow as tf

from dyna_td.pipeline.plans import make_settings
from dyna_td.settings import Run
from dyna_td.training.twin_program import TwinProgram

SEEDS = range(100)


def warm_up_goals(seeds: Sequence[int]) -> pd.DataFrame:
    """The columns seed, goals, first_goal_step (environment steps from 1 on; NaN if there is none)."""
    settings = make_settings("GridWorld", "er", {})
    steps = settings.warm_up_steps
    program = TwinProgram(Run("GridWorld", "er", settings, tuple(seeds), steps=steps, evaluate_every=steps))
    program.train(tf.constant(steps))
    ages = tf.range(steps)[::-1]  # the oldest transition first
    places = tf.tile(program.agent.replay.place_of(ages)[None], [len(seeds), 1])
    reached = program.agent.replay.gather(places).terminated.numpy() > 0  # [S, steps]
    first = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.nan)
    return pd.DataFrame({"seed": list(seeds), "goals": reached.sum(axis=1), "first_goal_step": first})


if __name__ == "__main__":
    warm_up_goals(SEEDS).to_csv(sys.stdout, index=False, float_format="%.0f", lineterminator="\n")
