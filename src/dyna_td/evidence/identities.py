"""Claims that need no training: the paper's identities, and facts about the plan.

Each function checks one of them. Random cases come from fixed seeds, and nothing here depends on a scale.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial

import numpy as np
import scipy  # loads its parts when they are used

from dyna_td.evidence.profiles import FIGURES
from dyna_td.plan.plans import load_plan
from dyna_td.records import published
from dyna_td.settings import SearchControlSettings
from dyna_td.theory import hitting_times

_NETWORKS = 10  # random networks in a check
_OTHER_TARGETS = (0.1, 5.0)  # times those of figures 8c and 8d, which are ours
_STEP = 1e-30  # complex differentiation has no rounding error, so its step can be tiny
_OF_SEARCH = [field.name for field in fields(SearchControlSettings) if field.name != "model"]


@dataclass(frozen=True)
class Check:
    """Whether an identity `holds`, the number that shows it, and a `note` that names this number.

    It is None where that depends on a choice of ours, which the note names, too.
    """

    holds: bool | None
    effect: float
    note: str


def theorem_1() -> Check:
    """c E_q[grad e^2 / 2] = E_uniform[grad |e|^3 / 3], each gradient by complex differentiation of its own loss."""
    worst = 0.0
    for seed in range(_NETWORKS):
        rng = np.random.default_rng(seed)
        x, y = rng.uniform(-2, 2, 100), rng.normal(size=100)
        parameters = rng.normal(size=97)  # 8x8 tanh units
        absolute = np.abs(_tanh_network(parameters, x) - y)
        q = absolute / absolute.sum()
        square = _gradient(lambda errors, q=q: np.sum(q * errors**2 / 2), parameters, x, y)
        cubic = _gradient(lambda errors: np.mean((errors**2) ** 1.5 / 3), parameters, x, y)
        gap = np.linalg.norm(absolute.mean() * square - cubic) / np.linalg.norm(cubic)
        worst = max(worst, float(gap))
    return Check(worst < 1e-10, worst, f"largest relative error of the gradients of {_NETWORKS} random networks")


def theorem_2() -> Check:
    """The theorem covers the paper's example, and in every case that it covers the cubic loss is at least as fast."""
    rng = np.random.default_rng(0)
    cases = [(np.full(1000, 2.0), 570.0, 1.0, 1.0)]
    for _ in range(2000):
        errors = rng.lognormal(1.0, 1.0, rng.integers(1, 20))
        cases.append((errors, rng.uniform(0.05, 1.0) * errors.sum(), *rng.uniform(0.2, 5.0, 2)))
    covered = [case for case in cases if hitting_times.theorem_2_condition(*case)]
    leads = []
    for errors, threshold, square_rate, cubic_rate in covered:
        square = hitting_times.total_square_hitting_time(errors, threshold, square_rate)
        leads.append(1.0 - hitting_times.total_cubic_hitting_time(errors, threshold, cubic_rate) / square)
    holds = bool(covered) and covered[0] is cases[0] and min(leads) > -1e-9
    note = f"smallest lead of the cubic loss, as a share of the time, in {len(covered)} cases that the theorem covers"
    return Check(holds, float(min(leads, default=np.nan)), note)


def sharper_cubic_gradient() -> Check:
    """In the upper half of figure 8b, the cubic loss has the larger derivative."""
    curves = hitting_times.figure_8b().pivot(index="step", columns="curve", values="mean")
    upper = curves[curves.index >= curves.index.max() / 2]
    ratio = float((upper["cubic"] / upper["square"]).min())
    return Check(ratio > 1.0, ratio, "smallest ratio of the derivatives, cubic to square, for errors of 1 to 2")


def gap_maximum() -> Check:
    """f(x) = ln(1/x) - 1/x is largest at x = 1, where it is -1."""
    largest = scipy.optimize.minimize_scalar(
        lambda x: -hitting_times.gap_function(x), bounds=(1e-2, 1e2), method="bounded"
    )
    error = max(abs(largest.x - 1.0), abs(largest.fun - 1.0))
    return Check(bool(error < 1e-4), float(error), "error of the maximum's place and height, found numerically")


def cubic_sooner(form: str) -> Check:
    """The cubic loss arrives first at most points of figure 8c or 8d, with our targets, smaller and larger ones."""
    drawn, *others = (
        float((hitting_times.CLOSED_FORMS[form](scale)["mean"] > 1.0).mean()) for scale in (1.0, *_OTHER_TARGETS)
    )
    holds = {share > 0.5 for share in (drawn, *others)}
    scaled = " and ".join(
        f"{share:.2f} with targets {scale:g} times as large"
        for scale, share in zip(_OTHER_TARGETS, others, strict=True)
    )
    note = f"share of the points of {form.replace('_', ' ')} with a ratio above 1; {scaled}"
    return Check(holds.pop() if len(holds) == 1 else None, drawn, note)


def cubic_slower_near_minimum() -> Check:
    """From every start of figure 8d, the cubic loss takes longer to reach errors of at most 0.01."""
    thresholds = np.geomspace(1e-8, 1e-2, 100)
    ratio = float(np.max([hitting_times.hitting_time_ratio(start, thresholds) for start in hitting_times.STARTS]))
    return Check(ratio < 1.0, ratio, "largest ratio of the hitting times, square to cubic, for targets up to 0.01")


def flat_frequency_of_relu() -> Check:
    """With ReLU units, ||grad V||^2 + ||Hessian V||^2 is constant around almost every state: nothing to climb."""
    rng = np.random.default_rng(0)
    flat = []
    for _ in range(_NETWORKS):
        layers = [rng.normal(size=shape) / np.sqrt(shape[0]) for shape in ((2, 32), (32, 32), (32, 4))]
        biases = [rng.normal(size=32), rng.normal(size=32)]
        states = rng.uniform(size=(1000, 2))
        here, near = (_slope_of_relu_value(layers, biases, states + shift) for shift in (0.0, 1e-6))
        flat.append(np.isclose(here, near, rtol=1e-9, atol=0.0).all(axis=1).mean())
    share = float(np.mean(flat))
    return Check(share > 0.95, share, f"share of random states of {_NETWORKS} random networks without a gradient")


def one_set_of_constants() -> Check:
    """Dyna-TD's runs in figures 4 and 12 share all numbers of search control but the model."""
    plan = load_plan(published.SCALE)
    runs = [run for name in FIGURES for run in plan.figure(name).runs if run.agent == "dyna_td"]
    sets = {tuple(getattr(run.settings, name) for name in _OF_SEARCH) for run in runs}
    note = f"sets of search-control constants on {len({run.environment for run in runs})} environments"
    return Check(len(sets) == 1, float(len(sets)), note)


_NAMED = (theorem_1, theorem_2, sharper_cubic_gradient, gap_maximum, cubic_slower_near_minimum)
IDENTITIES: dict[str, Callable[[], Check]] = {
    **{function.__name__: function for function in (*_NAMED, flat_frequency_of_relu, one_set_of_constants)},
    "cubic_sooner_from_starts": partial(cubic_sooner, "figure_8c"),
    "cubic_sooner_at_targets": partial(cubic_sooner, "figure_8d"),
}


def _gradient(loss, parameters: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The gradient [P] of an analytic `loss` of the network's errors [N], exact but for the rounding of the loss."""
    shifts = 1j * _STEP * np.eye(len(parameters))
    return np.array([loss(_tanh_network(parameters + shift, x) - y).imag / _STEP for shift in shifts])


def _tanh_network(parameters: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The output of a network with two layers of 8 tanh units: [97], [N] -> [N]."""
    w1, b1, w2, b2, w3, b3 = np.split(parameters, [8, 16, 80, 88, 96])
    hidden = np.tanh(w2.reshape(8, 8) @ np.tanh(np.outer(w1, x) + b1[:, None]) + b2[:, None])
    return w3 @ hidden + b3


def _slope_of_relu_value(layers: list[np.ndarray], biases: list[np.ndarray], states: np.ndarray) -> np.ndarray:
    """The gradient of V(s) = max_a Q(s, a) where no unit is at its kink: [N, 2] -> [N, 2]."""
    first = states @ layers[0] + biases[0]
    second = np.maximum(first, 0.0) @ layers[1] + biases[1]
    q = np.maximum(second, 0.0) @ layers[2]
    upstream = layers[2].T[q.argmax(axis=1)] * (second > 0)  # [N, 32]
    return (upstream @ layers[1].T * (first > 0)) @ layers[0].T
