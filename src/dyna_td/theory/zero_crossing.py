"""Long chains that climb log |delta| in one dimension, where |delta| is known: the picture behind claim 45.

Three errors on the unit interval. `CROSSING` changes its sign at 0.3: delta(x) = x - 0.3. At a distance r from such a
zero, the drift of log |delta| is 1 / r. The Langevin diffusion dr = dt / r + sqrt(2) dB is then a Bessel process of
dimension 2. It never reaches 0 (Revuz and Yor, 1999, chapter XI), so its chains stay on the side where they begin. A
chain with steps crosses by a jump over the zero. `JUMPING` has no zero, but jumps, as |delta| does where another action
becomes the greedy one. The gradient does not show a jump, so a chain that follows it alone cannot tell the two sides
apart. `RIPPLED` is smooth and has eight zeros, two or three steps of the usual size apart.

The rules are those of `search.rules` in plain NumPy, and every state inside counts. `released` has Sigma = 1, as on
GridWorld, and never restarts. `algorithm_4` has the variance of uniform states. A fourth rule is not in the paper:
the Metropolis-adjusted Langevin algorithm (Roberts and Tweedie, 1996). Its acceptance makes |delta| the stationary law
at any step size.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SMOOTHING = 1e-5  # inside the logarithm (paper, Algorithm 4)
LANGEVIN_STEP = 1e-3  # the step size a, as in `search.rules`
CELLS = 50
_SEED = 45

Function = Callable[[np.ndarray], np.ndarray]
Step = Callable[[np.ndarray, np.random.Generator], np.ndarray]


@dataclass(frozen=True)
class TDError:
    """delta(x) and its derivative, where it has one."""

    delta: Function
    derivative: Function

    def h(self, x: np.ndarray) -> np.ndarray:
        """log(|delta(x)| + 1e-5), the log of the target density up to a constant."""
        return np.log(np.abs(self.delta(x)) + SMOOTHING)

    def slope(self, x: np.ndarray) -> np.ndarray:
        """The derivative of h, as automatic differentiation gives it."""
        delta = self.delta(x)
        return np.sign(delta) * self.derivative(x) / (np.abs(delta) + SMOOTHING)

    def target(self) -> np.ndarray:
        """|delta| normalised over the cells: [CELLS]."""
        fine = (np.arange(100 * CELLS) + 0.5) / (100 * CELLS)
        mass = np.exp(self.h(fine)).reshape(CELLS, 100).sum(axis=1)
        return mass / mass.sum()


ZERO = 0.3
LEVELS = np.array([1.0, 3.0, 0.5, 2.0])  # `JUMPING` has each on a quarter of the interval
CROSSING = TDError(lambda x: x - ZERO, np.ones_like)
JUMPING = TDError(lambda x: _level(x) * (1.0 + 0.2 * x), lambda x: 0.2 * _level(x))
RIPPLED = TDError(lambda x: np.sin(8 * np.pi * x + 0.7), lambda x: 8 * np.pi * np.cos(8 * np.pi * x + 0.7))


def _level(x: np.ndarray) -> np.ndarray:
    return LEVELS[np.clip((len(LEVELS) * x).astype(int), 0, len(LEVELS) - 1)]


def langevin(error: TDError, a: float = LANGEVIN_STEP) -> Step:
    """x + a h'(x) + sqrt(2 a) N(0, 1), reflected at the ends of the interval."""

    def step(x, rng):
        moved = x + a * error.slope(x) + np.sqrt(2 * a) * rng.standard_normal(len(x))
        return 1.0 - np.abs(1.0 - np.abs(moved) % 2.0)

    return step


def metropolis_adjusted(error: TDError, a: float = LANGEVIN_STEP) -> Step:
    """`langevin`'s proposal, not reflected, accepted with probability min(1, p(x') q(x | x') / (p(x) q(x' | x)))."""

    def log_proposal(to, start):
        return -((to - start - a * error.slope(start)) ** 2) / (4 * a)

    def step(x, rng):
        moved = x + a * error.slope(x) + np.sqrt(2 * a) * rng.standard_normal(len(x))
        gain = error.h(moved) - error.h(x) + log_proposal(x, moved) - log_proposal(moved, x)
        accepted = (np.log(rng.uniform(size=len(x))) < gain) & (moved >= 0.0) & (moved <= 1.0)
        return np.where(accepted, moved, x)

    return step


def released(error: TDError) -> Step:
    """0.1 along the sign of h' and N(0, 0.05^2), clipped to the interval."""

    def step(x, rng):
        return np.clip(x + 0.1 * np.sign(error.slope(x)) + 0.05 * rng.standard_normal(len(x)), 0.0, 1.0)

    return step


def algorithm_4(error: TDError) -> Step:
    """x + 0.1 h'(x) + N(0, 0.01 var), var = 1/12; a chain that leaves the interval restarts at a uniform state."""

    def step(x, rng):
        moved = x + 0.1 * error.slope(x) + 0.1 * np.sqrt(1 / 12) * rng.standard_normal(len(x))
        return np.where((moved < 0.0) | (moved > 1.0), rng.uniform(size=len(x)), moved)

    return step


def share_across(step: Step, steps: int, chains: int) -> float:
    """The share of chains right of the zero of `CROSSING` after `steps`; all begin in the middle of its left side."""
    rng = np.random.default_rng(_SEED)
    x = np.full(chains, ZERO / 2)
    for _ in range(steps):
        x = step(x, rng)
    return float(np.mean(x > ZERO))


def visits(step: Step, steps: int, chains: int) -> np.ndarray:
    """The share of visits to each cell, after a burn-in of a fifth as many steps: [CELLS]."""
    rng = np.random.default_rng(_SEED)
    x = rng.uniform(size=chains)
    counts = np.zeros(CELLS)
    for t in range(-steps // 5, steps):
        x = step(x, rng)
        if t >= 0:
            counts += np.bincount(np.minimum((x * CELLS).astype(int), CELLS - 1), minlength=CELLS)
    return counts / counts.sum()
