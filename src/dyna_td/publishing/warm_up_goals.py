"""Which seeds reach a goal by chance in the random warm-up: `python -m dyna_td.publishing.warm_up_goals`.

The warm-up depends on the seed alone, so it is the same for all agents, models and numbers of updates. Nothing is
trained: 5,000 random steps of each seed take seconds. The output is reference/warm_up.csv, a row for each world and
seed: how many episodes reached the goal, and the step at which the first did (empty if none). The worlds are GridWorld
and those of the study `when`, which have other goals.
"""

import sys
from collections.abc import Sequence

import numpy as np
import pandas as pd
import tensorflow as tf

from dyna_td.plan.plans import load_plan, make_settings
from dyna_td.programs.twin import TwinProgram
from dyna_td.runs.run import Run

SEEDS = range(100)
SEEDS_OF_DIALS = range(20)  # those of the study `when`


def warm_up_goals(environment: str, seeds: Sequence[int]) -> pd.DataFrame:
    """The columns environment, seed, goals, first_goal_step (environment steps from 1 on; NaN if there is none)."""
    settings = make_settings(environment, "er", {})
    steps = settings.warm_up_steps
    program = TwinProgram(Run(environment, "er", settings, tuple(seeds), steps=steps, evaluate_every=steps))
    program.train(tf.constant(steps))
    ages = tf.range(steps)[::-1]  # the oldest transition first
    indices = tf.tile(program.agent.replay.index_of(ages)[None], [len(seeds), 1])
    reached = program.agent.replay.gather(indices).terminated.numpy() > 0  # [S, steps]
    first = np.where(reached.any(axis=1), reached.argmax(axis=1) + 1.0, np.nan)
    columns = {"seed": list(seeds), "goals": reached.sum(axis=1), "first_goal_step": first}
    return pd.DataFrame({"environment": environment, **columns})


def main() -> None:
    """Prints the table."""
    tf.get_logger().setLevel("ERROR")  # each world needs its own program, so warnings of retracing are useless
    runs = load_plan("paper").studies["when"].runs
    worlds = dict.fromkeys(run.environment for run in runs if run.environment.startswith("GridWorld"))
    tables = [warm_up_goals(world, SEEDS if world == "GridWorld" else SEEDS_OF_DIALS) for world in worlds]
    pd.concat(tables).to_csv(sys.stdout, index=False, float_format="%.0f", lineterminator="\n")


if __name__ == "__main__":
    main()
