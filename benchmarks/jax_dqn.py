"""Deep Q-learning in JAX: one seed as pure functions, all seeds by `vmap`, all updates of a chunk in one program."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import work

OPTIMIZER = optax.adam(work.LEARNING_RATE, *work.DECAYS, eps=work.EPSILON)


class Learned(NamedTuple):
    """The parameters of one seed; stacked, each array has the seed axis first."""

    weights: list
    target_weights: list
    optimizer: optax.OptState
    updates: jax.Array


def begin(weights: list, target_weights: list) -> Learned:
    """One seed before its first update."""
    return Learned(weights, target_weights, OPTIMIZER.init(weights), jnp.zeros((), jnp.int32))


def q_values(weights: list, states: jax.Array) -> jax.Array:
    """States [B, 2] -> [B, 4]."""
    *hidden, (kernel, bias) = weights
    for hidden_kernel, hidden_bias in hidden:
        states = jax.nn.relu(states @ hidden_kernel + hidden_bias)
    return states @ kernel + bias


def loss(weights: list, target_weights: list, rows: jax.Array) -> jax.Array:
    """The mean squared TD error of transitions [B, 7]."""
    state, next_state, action, reward, terminated = jnp.split(rows, [2, 4, 5, 6], axis=1)
    bootstrap = q_values(target_weights, next_state).max(axis=1)
    target = reward[:, 0] + work.DISCOUNT * (1 - terminated[:, 0]) * bootstrap
    taken = jax.nn.one_hot(action[:, 0].astype(jnp.int32), work.SIZES[-1])
    return jnp.mean((target - (q_values(weights, state) * taken).sum(axis=1)) ** 2)


def update(learned: Learned, rows: jax.Array) -> Learned:
    """One update of one seed from a mini-batch [B, 7]; every `TARGET_PERIOD` updates the target network follows."""
    gradients = jax.grad(loss)(learned.weights, learned.target_weights, rows)
    changes, optimizer = OPTIMIZER.update(gradients, learned.optimizer)
    weights, updates = optax.apply_updates(learned.weights, changes), learned.updates + 1
    follow = updates % work.TARGET_PERIOD == 0
    target_weights = jax.tree.map(functools.partial(jnp.where, follow), weights, learned.target_weights)
    return Learned(weights, target_weights, optimizer, updates)


def plan(learned: Learned, buffer: jax.Array, key: jax.Array) -> Learned:
    """The n updates of one seed after an environment step: buffer [N, 7]."""
    # Drawn at once, which was a tenth faster than a draw in each update.
    places = jax.random.randint(key, (work.PLANNING_UPDATES, work.BATCH), 0, len(buffer))
    return jax.lax.scan(lambda learned, place: (update(learned, buffer[place]), None), learned, places)[0]


@functools.partial(jax.jit, donate_argnums=0)
def train(learned: Learned, buffer: jax.Array, keys: jax.Array) -> Learned:
    """A chunk of steps of all seeds: buffer [S, N, 7], keys [STEPS, S]."""
    return jax.lax.scan(lambda learned, key: (jax.vmap(plan)(learned, buffer, key), None), learned, keys)[0]


def pack(batch: work.Transitions) -> np.ndarray:
    """One row per transition, so that a mini-batch is one gather: [..., N, 7]."""
    parts = [batch.action, batch.reward, batch.terminated]
    return np.concatenate([batch.state, batch.next_state, *(part[..., None] for part in parts)], axis=-1)


class JAX:
    """See `work.Learner`."""

    def __init__(self):
        self.key = jax.random.key(0)
        self.buffer = jnp.array(pack(work.transitions(work.SEEDS, work.BUFFER)))
        begun = work.problem(work.SEEDS)
        self.learned = jax.vmap(begin)(begun.weights, jax.tree.map(jnp.copy, begun.weights))
        kernels = [kernel for kernel, _ in self.learned.weights]
        self.facts = {
            "version": f"JAX {jax.__version__}",
            "seeds": self.buffer.shape[0],
            "sizes": [kernels[0].shape[1], *(kernel.shape[2] for kernel in kernels)],
            "batch": work.BATCH,
            "filled": self.buffer.shape[1],
            "target_period": work.TARGET_PERIOD,
        }

    def train(self) -> None:
        self.key, key = jax.random.split(self.key)
        self.learned = train(self.learned, self.buffer, jax.random.split(key, (work.STEPS, work.SEEDS)))
        jax.block_until_ready(self.learned)

    def done(self) -> int:
        return int(self.learned.updates[0])

    def improve(self, asked: work.Problem) -> work.Layers:
        learned = jax.vmap(begin)(asked.weights, asked.target_weights)
        for batch in asked.batches:
            learned = jax.vmap(update)(learned, pack(batch))
        return jax.tree.map(np.asarray, learned.weights)


make = JAX  # `worker.py` calls it
