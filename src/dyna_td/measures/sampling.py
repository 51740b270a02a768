"""Sampling distributions on the square of GridWorld (Section 4.2; figures 2, 3 and 5).

The square is divided into 50 x 50 cells. p* is the ideal distribution of prioritized sampling: the absolute TD error of
the current Q at each cell's lower left corner, normalised. Its y comes from the true model and the target network. Each
agent's own samples are compared with p*.
"""

import numpy as np
import tensorflow as tf

from dyna_td.learning.networks import as_columns, map_blocks
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import build_levels, draw_leaves
from dyna_td.learning.sums import total
from dyna_td.settings import SearchControlSettings

CELLS = 50  # a side (paper)
COARSE_CELLS = 10  # a side of the coarser histogram, whose largest entropy is 4.605
DRAWS = 3_000  # states that estimate a distribution (paper)
SHOWN = 2_000  # states in the pictures and entropies of figures 2 and 5 (paper)
MODEL_DRAWS = 16  # draws of GridWorld's noise that each y averages
RECENT_TRANSITIONS = 5_000  # newest transitions of the buffer, which stand for d^pi (ours)
RECENT_STATES = 20_000  # newest states of the search-control queue


class SamplingDistributions(tf.Module):
    """Compares an agent's sampling distribution with p*, without changing the agent.

    Args:
      agent: an agent of class `ER` or a subclass, in a twin with the unit square as its states.
      streams: the S seeds.
      twin: the environment's twin.
    """

    def __init__(self, agent, streams: Streams, twin):
        super().__init__()
        self.agent = agent
        self.streams = streams
        self.twin = twin
        side = np.arange(CELLS, dtype=np.float32) / CELLS
        x, y = np.meshgrid(side, side, indexing="ij")
        self.corners = np.stack([x.ravel(), y.ravel()], axis=1)  # [2500, 2], cell number 50 * column + row

    def measure(self, step: tf.Tensor) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """All measurements of one evaluation.

        Args:
          step: environment steps so far, at least 1.

        Returns:
          The metrics `records.metrics.SAMPLING_METRICS` but `STATES_METRICS`, each [S]; and the first 2000 states
          drawn, each [S, 2000, 2], by source: `own` from the agent's own distribution, `buffer` uniformly from B_er.
        """
        error = self.absolute_td_errors(step)  # [S, 2500]
        ideal = error / total(error)[:, None]
        recent = self.draw_buffer(step, Purpose.RECENT_DRAWS, RECENT_TRANSITIONS)
        on_policy = histogram(recent, CELLS)
        states = {"": self.agent.sample_states(step, DRAWS), "_buffer": self.draw_buffer(step, Purpose.BUFFER_DRAWS)}
        if isinstance(self.agent.settings, SearchControlSettings):
            states["_recent"] = self.agent.sample_states(step, DRAWS, newest=RECENT_STATES)
        distributions = {source: histogram(drawn, CELLS) for source, drawn in states.items()}
        distributions["_exact_uniform"] = tf.fill(ideal.shape, 1.0 / CELLS**2)
        distributions["_floor"] = self.draw_ideal(ideal, step)
        metrics = {}
        for source, distribution in distributions.items():
            difference = tf.abs(distribution - ideal)
            metrics[f"distance_uniform{source}"] = total(difference) / CELLS**2
            metrics[f"distance_on_policy{source}"] = total(on_policy * difference)
        for source, drawn in states.items():
            metrics |= {f"{name}{source}": value for name, value in coverage(drawn[:, :SHOWN]).items()}
        return metrics, {"own": states[""][:, :SHOWN], "buffer": states["_buffer"][:, :SHOWN]}

    def absolute_td_errors(self, step: tf.Tensor) -> tf.Tensor:
        """|delta| of the greedy action in each cell's corner, under the true model: [S, 2500]."""
        seeds = self.streams.count
        noise = self.streams.normal(Purpose.IDEAL_ENVIRONMENT, (len(self.corners), MODEL_DRAWS), step=step)

        def errors(start, size):
            corner = tf.slice(tf.constant(self.corners), [start, 0], [size, 2])
            state = tf.broadcast_to(corner, [seeds, size, 2])
            q = self.agent.learner.q(as_columns(state))  # [S, A, size]
            action = tf.argmax(q, axis=1, output_type=tf.int32)
            drawn = tf.slice(noise, [0, start, 0], [seeds, size, MODEL_DRAWS])
            target = self.targets(tf.repeat(state, MODEL_DRAWS, axis=1), tf.repeat(action, MODEL_DRAWS, axis=1), drawn)
            y = total(tf.reshape(target, [seeds, size, MODEL_DRAWS])) / MODEL_DRAWS
            return tf.abs(y - tf.reduce_max(q, axis=1))

        return map_blocks(errors, len(self.corners), MODEL_DRAWS * max(self.agent.settings.hidden))

    def targets(self, state: tf.Tensor, action: tf.Tensor, noise: tf.Tensor) -> tf.Tensor:
        """y = r + gamma max_a Q_target(s', a), by one query of the true model each: [S, B, 2], [S, B] -> [S, B]."""
        noise = tf.reshape(noise, [*action.shape, self.twin.noise_dim])
        next_state, reward, terminated = self.twin.step(state, action, noise)
        return self.agent.learner.td_target(
            Transition(state, action, reward, next_state, tf.cast(terminated, tf.float32))
        )

    def draw_buffer(self, step: tf.Tensor, purpose: int, newest: int | None = None) -> tf.Tensor:
        """3000 states drawn uniformly from B_er, or from its `newest` transitions: [S, 3000, d]."""
        replay = self.agent.replay
        held = tf.maximum(tf.minimum(replay.size, newest or replay.capacity), 1)
        ages = self.streams.integers(purpose, (DRAWS,), held, step=step)
        return replay.gather(replay.index_of(ages)).state

    def draw_ideal(self, ideal: tf.Tensor, step: tf.Tensor) -> tf.Tensor:
        """The histogram of a perfect sampler, 3000 draws from p* itself: [S, 2500] -> [S, 2500]."""
        uniforms = self.streams.uniform(Purpose.IDEAL_DRAWS, (DRAWS,), step=step)
        cells, _ = draw_leaves(build_levels(ideal), uniforms)
        return _shares(cells, CELLS**2)


def histogram(states: tf.Tensor, cells: int) -> tf.Tensor:
    """The share of states in each of cells x cells squares: [S, N, 2] in the unit square -> [S, cells^2]."""
    return _shares(cells_of(states, cells), cells**2)


def cells_of(states: tf.Tensor, side: int) -> tf.Tensor:
    """The number of each state's cell, of side x side squares: [..., 2] in the unit square -> int32 [...]."""
    index = tf.clip_by_value(tf.cast(states * side, tf.int32), 0, side - 1)
    return index[..., 0] * side + index[..., 1]


def coverage(states: tf.Tensor) -> dict[str, tf.Tensor]:
    """Measures of how widely states [S, N, 2] cover the square, see `records.metrics.METRICS`; each [S]."""
    fine = histogram(states, CELLS)
    x, y = states[..., 0], states[..., 1]
    return {
        "entropy_10": entropy(histogram(states, COARSE_CELLS)),
        "entropy_50": entropy(fine),
        "occupied_cells": total(tf.cast(fine > 0.0, tf.float32)),
        "mass_top_left": total(tf.cast((x < 0.5) & (y > 0.5), tf.float32)) / x.shape[1],
        "mass_right": total(tf.cast(x > 0.6, tf.float32)) / x.shape[1],
    }


def entropy(distribution: tf.Tensor) -> tf.Tensor:
    """-sum p ln p in nats: [S, cells] -> [S]."""
    return -total(tf.math.xlogy(distribution, distribution))


def _shares(numbers: tf.Tensor, count: int) -> tf.Tensor:
    """The shares of 0, ..., count - 1 in int32 [S, N]: [S, count]."""
    seed = tf.broadcast_to(tf.range(numbers.shape[0])[:, None], numbers.shape)
    index = tf.stack([seed, numbers], axis=-1)
    counts = tf.tensor_scatter_nd_add(tf.zeros([numbers.shape[0], count]), index, tf.ones(numbers.shape))
    return counts / numbers.shape[1]
