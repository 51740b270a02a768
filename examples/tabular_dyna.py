"""Tabular Dyna (Algorithm 2): the textbook agent that HC-Dyna generalises, on a grid of cells.

An example to read and to run, `python examples/tabular_dyna.py`; no figure of the paper uses it.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

import gymnasium
import numpy as np

import envs


@dataclass(frozen=True)
class TabularSettings:
    """The settings of tabular Dyna; the paper states none of them."""

    planning_steps: int = 10  # d, simulated updates after each environment step
    cells: int = 20  # a coordinate is divided into; GridWorld's step is one cell
    learning_rate: float = 0.5  # of the Q-learning update
    exploration: float = 0.1  # epsilon
    discount: float = 0.99  # gamma


class CountedModel:
    """M(s, a) by counting: an outcome is drawn as often as it was seen."""

    def __init__(self):
        self._counts: dict[tuple[int, int], Counter] = defaultdict(Counter)

    def update(self, s: int, a: int, outcome: tuple[int, float, bool]) -> None:
        """Counts `outcome`, i.e. (next state, reward, whether it is terminal), of action a in state s."""
        self._counts[s, a][outcome] += 1

    def sample(self, s: int, a: int, rng: np.random.Generator) -> tuple[int, float, bool]:
        """An outcome of a state and action that were seen before."""
        outcomes, counts = zip(*self._counts[s, a].items(), strict=True)
        return outcomes[rng.choice(len(outcomes), p=np.array(counts) / sum(counts))]


def tabular_dyna(
    environment: gymnasium.Env, settings: TabularSettings, steps: int, seed: int
) -> tuple[np.ndarray, list[int]]:
    """Trains tabular Dyna.

    Args:
      environment: with a bounded Box of states and discrete actions.
      settings: the agent's numbers.
      steps: environment steps.
      seed: of the environment and of all the agent's draws.

    Returns:
      Q, float64 [cells^d, A], and the lengths of the episodes that ended, in environment steps.
    """
    rng = np.random.default_rng(seed)
    space = environment.observation_space
    q = np.zeros((settings.cells ** space.shape[0], environment.action_space.n))
    model, queue = CountedModel(), []
    lengths, length = [], 0
    s = cell(environment.reset(seed=seed)[0], space, settings.cells)
    for _ in range(steps):
        a = int(rng.integers(q.shape[1])) if rng.random() < settings.exploration else _greedy(q[s], rng)
        observation, reward, terminated, truncated, _ = environment.step(a)
        outcome = (cell(observation, space, settings.cells), float(reward), bool(terminated))
        _q_learning(q, s, a, outcome, settings)
        model.update(s, a, outcome)
        queue.append((s, a))
        for _ in range(settings.planning_steps):
            simulated = queue[rng.integers(len(queue))]
            _q_learning(q, *simulated, model.sample(*simulated, rng), settings)
        s, length = outcome[0], length + 1
        if terminated or truncated:
            lengths.append(length)
            s, length = cell(environment.reset()[0], space, settings.cells), 0
    return q, lengths


def cell(observation: np.ndarray, space: gymnasium.spaces.Box, cells: int) -> int:
    """The number of the cell, of `cells` a coordinate, in which an observation lies."""
    share = (observation - space.low) / (space.high - space.low)
    place = np.clip((share * cells).astype(int), 0, cells - 1)
    return int(np.ravel_multi_index(place, (cells,) * len(place)))


def _greedy(values: np.ndarray, rng: np.random.Generator) -> int:
    """An action of the highest value; ties are broken at random."""
    return int(rng.choice(np.flatnonzero(values == values.max())))


def _q_learning(q: np.ndarray, s: int, a: int, outcome: tuple[int, float, bool], settings: TabularSettings) -> None:
    next_s, reward, terminated = outcome
    target = reward + (0.0 if terminated else settings.discount * q[next_s].max())
    q[s, a] += settings.learning_rate * (target - q[s, a])


def compare(steps: int = 15_000) -> dict[int, list[int]]:
    """The lengths of the episodes on GridWorld that end, without planning and with 10 planning steps."""
    finished = {}
    for planning_steps in (0, 10):
        settings = TabularSettings(planning_steps=planning_steps)
        _, lengths = tabular_dyna(envs.make("GridWorld"), settings, steps, seed=1)
        print(f"{planning_steps:2} planning steps: {len(lengths)} episodes, the last {lengths[-1]} steps long")
        finished[planning_steps] = lengths
    return finished


if __name__ == "__main__":
    compare()
