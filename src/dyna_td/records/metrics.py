"""The glossary of metrics: each word of the `metric` column with its unit and meaning; and which seeds diverged."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from dyna_td.errors import require_choice
from dyna_td.runs.registry import AGENTS, ROUNDABOUT, SAMPLED_ENVIRONMENT, is_supervised


@dataclass(frozen=True)
class Metric:
    """One word of the `metric` column, either of the supervised task or of control."""

    unit: str
    meaning: str
    supervised: bool = False


METRICS = {
    "return": Metric("reward", "undiscounted return of an evaluation episode, or the mean of several"),
    "episode_length": Metric("environment steps", "length of an evaluation episode, or the mean of several"),
    "test_rmse": Metric("RMSE", "root mean squared error on the noise-free test points", True),
    "test_rmse_high": Metric("RMSE", "test_rmse on x < 0 alone, the high-frequency half", True),
    "test_rmse_low": Metric("RMSE", "test_rmse on x >= 0 alone, the low-frequency half", True),
    "train_rmse": Metric("RMSE", "root mean squared error on the noisy training set", True),
    "crashed": Metric("0 or 1", "share of the evaluation's episodes that ended in a crash"),
    "crashes": Metric("crashes", "crashes in evaluations so far, in curves.csv against the steps that these drove"),
    "speed": Metric("m/s", "mean speed of the ego vehicle in an evaluation episode"),
    "diverged": Metric("0 or 1", "whether a network of the agent has a parameter that is not finite"),
}

# Counters of Dyna agents, since training began.
DYNA_METRICS = {
    "chain_steps_made": Metric("steps", "steps of search-control chains"),
    "chain_restarts": Metric("restarts", "restarts of search-control chains, without a fill's first start"),
    "chain_states": Metric("states", "states accepted into the search-control queue"),
    "chain_vanished_gradients": Metric("steps", "chain steps whose gradient was too short to follow"),
    "chain_nonfinite_gradients": Metric(
        "steps", "chain steps whose gradient, or its length, was not finite: the chain restarts"
    ),
    "queue_size": Metric("states", "states in the search-control queue now"),
}
# Counters of Dyna-Frequency's chains that climb the frequency instead of the value.
FREQUENCY_METRICS = {
    "frequency_steps_made": Metric("steps", "steps of chains that climb the frequency"),
    "frequency_vanished_gradients": Metric("steps", "steps of such chains with a gradient too short to follow"),
    "frequency_nonfinite_gradients": Metric("steps", "steps of such chains with a gradient that is not finite"),
}
METRICS |= DYNA_METRICS | FREQUENCY_METRICS

# Sampling distributions on GridWorld, measured at every evaluation (Section 4.2): the suffixes of their metrics, with
# the states that each suffix stands for.
_SOURCES = {
    "": "states drawn as the agent's own sampler draws them: from its queue (or B_er, while it is empty), all by "
    "priority, or uniformly from B_er",
    "_buffer": "states drawn uniformly from B_er",
    "_recent": "states drawn uniformly from the newest 20,000 of the search-control queue",
}
_CONTROLS = {
    "_floor": "as many states drawn from p* itself: in expectation, no sampler is closer",
    "_exact_uniform": "the uniform distribution itself",
}
_DISTANCES = {
    "distance_uniform": "mean over the 50x50 cells of |p - p*|",
    "distance_on_policy": "sum over the 50x50 cells of d_pi |p - p*|",
}
_COVERAGES = {
    "entropy_10": ("nats", "entropy of the histogram on 10x10 cells"),
    "entropy_50": ("nats", "entropy of the histogram on 50x50 cells"),
    "occupied_cells": ("cells", "cells of 50x50 that hold one of 2000 states"),
    "mass_top_left": ("share", "share of states with x < 0.5 and y > 0.5"),
    "mass_right": ("share", "share of states with x > 0.6, right of the wall"),
}
SAMPLING_METRICS = {
    _name + _suffix: Metric("probability", f"{_meaning}; p: {_source}")
    for _suffix, _source in {**_SOURCES, **_CONTROLS}.items()
    for _name, _meaning in _DISTANCES.items()
} | {
    _name + _suffix: Metric(_unit, f"{_meaning}; {_source}")
    for _suffix, _source in _SOURCES.items()
    for _name, (_unit, _meaning) in _COVERAGES.items()
}
# For each quantity the names of all sources and controls; no metric is named after a coverage's controls.
SAMPLING_GROUPS = [{_name + _suffix for _suffix in _SOURCES | _CONTROLS} for _name in [*_DISTANCES, *_COVERAGES]]
# Cells that the states in a run's states.csv reach, at the moments of the pictures; computed when they are read.
STATES_METRICS = {
    f"cells_{_name}{_suffix}": Metric("cells", f"cells of 50x50 reached {_where} by 2000 {_SOURCES[_suffix]}")
    for _name, _where in {"top_left": "with x < 0.5 and y > 0.5", "right": "with x > 0.6, right of the wall,"}.items()
    for _suffix in ("", "_buffer")
}
SAMPLING_METRICS |= STATES_METRICS
METRICS |= SAMPLING_METRICS

# Measurements on the last Q (`registry.FROZEN_AGENTS`); delta is computed with the agent's learned model.
_MIXING = {
    "adjusted": "chains long enough to mix, Langevin rule with Metropolis's acceptance",
    "longer": "chains long enough to mix, Langevin rule",
    "tenth": "chains long enough to mix, Langevin rule with a tenth of the step",
    "hundredth": "chains long enough to mix, Langevin rule with a hundredth of the step",
    "walk": "random-walk Metropolis",
}
_STARTS = {"": "from B_er", "_uniform": "from uniform states"}
_KINDS = {
    "released": "long chains of the released rule",
    "algorithm_4": "long chains of Algorithm 4's rule",
    "langevin": "long chains of the Langevin rule",
    "langevin_constant_y": "long chains of the Langevin rule with y held constant in the gradient",
    "langevin_small_steps": "long chains of the Langevin rule whose steps are a hundredth as large",
    **{_kind + _end: f"{_chains}, {_start}" for _kind, _chains in _MIXING.items() for _end, _start in _STARTS.items()},
    "longer_constant_y": "chains long enough to mix, Langevin rule with y constant in the gradient, from B_er",
    "ideal": "as many independent draws from |delta| itself: in expectation, no sampler fits better",
}
_PROBED = {"uniform": "states uniform in the box", "queue": "states of the search-control queue"}
FROZEN_METRICS = {
    _name + _kind: Metric(_unit, f"{_meaning}; {_states}")
    for _kind, _states in _KINDS.items()
    for _name, _unit, _meaning in (
        ("beta_", "exponent", "beta of the density |delta|^beta that fits the states best, on 20x20 cells"),
        ("variation_", "total variation", "from the histogram of the states to |delta|"),
    )
} | {
    _name + _source: Metric(_unit, f"{_meaning}; {_states}")
    for _source, _states in _PROBED.items()
    for _name, _unit, _meaning in (
        ("cosine_", "cosine", "mean cosine of the gradients of log |delta| with y held constant and through y"),
        ("cosine_positive_", "share", "share of states with a cosine above 0"),
        ("cosine_close_", "share", "share of states with a cosine above 0.9"),
    )
}
FROZEN_METRICS |= {
    f"variation_between_{_kind}": Metric("total variation", f"between both starts, B_er and uniform states; {_chains}")
    for _kind, _chains in _MIXING.items()
} | {
    "variation_between_constant_y": Metric("total variation", "between longer chains with y constant and without"),
    "variation_uniform": Metric("total variation", "from the uniform distribution to |delta|"),
    "variation_uniform_online": Metric("total variation", "the same to |delta| with Q itself in y, as in algorithm_4"),
    "bound_left": Metric("probability", "mean over 50x50 states of Theorem 3's left side, |p - p^|"),
    "bound_right": Metric("probability", "mean over 50x50 states of Theorem 3's right side"),
    "bound_ratio": Metric("times", "bound_right / bound_left: how loose the bound is"),
    "bound_slack": Metric("share", "share of Theorem 3's right side above the left one, in the tightest state"),
}
METRICS |= FROZEN_METRICS
ROUNDABOUT_METRICS = ("crashed", "crashes", "speed")
EVALUATED = ("return", "episode_length", *ROUNDABOUT_METRICS)  # what evaluations of control measure
MAIN = ("return", "test_rmse")  # of control, where more is better, and of the sine task, where less is


def main_metric(environment: str) -> str:
    """The metric that judges a training: it chooses learning rates and is compared and drawn by default."""
    return MAIN[is_supervised(environment)]


def require_metric(metric: object, environment: str, agents: Iterable[str]) -> str:
    """Returns `metric` if a run of each of `agents` on `environment` has it.

    Raises:
      UserError: for an unknown metric, or one that such runs do not have.
    """
    known = {
        name: meaning
        for name, meaning in METRICS.items()
        if meaning.supervised == is_supervised(environment)
        and (environment == SAMPLED_ENVIRONMENT or name not in SAMPLING_METRICS)
        and ((name not in DYNA_METRICS and not name.endswith("_recent")) or all(AGENTS[agent].dyna for agent in agents))
        and (environment == ROUNDABOUT or name not in ROUNDABOUT_METRICS)
        and (name not in FREQUENCY_METRICS or all(AGENTS[agent].climbs_frequency for agent in agents))
        and (name not in FROZEN_METRICS or all(AGENTS[agent].measures_last_q for agent in agents))
    }
    return require_choice(metric, known, f"metric of {', '.join(agents)} on {environment}")


def diverged_seeds(records: pd.DataFrame) -> dict[str, int]:
    """By diverged seed, the first step at which a parameter was not finite (in the supervised task: an error).

    Other NaNs do not count: if all TD errors of a healthy seed are 0, there is no p* to compare with.
    """
    is_flag = records["metric"] == "diverged"
    is_bad = is_flag & (records["value"] > 0) if is_flag.any() else ~np.isfinite(records["value"])
    return {str(seed): int(step) for seed, step in records[is_bad].groupby("seed")["step"].min().items()}
