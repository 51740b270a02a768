"""What jobs have to do, by hand; what finished jobs took, from files written for the test."""

import json
import re
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest

from dyna_td.errors import UserError
from dyna_td.pipeline import costs
from dyna_td.pipeline.plans import load_plan
from dyna_td.settings import DDPGSettings, DQNSettings, DynaSettings, RegressionSettings, Run

ROOT = Path(__file__).parents[2]
ER = Run("GridWorld", "er", DQNSettings(warm_up_steps=1_000), (0, 1, 2), steps=2_000, evaluate_every=300)


def test_what_dyna_td_with_a_learned_model_does_by_hand():
    settings = DynaSettings(planning_updates=5, warm_up_steps=1_000, model="learned", hidden=(8,), model_hidden=(10,))
    amounts = costs.training_job(Run("Acrobot-v1", "dyna_td", settings, (0, 1), steps=3_000)).quantities
    assert amounts["seed_steps"] == 6  # thousand: 2 seeds, 3,000 steps
    assert amounts["seed_updates"] == 20  # thousand: 2 seeds, 2,000 steps after the warm-up, 5 updates
    assert amounts["update_work"] == pytest.approx(20e3 * 3 * 32 * (4 * 8 + 8 * 4) / 1e9)
    assert amounts["model_work"] == pytest.approx(4e3 * 3 * 128 * (4 * 10 + 10 * 4) / 1e9)
    assert amounts["chain_steps"] == 400  # thousand: 4,000 chains of 100 steps
    assert amounts["evaluations"] == 14  # 2 seeds at steps 0, 500, ..., 3000
    # For 2 seeds, 3,000 transitions of 15 numbers and, from 2,001 fills, 20 states each of 6 numbers.
    assert amounts["buffers"] == pytest.approx(2 * (3_000 * 15 + 2_001 * 20 * 6) * 4 / 2**20)
    assert amounts["refresh_work"] == amounts["measurements"] == 0


def test_the_full_pass_goes_over_everything_stored_at_every_update():
    settings = RegressionSettings(examples=400, hidden=(10,))
    amounts = costs.training_job(Run("sin", "full_prioritized_l2", settings, (0, 1), steps=1_000)).quantities
    assert amounts["refresh_work"] == pytest.approx(2_000 * 400 * 80 / 1e9)


def test_a_sweep_repeats_the_training_in_the_same_programs_and_measures_nothing():
    once, sweep = costs.training_job(ER).quantities, costs.training_job(ER, rates=3).quantities
    for name in ("seed_steps", "seed_updates", "update_work", "evaluations"):
        assert sweep[name] == pytest.approx(3 * once[name])
    assert sweep["programs"] == once["programs"] == 1
    assert once["measurements"] == 24 and sweep["measurements"] == sweep["measuring_programs"] == 0


@pytest.mark.parametrize(("seeds", "programs", "trained"), [(1, 1, 2), (20, 1, 20), (21, 2, 21), (50, 3, 50)])
def test_seeds_are_divided_into_programs_and_a_single_one_has_a_companion(seeds, programs, trained):
    run = Run("Hopper-v4", "er", DDPGSettings(), tuple(range(seeds)), steps=1_000)
    amounts = costs.training_job(run).quantities
    assert (amounts["programs"], amounts["seed_steps"]) == (programs, trained)


def test_stacks_are_as_large_as_training_makes_them():
    text = (ROOT / "src" / "dyna_td" / "training.py").read_text()  # importing it would take seconds
    assert re.search(r"^LARGEST_STACK = (\d+)", text, re.MULTILINE)[1] == str(costs.LARGEST_STACK)


def test_chains_whose_restarts_are_free_count_with_all_iterations_that_they_may_make():
    text = (ROOT / "src" / "dyna_td" / "search_control.py").read_text()
    for name, value in (("MOST_ITERATIONS", 4_000), ("MOST_ITERATIONS_A_STEP", 10)):
        assert int(re.search(rf"^{name} = ([\d_]+)", text, re.MULTILINE)[1]) == value
    for chain_steps, iterations in ((100, 1_000), (1_000, 4_000)):
        settings = DynaSettings(chain_steps=chain_steps, search_control="algorithm_4", warm_up_steps=0)
        run = Run("GridWorld", "dyna_td", settings, (0, 1), steps=500)
        assert costs.training_job(run).quantities["chain_steps"] == iterations  # thousands: 2 seeds, 500 fills


def test_every_run_of_the_paper_is_a_job_after_its_sweep_and_each_figure_two_more():
    plan = load_plan("paper")
    jobs = costs.jobs_of(plan, plan.figures.values())
    swept = [name for name, run in plan.runs.items() if run.sweep]
    assert len(jobs) == len(plan.runs) + len(swept) + 2 * len(plan.figures)
    assert swept and all(jobs[name].after == (f"{name}.selection",) for name in swept)
    assert set(plan.runs) >= set(jobs["figure_4.aggregate"].after) and jobs["figure_4.plot"].after


def test_snakemake_looks_at_jobs_as_often_as_is_taken_for_granted():
    from snakemake import benchmark

    often = benchmark.BENCHMARK_INTERVAL * benchmark.BENCHMARK_INTERVAL_SHORT
    assert abs(costs._OFTEN - often) < 1 and benchmark.BENCHMARK_INTERVAL == costs._SELDOM


@pytest.fixture
def finished(tmp_path):
    """Writes the files of a finished job at smoke scale; returns the folder of the results."""
    directory = tmp_path / "smoke"

    def finish(name, clock, cpu_time, run=ER, **details):
        memory = "NA" if cpu_time == "NA" else 100
        benchmark = directory / "benchmarks" / f"{name}.tsv"
        benchmark.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text(f"s\tmax_rss\tcpu_time\n{clock}\t{memory}\t{cpu_time}\n")
        if details:
            described = directory / "runs" / f"{name}.json"
            described.parent.mkdir(parents=True, exist_ok=True)
            seconds = {"train_seconds": 20.0, "compile_seconds": 6.0, "evaluate_seconds": 2.0}
            described.write_text(json.dumps({**asdict(run), **seconds, "peak_memory_mib": 700.5, **details}))
        return directory

    return finish


def test_a_jobs_phases_are_core_seconds_by_the_share_that_it_had_until_it_was_last_looked_at(finished):
    # Looked at after 15.5 and 45.5 s: half a core until then.
    (row,) = costs.measure(finished("GridWorld/er/n10", 60, 22.75, cpu="Abacus")).to_dict("records")
    assert [row[f"{phase}_seconds"] for phase in costs.PHASES] == pytest.approx([16, 3, 10, 1])
    assert (row["scale"], row["job"], row["memory_mib"], row["cpu"]) == ("smoke", "GridWorld/er/n10", 700.5, "Abacus")
    assert row["seed_updates"] == 30 and row["kind"] == "control"


def test_the_memory_of_a_restamped_run_is_left_empty_because_older_code_took_it(finished, tmp_path):
    table = costs.measure(finished("GridWorld/er/n10", 60, 22.75, cpu="Abacus", restamped=[{"source_digest": "a"}]))
    assert table["memory_mib"].isna().all() and table["train_seconds"].all()
    costs.write_table(tmp_path / "costs.csv", table)
    pd.testing.assert_frame_equal(costs.read_table(tmp_path / "costs.csv")[table.columns], table, check_dtype=False)


@pytest.mark.parametrize(
    "ends, train_seconds",
    [([], 20.0), ([0, 2, 3, 5, 6, 20], 20.0), ([0, 1, 2, 17, 18, 20], 6.0)],
    ids=["no times of its evaluations", "slow", "stopped for 14 s"],
)
def test_a_resumed_job_counts_by_its_own_clocks_less_what_it_was_stopped_for(finished, ends, train_seconds):
    details = {"train_seconds_at": [[500 * step, end] for step, end in enumerate(ends)]}
    # Of its 28 s the benchmark file tells the last ten; half a core.
    (row,) = costs.measure(finished("GridWorld/er/n10", 10, 5, cpu="Abacus", **details)).to_dict("records")
    phases = [row[f"{phase}_seconds"] for phase in costs.PHASES]
    assert phases == pytest.approx([0, 3, train_seconds / 2, 1])
    assert row["clock_seconds"] == pytest.approx(8 + train_seconds)


def test_unfinished_and_unseen_jobs_are_left_out(finished):
    finished("figure_8.plot", 0.2, "NA")
    finished("GridWorld/er/unfinished", 60, 60)
    table = costs.measure(finished("figure_7.plot", 2, 1))
    assert list(table["job"]) == ["figure_7.plot"]
    assert table.iloc[0]["start_seconds"] == 1 and table.iloc[0]["memory_mib"] == 100


@pytest.mark.parametrize("details", [{"seeds": None}, {"train_seconds": "long"}, {"settings": {}, "environment": 3}])
def test_a_damaged_file_is_named_in_one_sentence(finished, details):
    with pytest.raises(UserError, match=r"GridWorld/er/n10"):
        costs.measure(finished("GridWorld/er/n10", 60, 22.75, **details))


@pytest.mark.parametrize(
    "text", ["", "s\tmax_rss\tcpu_time\n", "s\tmax_rss\n1\t2\n", "s\tmax_rss\tcpu_time\nNA\t1\t1\n"]
)
def test_a_damaged_benchmark_file_is_named_in_one_sentence(finished, text):
    path = finished("GridWorld/er/n10", 60, 22.75, cpu="Abacus") / "benchmarks" / "GridWorld" / "er" / "n10.tsv"
    path.write_text(text)
    with pytest.raises(UserError, match=r"er/n10\.tsv is damaged; delete it, and its job counts as not measured\.$"):
        costs.measure(path.parents[3])


def test_a_folder_without_results_is_refused(tmp_path):
    (tmp_path / "quick").mkdir()
    with pytest.raises(UserError, match="no measured jobs"):
        costs.measure(tmp_path / "quick")
    with pytest.raises(UserError, match="no folder of a scale"):
        costs.measure(tmp_path / "quik")


def test_a_table_grows_and_a_job_that_is_measured_again_replaces_itself(finished, tmp_path):
    path = tmp_path / "costs.csv"
    finished("figure_7.plot", 2, 1)
    costs.write_table(path, costs.measure(finished("GridWorld/er/n10", 60, 22.75, cpu="")))
    costs.write_table(path, costs.measure(finished("GridWorld/er/n10", 60, 45.5, cpu="")))
    table = costs.read_table(path)
    assert list(table["job"]) == ["GridWorld/er/n10", "figure_7.plot"]
    assert list(table["train_seconds"]) == [20, 0]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "No such file"),
        ("", "no table"),
        ("a,b\n1,2,3\n4,5,6,7\n", "no table"),
        ("scale,job\nquick,a\n", "lacks kind"),
        (",".join(costs.COLUMNS) + "\n", "lacks rows"),
        (",".join(costs.COLUMNS) + "\n" + ",".join(["x"] * len(costs.COLUMNS)) + "\n", "lacks jobs as numbers"),
    ],
)
def test_a_table_that_is_none_is_refused_in_one_sentence(tmp_path, text, words):
    path = tmp_path / "costs.csv"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=words) as refusal:
        costs.read_table(path)
    assert "--fit" in str(refusal.value) and "\n" not in str(refusal.value)


def test_reading_what_was_written_gives_the_same_table(tmp_path):
    table = costs.read_table()
    costs.write_table(tmp_path / "copy.csv", table)
    pd.testing.assert_frame_equal(costs.read_table(tmp_path / "copy.csv"), table)
    assert (tmp_path / "copy.csv").read_bytes() == costs.TABLE.read_bytes()
