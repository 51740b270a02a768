"""Returns of a policy that only slows down in the roundabout: `python -m dyna_td.publishing.always_slower`.

Nothing is trained. Each decision is action 4, slower, except for random actions: first with the share with which agents
are evaluated, then with none. The output is reference/always_slower.csv, a row for each share. Seeds are fixed, so the
same code gives the same numbers.
"""

import sys

import gymnasium
import numpy as np
import pandas as pd

from dyna_td import envs
from dyna_td.evidence.statistics import half_width
from dyna_td.plan.plans import make_settings

ENVIRONMENT = "roundabout-paper-v0"
SLOWER = 4  # see `envs.roundabout`
EPISODES, GREEDY_EPISODES = 4000, 400  # fewer, because without random actions episodes hardly differ


def always_slower(exploration: float, episodes: int = EPISODES) -> dict[str, float]:
    """Means over episodes: return with half of Student's 95% interval, crashes, speed (m/s), decisions."""
    environment = envs.make(ENVIRONMENT)
    assert isinstance(environment.action_space, gymnasium.spaces.Discrete)
    rows = []
    for episode in range(episodes):
        random = np.random.default_rng([episode, 0])
        environment.reset(seed=episode)
        total, speeds, is_over, crashed = 0.0, [], False, False
        while not is_over:
            action = random.integers(environment.action_space.n) if random.random() < exploration else SLOWER
            _, reward, terminated, truncated, info = environment.step(action)
            total, is_over, crashed = total + float(reward), terminated or truncated, crashed or info["crashed"]
            speeds.append(info["speed"])
        rows.append((total, crashed, np.mean(speeds), len(speeds)))
    table = pd.DataFrame(rows, columns=["return", "crashed", "speed", "episode_length"])
    return {
        "exploration": exploration,
        "episodes": episodes,
        **table.mean(),
        "return_half95": half_width(table["return"]),
    }


if __name__ == "__main__":
    evaluated = make_settings(ENVIRONMENT, "er", {}).evaluation_exploration
    found = pd.DataFrame([always_slower(evaluated), always_slower(0.0, GREEDY_EPISODES)])
    found.to_csv(sys.stdout, index=False, float_format="%.6g", lineterminator="\n")
