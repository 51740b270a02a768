"""Measurements on the final Q of a training: long chains, the effect of a constant y, and that of a learned model.

They serve Section 4.1 and the appendix's Theorem 3. A run with these measurements trains exactly like `dyna_td` with
the learned model, and measures once at its end.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import tensorflow as tf
from scipy.special import ndtri

from dyna_td.learning.networks import as_columns, as_rows, map_blocks
from dyna_td.learning.replay import Transition
from dyna_td.learning.streams import Purpose, Streams
from dyna_td.learning.sum_tree import build_levels, draw_leaves
from dyna_td.learning.sums import length, sum_of_features, total
from dyna_td.learning.xla import with_tensor_loops, xla_function
from dyna_td.measures.sampling import CELLS, SHOWN, SamplingDistributions, cells_of
from dyna_td.search.rules import LANGEVIN_STEP, RULES, VANISHED, gradient
from dyna_td.settings import FROZEN_SOURCES
from dyna_td.theory import densities

CHAINS = 64  # chains of each kind that a seed runs side by side
SIDE = 20  # cells a side of the chains' histograms; a cell is as wide as the agent's step, and the goal is one cell
POINTS = 5  # points a side of a cell; |delta| is averaged over them
SNAPSHOTS = -(-SHOWN // CHAINS)  # times at which the pictures show the chains' states
PROBED = 2_000  # states at which the two gradients are compared
CLOSE = 0.9  # cosine above which two gradients are close
QUANTILES = 64  # equally likely values of GridWorld's noise that stand for its distribution

SMALL_STEP = LANGEVIN_STEP / 100


@dataclass(frozen=True)
class Kind:
    """A kind of chain: its rule, its step size (0: the rule's own), and whether the gradient goes through y too."""

    rule: str
    step_size: float = 0.0
    through_y: bool = False


# The last two kinds show the effects of a constant y and of the step size.
KINDS = {
    "langevin": Kind("langevin", through_y=True),
    "released": Kind("released"),
    "algorithm_4": Kind("algorithm_4"),
    "langevin_constant_y": Kind("langevin"),
    "langevin_small_steps": Kind("langevin", SMALL_STEP, through_y=True),
}
ONLINE_KINDS = tuple(name for name, kind in KINDS.items() if RULES[kind.rule].online)


class FrozenQ(tf.Module):
    """Measures a trained agent on GridWorld, without changing it.

    Args:
      agent: Dyna-TD with a learned model.
      streams: the S seeds.
      sampling: the program's sampling distributions, on GridWorld's twin.

    Attributes:
      kinds, chains: the kinds of chains, as `KINDS`, and how many of each a seed runs.
    """

    kinds: Mapping[str, Kind] = KINDS
    chains = CHAINS

    def __init__(self, agent, streams: Streams, sampling: SamplingDistributions):
        super().__init__()
        self.agent = agent
        self.streams = streams
        self.twin = sampling.twin
        self.corners = sampling.corners
        side = (np.arange(SIDE * POINTS, dtype=np.float32) + 0.5) / (SIDE * POINTS)
        points = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)  # [x, y, 2]
        by_cell = points.reshape(SIDE, POINTS, SIDE, POINTS, 2).swapaxes(1, 2)
        self.points = by_cell.reshape(-1, 2)  # cell number SIDE * column + row, POINTS^2 rows each
        # The goal's cell is excluded; cells in the wall are not.
        self.is_open = ~np.all(self.twin.is_terminal(by_cell.reshape(-1, POINTS**2, 2)), axis=1)

    def measure(self, step: tf.Tensor) -> tuple[dict[str, np.ndarray], dict[str, tf.Tensor]]:
        """All measurements at the end of training.

        Args:
          step: environment steps of the whole training.

        Returns:
          The metrics `records.metrics.FROZEN_METRICS`, each [S], and some states by kind of chain, each [S, 2000, 2]:
          NaN where a chain has had no state that counts.
        """
        counts, shown = self._run_chains()
        metrics = chain_metrics(*self._on_open_cells(counts))
        metrics |= {name: value.numpy() for name, value in self._compare_gradients(step).items()}
        metrics |= bound_metrics(*(each.numpy() for each in self._compare_models()), self._largest_value())
        return metrics, {kind: shown[kind] for kind in FROZEN_SOURCES}

    def targets(self, columns: tf.Tensor, online: bool = False) -> tf.Tensor:
        """y of the greedy action by the learned model, as `DynaTD.y_hat`: [S, d, B] -> [S, B]."""
        state = as_rows(columns)
        action = self.agent.learner.greedy(state)
        next_state, reward, terminated = self.agent.model.predict(state, action, tf.zeros([*action.shape, 0]))
        return self.agent.learner.td_target(Transition(state, action, reward, next_state, terminated), online)

    def slope(self, columns: tf.Tensor, through_y: bool, online: bool = False) -> tf.Tensor:
        """grad h of Dyna-TD, with y constant or with the gradient through y too: [S, d, B] -> [S, d, B]."""
        y = self.targets(columns, online)
        return gradient(lambda s: self.agent.h(s, self.targets(s, online) if through_y else y), columns)

    # Claim 45: long chains.

    def _on_open_cells(self, counts: dict[str, tf.Tensor]) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
        """The arguments of `chain_metrics`: visits by kind, and |delta| with both targets, without the goal's cell."""
        visits = {kind: count.numpy()[:, self.is_open] for kind, count in counts.items()}
        error, online_error = (each.numpy()[:, self.is_open] for each in self._cell_errors())
        return visits, error, online_error

    @xla_function
    def _run_chains(self) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
        """Visits of each cell, [S, SIDE^2], and states, [S, 2000, 2], both by kind of chain."""
        both = {
            name: self._visit(self.chain(kind, number), number)
            for number, (name, kind) in enumerate(self.kinds.items())
        }
        both["ideal"] = self._visit(self._ideal_draws(), len(self.kinds))
        return {kind: visits for kind, (visits, _) in both.items()}, {kind: shown for kind, (_, shown) in both.items()}

    @with_tensor_loops
    def _visit(self, advance: Callable, number: int) -> tuple[tf.Tensor, tf.Tensor]:
        """Runs all chains of one kind for `probe_steps` steps, after a burn-in of a fifth as many.

        Args:
          advance: maps states [S, C, d] and the step's number t to the next states and whether each counts, [S, C].
          number: the kind's number.
        """
        steps = self.agent.settings.probe_steps
        burn_in = steps // 5
        seeds, d = self.streams.count, self.twin.state_dim
        state = self.starts(tf.constant(-1), number)
        last = tf.fill(state.shape, np.nan)  # the last states that count
        visits = tf.zeros([seeds, SIDE**2])
        shown = tf.zeros([SNAPSHOTS, seeds, self.chains, d])
        t = tf.constant(0)
        while t < burn_in + steps:
            state, counts = advance(state, t)
            last = tf.where(counts[..., None], state, last)
            visits = _add_visits(visits, state, counts & (t >= burn_in))
            snapshot = tf.maximum(t - burn_in, 0) * SNAPSHOTS // steps
            shown = tf.tensor_scatter_nd_update(shown, [[snapshot]], last[None])
            t += 1
        by_seed = tf.transpose(shown, [1, 0, 2, 3])
        return visits, tf.reshape(by_seed, [seeds, SNAPSHOTS * self.chains, d])[:, :SHOWN]

    def chain(self, kind: Kind, number: int) -> Callable:
        """A function that takes a step of the kind `number`.

        Every state counts, except where the chain restarts. Parts of a gradient that are not finite become 0.
        """
        rule, d = self._rule(kind), self.twin.state_dim

        def advance(state, t):
            slope = as_rows(self.slope(as_columns(state), kind.through_y, RULES[kind.rule].online))
            slope = tf.where(tf.math.is_finite(slope), slope, 0.0)
            normals = self.streams.normal(Purpose.FROZEN_CHAIN_NOISE, (self.chains, 2 * d), step=t, inner=number)
            noise, restart_noise = _flat(normals[..., :d]), _flat(normals[..., d:])
            moved, restarts, _ = rule.move(_flat(state), _flat(slope), noise)
            fresh = rule.first(_flat(self.starts(t, number)), restart_noise)
            next_state = tf.where(restarts[:, None], fresh, moved)
            return tf.reshape(next_state, state.shape), tf.reshape(~restarts, state.shape[:2])

        return advance

    def _rule(self, kind: Kind):
        """The rule of a kind with the agent's statistics, which all chains of a seed share."""
        visited = self.agent.search_control.visited
        spread = SimpleNamespace(
            **{
                statistic: tf.repeat(getattr(visited, statistic), self.chains, axis=0)
                for statistic in ("covariance", "mean_move", "recent_move")
            }
        )
        return RULES[kind.rule](self.twin, spread, replace(self.agent.settings, step_size=kind.step_size))

    def starts(self, t: tf.Tensor, number: int) -> tf.Tensor:
        """States of B_er, where search control starts its chains too: [S, C, d]."""
        replay = self.agent.replay
        indices = self.streams.integers(Purpose.FROZEN_CHAIN_STARTS, (self.chains,), replay.size, step=t, inner=number)
        return replay.gather(indices).state

    def _ideal_draws(self) -> Callable:
        """A function that draws states from |delta| of the cells; in expectation, no sampler fits better."""
        error = tf.where(self.is_open, self._errors_of_cells(online=False), 0.0)
        levels = build_levels(error)

        def advance(state, t):
            uniforms = self.streams.uniform(Purpose.FROZEN_IDEAL_STATES, (self.chains, 3), step=t)
            cells, _ = draw_leaves(levels, uniforms[..., 0])
            corner = tf.cast(tf.stack([cells // SIDE, cells % SIDE], axis=-1), tf.float32)
            return (corner + uniforms[..., 1:]) / SIDE, tf.ones(state.shape[:2], tf.bool)

        return advance

    @xla_function
    def _cell_errors(self) -> tuple[tf.Tensor, tf.Tensor]:
        """|delta| of the cells with the target network in y, and with Q itself in y, as in `algorithm_4`."""
        return self._errors_of_cells(online=False), self._errors_of_cells(online=True)

    def _errors_of_cells(self, online: bool) -> tf.Tensor:
        """The mean of exp h, the target density of chains, over the points of each cell: [S, SIDE^2]."""
        settings, seeds = self.agent.settings, self.streams.count

        def errors(start, size):
            points = tf.slice(tf.constant(self.points), [start, 0], [size, 2])
            columns = as_columns(tf.broadcast_to(points, [seeds, size, 2]))
            return tf.abs(self.targets(columns, online) - self.agent.learner.value(columns)) + self.agent.smoothing

        values = map_blocks(errors, len(self.points), max(*settings.hidden, *settings.model_hidden))
        return total(tf.reshape(values, [seeds, SIDE**2, POINTS**2])) / POINTS**2

    # Claim 46: y constant.

    @xla_function
    def _compare_gradients(self, step: tf.Tensor) -> dict[str, tf.Tensor]:
        """Over states, the gradients' mean cosine, and the shares of cosines above 0 and above 0.9; each [S]."""
        states = {
            "uniform": self.streams.uniform(Purpose.FROZEN_UNIFORM_STATES, (PROBED, self.twin.state_dim)),
            "queue": self.agent.sample_states(step, PROBED),
        }
        metrics = {}
        for source, rows in states.items():
            cosine, is_defined = self.cosines(as_columns(rows))
            for name, values in {
                "cosine": cosine,
                "cosine_positive": tf.cast(cosine > 0.0, tf.float32),
                "cosine_close": tf.cast(cosine > CLOSE, tf.float32),
            }.items():
                metrics[f"{name}_{source}"] = total(tf.where(is_defined, values, 0.0)) / total(is_defined)
        return metrics

    def cosines(self, columns: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Cosine of grad h with y constant and through y, and whether both exceed `VANISHED`: [S, d, B] -> [S, B]."""
        constant, whole = self.slope(columns, through_y=False), self.slope(columns, through_y=True)
        lengths = length(constant), length(whole)
        is_defined = (lengths[0] > VANISHED) & (lengths[1] > VANISHED)
        product = sum_of_features(constant * whole)
        return tf.math.divide_no_nan(product, lengths[0] * lengths[1]), is_defined

    # Claim 47: Theorem 3.

    @xla_function
    def _compare_models(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """u, u^ and eps_s of Theorem 3 on GridWorld with 50x50 states, the cells' lower left corners: each [S, 2500].

        An outcome of the greedy action is the cell of s', whether s' is terminal, and the reward, rounded to -1 or 0.
        The learned model gives one outcome, the true one a distribution.
        """
        learner = self.agent.learner
        state = tf.broadcast_to(self.corners, [self.streams.count, *self.corners.shape])
        value = tf.reduce_max(learner.q(as_columns(state)), axis=1)  # [S, 2500]
        bootstrap = tf.reduce_max(learner.q_target(as_columns(state)), axis=1)
        action = learner.greedy(state)
        noise = tf.constant(ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES), tf.float32)[:, None]
        true = self.twin.step(state[:, :, None], action[:, :, None], noise)  # [S, 2500, QUANTILES]
        learned = self.agent.model.predict(state, action, tf.zeros([*action.shape, 0]))
        (cell, reward, terminal), predicted = _outcome(*true), _outcome(*(part[:, :, None] for part in learned))
        agrees = (cell == predicted[0]) & (reward == predicted[1]) & (terminal == predicted[2])

        def error(cell, reward, terminal):
            values = tf.gather(bootstrap, cell, batch_dims=1)
            y = reward + self.agent.settings.discount * tf.where(terminal, 0.0, values)
            return tf.abs(total(y) / y.shape[2] - value)

        return error(cell, reward, terminal), error(*predicted), 1.0 - total(agrees) / QUANTILES

    def _largest_value(self) -> float:
        """Vmax: GridWorld's rewards are -1 and 0."""
        return 1.0 / (1.0 - self.agent.settings.discount)


def chain_metrics(visits: dict[str, np.ndarray], error: np.ndarray, online_error: np.ndarray) -> dict[str, np.ndarray]:
    """How closely visits [S, cells] follow |delta|: `online_error` for `ONLINE_KINDS`, `error` for the rest; each [S].

    A chain that leaves the square at every step has no state in it. Its exponent is NaN. Its total variation is 1: it
    shares no cell with |delta|.
    """
    targets = {"variation_uniform": error}
    if not visits.keys().isdisjoint(ONLINE_KINDS):
        targets["variation_uniform_online"] = online_error
    uniform = 1.0 / error.shape[1]
    metrics = {
        name: densities.total_variation(uniform, densities.power_density(climbed)) for name, climbed in targets.items()
    }
    for kind, counts in visits.items():
        climbed = online_error if kind in ONLINE_KINDS else error
        with np.errstate(invalid="ignore"):
            shares = counts / counts.sum(axis=1, keepdims=True)
        variation = densities.total_variation(shares, densities.power_density(climbed))
        is_outside = (counts.sum(axis=1) == 0) & np.isfinite(climbed).all(axis=1)
        metrics[f"beta_{kind}"] = densities.fitted_exponent(shares, climbed)
        metrics[f"variation_{kind}"] = np.where(is_outside, 1.0, variation)
    return metrics


def bound_metrics(
    error: np.ndarray, learned_error: np.ndarray, model_error: np.ndarray, largest_value: float
) -> dict[str, np.ndarray]:
    """The metrics of Theorem 3's two sides, each [S]; the arguments are those of `densities.theorem_3`."""
    left, right = densities.theorem_3(error, learned_error, model_error, largest_value)
    return {
        "bound_left": left.mean(axis=1),
        "bound_right": right.mean(axis=1),
        "bound_ratio": right.mean(axis=1) / left.mean(axis=1),
        "bound_slack": (1.0 - left / right).min(axis=1),
    }


def _flat(rows: tf.Tensor) -> tf.Tensor:
    """All chains of all seeds in one axis, as the rules take them: [S, C, d] -> [S C, d]."""
    return tf.reshape(rows, [-1, rows.shape[-1]])


def _add_visits(visits: tf.Tensor, states: tf.Tensor, counts: tf.Tensor) -> tf.Tensor:
    """The visits [S, SIDE^2] plus one for each state [S, C, 2] that counts (bool [S, C])."""
    cell = cells_of(states, SIDE)
    seed = tf.broadcast_to(tf.range(cell.shape[0])[:, None], cell.shape)
    return tf.tensor_scatter_nd_add(visits, tf.stack([seed, cell], axis=-1), tf.cast(counts, tf.float32))


def _outcome(next_state, reward, terminated) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """A model's outcome, discretised: the cell of s', the reward as -1 or 0, and whether s' is terminal."""
    return cells_of(next_state, CELLS), tf.where(reward > -0.5, 0.0, -1.0), tf.cast(terminated, tf.float32) > 0.5
