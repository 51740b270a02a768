"""The minutes that are left follow from the steps done and the speed seen, on a simulated machine."""

import numpy as np
import pytest

from dyna_td.pipeline.forecast import Forecast, Training
from dyna_td.plan import costs, plans

SECONDS, START = (300.0, 200.0, 200.0, 100.0), 20.0
CLOCK = ((0, 0.0), (5_000, 1.0), (30_000, 100.0))  # published: the first steps do not learn


def trainings():
    cost = [costs.Cost(costs.START + 5.0 + seconds, 900.0, 4, 30_000, CLOCK, 5.0) for seconds in SECONDS]
    return {number: Training(f"run{number}", 30_000, each) for number, each in enumerate(cost)}


def steps_at(seconds, whole):
    """The steps done after `seconds` of training that takes `whole`."""
    return int(np.interp(100 * seconds / whole, [moment for _, moment in CLOCK], [step for step, _ in CLOCK]))


@pytest.mark.parametrize("slower", [(1.0, 1.0, 1.0, 1.0), (2.5, 3.0, 2.0, 3.5), (0.4, 0.5, 0.5, 0.4)])
def test_minutes_left_are_right_within_a_factor_of_one_and_a_half_after_the_first_minute(slower):
    forecast, times = Forecast(trainings(), cores=2), [slow * s for slow, s in zip(slower, SECONDS, strict=True)]
    begun, free, said = {}, [0.0, 0.0], {}
    for number in range(4):  # two cores, the longest first
        begun[number] = min(free)
        free[free.index(begun[number])] += START + times[number]
    for now in range(int(max(free)) + 1):
        for number, job in forecast.trainings.items():
            trained = now - begun[number] - START
            job.has_ended = trained >= times[number]
            if trained >= -START:
                job.begun = begun[number]
            if 0 <= trained < times[number]:
                forecast.note(number, steps_at(trained, times[number]), now)
        said[now] = forecast.minutes(now)
    wrong = {now: said[now] / ((max(free) - now) / 60) for now in range(60, int(max(free)) - 30)}
    assert all(1 / 1.5 < factor < 1.5 for factor in wrong.values()), wrong
    assert forecast.share == 1 and said[int(max(free))] < 0.02


def test_steps_of_a_checkpoint_are_not_left_and_do_not_count_for_the_speed():
    forecast = Forecast(trainings(), cores=2)
    whole = forecast.minutes(0.0)
    for job in forecast.trainings.values():
        job.done = 21_000
    assert forecast.share == 0.7 and forecast.minutes(0.0) < 0.7 * whole
    forecast.trainings[0].begun = 0.0
    before = forecast.minutes(10.0)
    forecast.note(0, 21_000, 10.0)  # resumed, no step of its own yet
    assert forecast.minutes(10.0) == pytest.approx(before, rel=0.5) and forecast.share == 0.7


def test_a_training_of_several_stacks_or_rates_has_the_steps_of_all_as_its_log_says():
    plan = plans.load_plan("paper")
    swept = next(run for run in plan.all_runs.values() if run.sweep and run.environment == "GridWorld")
    sweep = Training.of(plan, f"{swept.name}.selection")
    assert sweep.total % (len(swept.sweep) * swept.steps) == 0 and sweep.name == swept.name
    assert sweep.cost.training(sweep.total, sweep.total) > sweep.cost.training(swept.steps, sweep.total) > 0
