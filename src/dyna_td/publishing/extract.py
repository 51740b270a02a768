"""The published extract of a run: all that a figure, a claim or a reading uses.

A clone without the rest is half as large. Training the run again gives the rest.
"""

from collections.abc import Callable

from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.evidence.readings import load_readings
from dyna_td.plan.planned import Plan
from dyna_td.records.metrics import SAMPLING_GROUPS
from dyna_td.records.policy import Policy

_STEP, _METRIC, _SOURCE = 1, 2, 2  # columns of tables; in sweeps they are one to the right
# Metrics that only a few runs need. A run keeps a group if something uses one of its metrics.
_GROUPS = ({"test_rmse_high", "test_rmse_low"}, {"train_rmse"}, *SAMPLING_GROUPS)
POLICY_SEEDS = 5  # enough to watch; all seeds of all policies would double a clone


def left_out(plan: Plan) -> dict[str, set[str]]:
    """The metrics that are not published, by run: groups that no panel, claim or reading uses."""
    used: dict[str, set[str]] = {name: set() for name in plan.runs}
    for figure in plan.drawn.values():
        for panel in figure.panels.values():
            for run in panel.curves.values():
                used[run.name].add(panel.metric)
    claims = load_claims(plan)
    for stated in (claims, *(reading.claims for reading in load_readings(plan, claims))):
        for test in (test for claim in stated for test in claim.tests if isinstance(test, MeasuredTest)):
            for term in test.terms:
                used[term.run.name].update(term.metric.split("+"), [test.over] if test.over else [])
    return {name: set().union(*(group for group in _GROUPS if not group & mine)) for name, mine in used.items()}


def records(csv: bytes, without: set[str]) -> bytes:
    """A run's CSV without these metrics."""
    names = {metric.encode() for metric in without}
    return _rows(csv, lambda fields: fields[_METRIC] not in names)


def sweep(csv: bytes, metric: str) -> bytes:
    """A sweep's CSV with only what chooses the rate: a metric, and which seeds diverged."""
    return _rows(csv, lambda fields: fields[_METRIC + 1] in (metric.encode(), b"diverged"))


def states(csv: bytes, plan: Plan, run: str) -> bytes:
    """A run's CSV of sampled states with the moments and sources that a panel shows."""
    shown = set()
    for figure in plan.drawn.values():
        for panel in figure.panels.values():
            for curve in panel.curves.values() if panel.states else ():
                if curve.name == run:
                    shown.add((str(curve.moments[panel.states["moment"]]).encode(), panel.states["source"].encode()))
    return _rows(csv, lambda fields: (fields[_STEP], fields[_SOURCE]) in shown)


def policy(full: Policy) -> Policy:
    """The policies of the first seeds."""
    seeds = full.seeds[:POLICY_SEEDS]
    weights = {name: array[: len(seeds)] for name, array in full.weights.items()}
    return Policy({**full.about, "seeds": list(seeds)}, weights)


def _rows(csv: bytes, keep: Callable[[list[bytes]], bool]) -> bytes:
    """The header, and the rows whose fields are to be kept."""
    header, *rows = csv.splitlines(keepends=True)
    return b"".join([header, *(row for row in rows if keep(row.split(b",")))])
