"""Golden numbers: this code makes the published numbers, shown by beginnings of each kind of program.

They are equal to the last digit on every x86 CPU with AVX2, with the versions of the lock.
"""

from dataclasses import replace

import pytest
from files import tiers

from dyna_td.plan import plans
from dyna_td.records import beginnings, provenance, published, results
from dyna_td.training.trainer import execute

PLAN = plans.load_plan("paper")
QUICK = ("GridWorld/dyna_td/n10-lr0.001-learned-chain30", "sin/prioritized_l2/t4000-sigma0.5-b128-lrselected")


def beginning_of(name):
    """The beginning of a published run, with its learning rate."""
    run, details = PLAN.run(name), published.read_details(name)
    begun = getattr(run.settings, "warm_up_steps", 0)
    if getattr(run.settings, "model", "") == "learned":
        begun = max(begun, run.settings.model_start)
    chosen = run.with_learning_rate(details["settings"]["learning_rate"])
    every = run.evaluate_every
    return replace(chosen, seeds=run.seeds[:4]).beginning((begun // every + max(1, 1_000 // every)) * every)


@pytest.mark.parametrize("name", tiers(PLAN.runs, QUICK))
def test_the_beginning_of_a_published_run_has_its_numbers(name):
    run = beginning_of(name)
    if run.agent == "dyna_td_frozen":
        pytest.skip("measured at its last step alone, which a beginning does not reach")
    records = execute(run).records
    records["value"] = records["value"].map(lambda value: float(f"{value:.9g}"))
    details = {**results.describe(run), **provenance.machine()}
    found = beginnings.repeat(replace(PLAN.run(name), seeds=run.seeds), records, details)
    assert found.verdict == beginnings.EQUAL, found
