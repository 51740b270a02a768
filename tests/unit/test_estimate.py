"""Estimates from tables whose law is known, schedules by hand, and the measured jobs that are kept."""

import itertools
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dyna_td import cli
from dyna_td.errors import UserError
from dyna_td.pipeline import cost_table, costs, estimate
from dyna_td.pipeline.costs import Job
from dyna_td.pipeline.plans import load_plan
from dyna_td.publishing import marked_text

ROOT = Path(__file__).parents[2]
MEASURED = costs.read_table()
MODEL = estimate.CostModel(MEASURED)


def measured(job, memory=100.0, scale="quick", **seconds):
    numbers = {f"{phase}_seconds": seconds.get(phase, 0.0) for phase in costs.PHASES}
    memory += job.quantities.get("buffers", 0.0)
    return job.as_row(scale) | numbers | {"memory_mib": memory, "clock_seconds": 1.0, "cpu": "Abacus"}


def model_of(*rows):
    return estimate.CostModel(pd.DataFrame(rows, columns=costs.COLUMNS))


def chained(environment, updates, chains):
    amounts = {"jobs": 1, "programs": 1, "seed_updates": updates, "chain_steps": chains, "buffers": updates}
    return Job(f"{environment}/{updates}/{chains}", "control", "dyna_td", environment, amounts)


def test_the_law_behind_measured_jobs_is_found_and_extrapolated():
    def seconds(job, by_chain):
        amounts = job.quantities
        return {
            "start": 4.0,
            "compile": 8.0,
            "train": 0.01 * amounts["seed_updates"] + by_chain * amounts["chain_steps"],
        }

    rows = []
    for (environment, by_chain), updates, chains in itertools.product(
        {"A": 0.001, "B": 0.003}.items(), (100, 300), (500, 2_000)
    ):
        job = chained(environment, updates, chains)
        rows.append(measured(job, memory=900, **seconds(job, by_chain)))
    model = model_of(*rows)
    far = model.cost(chained("B", 1_000, 50_000))
    assert far.seconds == pytest.approx(4 + 8 + 10 + 150, rel=1e-6)
    assert far.memory_mib == pytest.approx(1_900, rel=1e-6)
    assert far.is_measured and far.beyond == pytest.approx(160 / 9)  # the longest: 300 updates, 2,000 chain steps
    other = model.cost(chained("C", 1_000, 50_000))  # its chains are as the others' on average
    assert other.seconds == pytest.approx(4 + 8 + 10 + 100, rel=1e-6) and not other.is_measured


def test_a_measured_job_is_estimated_from_all_others_by_hand():
    rows = [measured(Job(f"figure_{k}.plot", "plot", "", "", {"jobs": 1}), start=k) for k in (1.0, 2.0, 6.0)]
    # Relative errors (c - 1) / 1 and (c - 2) / 2: the best c is (1 + 1/2) / (1 + 1/4).
    assert model_of(*rows).leave_one_out()["seconds"].iloc[2] == pytest.approx(1.2)


def test_memory_that_is_not_known_is_told_from_the_others_and_its_own_buffers():
    memories = {100: 900, 200: 900, 300: math.nan}
    rows = [measured(chained("A", updates, 0), memory, start=1, train=1) for updates, memory in memories.items()]
    model = model_of(*rows)
    assert model.cost(chained("A", 300, 0)).memory_mib == pytest.approx(1_200)
    assert np.isnan(model.leave_one_out()["measured_memory_mib"].iloc[2])
    plan = load_plan("smoke")
    job = costs.jobs_of(plan, [plan.figures["figure_7"]])["figure_7.plot"]
    found, _ = cost_table.costs_of({job.name: job}, "smoke", model_of(measured(job, math.nan, "smoke", start=3), *rows))
    assert found[job.name].seconds == 3 and found[job.name].memory_mib == 0  # no other such job was measured


def test_what_was_never_measured_is_estimated_from_its_kind_and_called_a_guess():
    known = chained("GridWorld", 100, 0)
    model = model_of(measured(known, start=1, train=2))
    new = Job("GridWorld/new/n10", "control", "new", "GridWorld", known.quantities)
    assert model.cost(new).seconds == pytest.approx(3)
    text = estimate.as_text([estimate.line("figure_1", {known.name: known, new.name: new}, model)])
    assert text.splitlines()[-1].endswith("guesses: GridWorld/new")


def named(seconds, after=None):
    jobs = {name: Job(name, "control", "", "", {}, (after or {}).get(name, ())) for name in seconds}
    return jobs, seconds


def test_the_longest_job_that_can_start_starts_first_by_hand():
    assert estimate.makespan(*named({"a": 3, "b": 3, "c": 2, "d": 2, "e": 2})) == 7  # 3 + 2 + 2, 3 + 2
    # The sweep of 4 starts beside b (3), c (1) follows b, and a (5) the sweep.
    assert estimate.makespan(*named({"sweep": 4, "a": 5, "b": 3, "c": 1}, {"a": ("sweep", "done before")})) == 9


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.integers(1, 4), st.data())
def test_no_schedule_beats_its_cores_or_its_chains(durations, cores, data):
    seconds = dict(enumerate(durations))
    after = {job: (data.draw(st.integers(0, job - 1)),) for job in seconds if job and data.draw(st.booleans())}
    jobs, _ = named(seconds, after)
    ends = {}
    for job in seconds:  # in an endless row of cores
        ends[job] = seconds[job] + max((ends[other] for other in after.get(job, ())), default=0)
    found = estimate.makespan(jobs, seconds, cores)
    lowest = max(sum(durations) / cores, max(ends.values()))
    assert lowest - 1e-6 <= found <= sum(durations) / cores + max(ends.values()) + 1e-6  # Graham's bound
    assert estimate.makespan(jobs, seconds, 1) == pytest.approx(sum(durations))


def test_figures_that_share_runs_share_their_cost():
    plan = load_plan("paper")
    one, ten, both = estimate.lines(plan, ["figure_1", "figure_10"], MODEL)
    assert both.name == "all" and both.jobs < one.jobs + ten.jobs
    shared = set(costs.jobs_of(plan, [plan.figures["figure_1"]])) & set(
        costs.jobs_of(plan, [plan.figures["figure_10"]])
    )
    assert both.jobs == one.jobs + ten.jobs - len(shared)
    assert both.core_seconds < one.core_seconds + ten.core_seconds - 60


def test_quick_scale_alone_tells_what_the_figures_on_gridworld_cost_at_the_papers_scale():
    model, plan = estimate.CostModel(MEASURED[MEASURED["scale"] == "quick"]), load_plan("paper")
    jobs = costs.jobs_of(plan, plan.figures.values())  # a study's agents may not have been measured at quick scale
    paper = [
        row
        for row in MEASURED[MEASURED["job"].isin(list(jobs))].to_dict("records")
        if row["scale"] == "paper" and row["environment"] == "GridWorld"
    ]
    assert len(paper) > 10
    for row in paper:
        took = sum(row[f"{phase}_seconds"] for phase in costs.PHASES)
        assert model.cost(estimate._job_of(row)).seconds == pytest.approx(took, rel=0.3), row["job"]


@pytest.mark.parametrize(("kind", "error"), [("control", 0.1), ("supervised", 0.1)])
def test_half_of_the_measured_jobs_are_estimated_closely_from_all_others(kind, error):
    table = MODEL.leave_one_out()
    wrong = (table["seconds"] / table["measured_seconds"] - 1).abs()[table["kind"] == kind]
    assert wrong.median() < error


def test_every_agent_of_the_figures_was_measured_on_its_environment():
    plan = load_plan("paper")
    jobs = costs.jobs_of(plan, plan.figures.values())
    assert [name for name, job in jobs.items() if not MODEL.cost(job).is_measured] == []


def test_the_pipeline_announces_the_jobs_that_it_is_about_to_do():
    plan = load_plan("quick")
    text = estimate.announcement(plan, ["GridWorld/er/n10-lr0.001", "figure_7.plot", "claims"], MODEL)
    assert "in 2 jobs" in text and text.endswith(": GridWorld/er/n10-lr0.001") and "\n" not in text
    assert estimate.announcement(plan, ["claims"], MODEL) == ""


@pytest.mark.parametrize(
    ("seconds", "text"), [(3, "3 s"), (116.4, "116 s"), (117, "1.9 min"), (900, "15 min"), (7200, "2.0 h")]
)
def test_durations_are_told_with_two_digits(seconds, text):
    assert estimate.duration(seconds) == text


def test_estimating_never_imports_tensorflow():
    code = "import sys; from dyna_td.cli import main; main(['estimate', '--scale', 'paper']); print(*sys.modules)"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={"PYTHONPATH": "src:."})
    lines = done.stdout.splitlines()
    assert "tensorflow" not in lines[-1].split() and "scipy" in lines[-1].split(), done.stderr
    assert any(line.startswith("figure_13 ") for line in lines)
    assert any(line.startswith("all ") for line in lines)


def test_an_unknown_figure_is_refused_in_one_sentence(capsys):
    assert cli.main(["estimate", "figure_99"]) == 2
    assert capsys.readouterr().err.startswith("error: unknown figure 'figure_99'")


def test_a_table_of_ones_own_is_fitted_and_used(tmp_path, capsys):
    (tmp_path / "smoke" / "benchmarks").mkdir(parents=True)
    (tmp_path / "smoke" / "benchmarks" / "figure_7.plot.tsv").write_text("s\tmax_rss\tcpu_time\n80\t100\t75.5\n")
    arguments = ["--fit", str(tmp_path / "smoke"), "--costs", str(tmp_path / "own.csv")]
    assert cli.main(["estimate", "figure_7", "--scale", "paper", *arguments]) == 0
    assert "2.7 min" in capsys.readouterr().out  # two jobs like that one of 80 s


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_the_readmes_table_follows_from_the_measured_jobs(scale, capsys):
    assert cli.main(["costs", "--scale", scale]) == 0
    begin, end = marked_text.marks(cost_table.part(scale))
    hint = f"run `python -m dyna_td costs --scale {scale} --write README.md`"
    assert f"{begin}\n{capsys.readouterr().out}{end}" in (ROOT / "README.md").read_text(), hint


def test_a_figures_row_says_whether_its_jobs_were_measured_as_they_are():
    plan = load_plan("smoke")
    jobs = costs.jobs_of(plan, [plan.figures["figure_7"]]).values()
    other = {**measured(chained("GridWorld", 100, 0), train=1), "scale": "smoke"}
    rows = [measured(job, memory=123.4, scale="smoke", start=90) for job in jobs]

    def row_of_figure_7(*table):
        return cost_table.markdown(plan, pd.DataFrame([other, *table])).splitlines()[8]

    assert row_of_figure_7(*rows) == "| 7 | 2 | 3 | 3 | 123 | measurement |"
    assert row_of_figure_7(rows[0]).endswith("| estimate, 1 jobs measured |")
    assert row_of_figure_7(*({**row, "records": 9.0} for row in rows)).endswith("| estimate |")


def test_a_table_replaces_what_stands_between_its_marks(tmp_path):
    path = tmp_path / "README.md"
    begin, end = marked_text.marks("costs")
    path.write_text(f"before\n{begin}\nold\n{end}\nafter\n")
    marked_text.replace(path, {"costs": "new \\1\n"})
    assert path.read_text() == f"before\n{begin}\nnew \\1\n{end}\nafter\n"
    (tmp_path / "bytes.md").write_bytes(b"\xff")
    for broken in (tmp_path / "missing.md", tmp_path / "bytes.md", tmp_path):
        with pytest.raises(UserError, match="cannot read"):
            marked_text.replace(broken, {"costs": "new\n"})
    with pytest.raises(UserError, match="0 places"):
        marked_text.replace(path, {"costs": "newer\n", "gallery": "new\n"})
    assert "newer" not in path.read_text()
