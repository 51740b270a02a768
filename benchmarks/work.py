"""The work of every implementation in the benchmark of peers, and a check of it in plain NumPy.

A deep Q-network of GridWorld's size learns from a full buffer: d = 2, 4 actions, 32x32 ReLU units. Mini-batches of 32
are drawn uniformly, TD errors are squared, and the optimizer is Adam. The target network follows every 1,000 updates,
and n = 30. Only learning is timed, no environment. This file needs only NumPy.
"""

import itertools
from typing import NamedTuple, Protocol

import numpy as np

SEEDS = 20  # stacked by the implementations that stack
SIZES = (2, 32, 32, 4)
BATCH = 32
BUFFER = 50_000
PLANNING_UPDATES = 30
STEPS = 33  # environment steps in one timed chunk of a learner: 990 updates of each seed
CYCLES = 1_000  # draws with their new priorities in one timed chunk of a sampler, for each seed
TARGET_PERIOD = 1_000
LEARNING_RATE = 1e-3
DISCOUNT = 0.99
EPSILON = 1e-8  # Adam's
DECAYS = (0.9, 0.999)

LEARNER_FACTS = {"sizes": list(SIZES), "batch": BATCH, "filled": BUFFER, "target_period": TARGET_PERIOD}
SAMPLER_FACTS = {"batch": BATCH, "filled": BUFFER}

Layers = list[tuple[np.ndarray, np.ndarray]]  # kernel [S, in, out] and bias [S, out] of each layer


class Transitions(NamedTuple):
    """N transitions; the function that makes them sets their leading axes."""

    state: np.ndarray  # float32 [..., N, 2]
    action: np.ndarray  # int32 [..., N]
    reward: np.ndarray  # float32 [..., N]
    next_state: np.ndarray  # float32 [..., N, 2]
    terminated: np.ndarray  # float32 [..., N], 0 or 1


class Problem(NamedTuple):
    """The task of S seeds; each seed has other numbers."""

    weights: Layers
    target_weights: Layers
    batches: list[Transitions]  # [S, BATCH], one for each update


class Implementation(Protocol):
    """An implementation that can be timed.

    Attributes:
      facts: `seeds`, `version` and those in `LEARNER_FACTS` or `SAMPLER_FACTS`, of the objects that do the work.
    """

    facts: dict

    def train(self) -> None:
        """Does one chunk of work and waits for its end."""

    def done(self) -> int:
        """The updates, or draws with their new priorities, of one seed so far, by the library's own count."""


class Learner(Implementation, Protocol):
    """An implementation of deep Q-learning."""

    def improve(self, asked: Problem) -> Layers:
        """The weights after the problem's updates, by the code that `train` times; called before it, if at all."""


def transitions(*shape: int, seed: int = 0) -> Transitions:
    """Random transitions with the leading axes `shape`; TD errors of a small network stay below 1 on them."""
    rng = np.random.default_rng(seed)
    return Transitions(
        state=rng.random((*shape, SIZES[0]), dtype=np.float32),
        action=rng.integers(SIZES[-1], size=shape, dtype=np.int32),
        reward=rng.random(shape, dtype=np.float32) / 2,
        next_state=rng.random((*shape, SIZES[0]), dtype=np.float32),
        terminated=(rng.random(shape) < 0.1).astype(np.float32),
    )


def priorities(*shape: int) -> np.ndarray:
    """Random priorities, float32 above 0."""
    return np.random.default_rng(1).random(shape, dtype=np.float32) + np.float32(0.01)


def problem(seeds: int) -> Problem:
    """The problem for as many seeds; every call gives the same."""
    rng = np.random.default_rng(2)

    def layers() -> Layers:
        return [
            (
                rng.normal(scale=0.15, size=(seeds, fan_in, fan_out)).astype(np.float32),
                rng.normal(scale=0.1, size=(seeds, fan_out)).astype(np.float32),
            )
            for fan_in, fan_out in itertools.pairwise(SIZES)
        ]

    return Problem(layers(), layers(), [transitions(seeds, BATCH, seed=3 + k) for k in range(10)])


def solve(asked: Problem, tensorflow: bool = False) -> Layers:
    """The weights after the updates, in float64 with the gradients written out by hand.

    Args:
      asked: the problem.
      tensorflow: whether Adam's epsilon is added before the correction of its second moment, as TensorFlow does it,
        or after it, as Adam's Algorithm 1, PyTorch and Optax do it.
    """
    parameters = [array.astype(np.float64) for layer in asked.weights for array in layer]
    means = [np.zeros_like(array) for array in parameters]
    squares = [np.zeros_like(array) for array in parameters]
    for count, batch in enumerate(asked.batches, start=1):
        for k, gradient in enumerate(_gradients(parameters, asked.target_weights, batch)):
            means[k] = DECAYS[0] * means[k] + (1 - DECAYS[0]) * gradient
            squares[k] = DECAYS[1] * squares[k] + (1 - DECAYS[1]) * gradient**2
            mean, square = means[k] / (1 - DECAYS[0] ** count), squares[k] / (1 - DECAYS[1] ** count)
            epsilon = EPSILON / np.sqrt(1 - DECAYS[1] ** count) if tensorflow else EPSILON
            parameters[k] = parameters[k] - LEARNING_RATE * mean / (np.sqrt(square) + epsilon)
    return list(zip(parameters[::2], parameters[1::2], strict=True))


def _gradients(parameters: list[np.ndarray], target_weights: Layers, batch: Transitions) -> list[np.ndarray]:
    """The gradients of each seed's mean squared TD error: of kernels and biases in turn."""
    layers = list(zip(parameters[::2], parameters[1::2], strict=True))
    inputs = _forward(layers, batch.state)
    bootstrap = _forward(target_weights, batch.next_state)[-1].max(axis=-1)
    target = batch.reward + DISCOUNT * (1 - batch.terminated) * bootstrap
    taken = np.eye(SIZES[-1])[batch.action]  # [S, B, A]
    td_error = target - (inputs[-1] * taken).sum(axis=-1)
    flow = -2 / BATCH * td_error[..., None] * taken  # gradient of the loss by the layer's output
    gradients = []
    for (kernel, _), entering in zip(reversed(layers), reversed(inputs[:-1]), strict=True):
        gradients[:0] = [np.swapaxes(entering, -1, -2) @ flow, flow.sum(axis=-2)]
        flow = (flow @ np.swapaxes(kernel, -1, -2)) * (entering > 0)
    return gradients


def _forward(layers: Layers, states: np.ndarray) -> list[np.ndarray]:
    """The inputs of each layer, and last the outputs of the network: [S, B, units]."""
    values = [states]
    for number, (kernel, bias) in enumerate(layers, start=1):
        leaving = values[-1] @ kernel + bias[:, None]
        values.append(leaving if number == len(layers) else np.maximum(leaving, 0))
    return values
