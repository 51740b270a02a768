"""Measures the published policies of figure 6: `python -m dyna_td.publishing.walkers`.

Each seed's policy plays new episodes. The output is reference/walkers.csv, a row for each policy. It has means over
episodes of return, steps and distance (m, from start to end), and the share of its actions' components beyond
`SATURATED`. Seeds are fixed; another CPU or another version of MuJoCo can give other numbers.
"""

import sys

import gymnasium
import numpy as np
import pandas as pd

from dyna_td.plan.plans import load_plan
from dyna_td.playing.episodes import make_environment, play
from dyna_td.records import published
from dyna_td.records.policy import Policy, load_policy

EPISODES = 20
SATURATED = 0.99  # share of a component's largest size; beyond it tanh is nearly flat


class _Recorder(gymnasium.Wrapper):
    """Keeps the actions of an episode, and where the body began."""

    def reset(self, **options):
        answer = self.env.reset(**options)
        self.actions, self.start = [], self.place
        return answer

    def step(self, action):
        self.actions.append(np.abs(action) / self.action_space.high)
        return self.env.step(action)

    @property
    def place(self) -> float:
        """Where the body is on its track, in metres."""
        return float(self.get_wrapper_attr("data").qpos[0])


def walks(policy: Policy, seed: int, episodes: int = EPISODES) -> dict[str, float]:
    """A row of the table for one seed's policy."""
    environment = _Recorder(make_environment(policy.environment))
    rows = []
    for number in range(episodes):
        episode = play(policy, environment, seed, number, policy.epsilon)
        saturated = float(np.mean(np.array(environment.actions) > SATURATED))
        rows.append((episode.total, episode.length, environment.place - environment.start, saturated))
    environment.close()
    return dict(zip(("return", "steps", "distance", "saturated"), np.mean(rows, axis=0), strict=True))


def walkers() -> pd.DataFrame:
    """The columns environment, curve, seed, episodes and those of `walks`."""
    rows = []
    for panel in load_plan(published.SCALE).figures["figure_6"].panels.values():
        for curve, run in panel.curves.items():
            policy = load_policy(published.stored(run.name, "policy.npz"))
            about = {"environment": run.environment, "curve": curve, "episodes": EPISODES}
            rows += [about | {"seed": seed} | walks(policy, seed) for seed in policy.seeds]
    return pd.DataFrame(rows)


if __name__ == "__main__":
    walkers().to_csv(sys.stdout, index=False, float_format="%.4g", lineterminator="\n")
