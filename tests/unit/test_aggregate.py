"""Statistics over seeds, computed by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from files import rows_of, sentence_of

from dyna_td.evidence import aggregate
from dyna_td.evidence.scores import Measured
from dyna_td.plan.planned import Figure, Panel
from dyna_td.records import results
from dyna_td.runs.run import Run
from dyna_td.settings import DQNSettings, RegressionSettings

SUPERVISED = Run("sin", "l2", RegressionSettings(), seeds=(0, 1), steps=50, sweep=(0.1, 0.01))


def records(values_by_seed, metric="test_rmse", step=0):
    return pd.DataFrame({"seed": range(len(values_by_seed)), "step": step, "metric": metric, "value": values_by_seed})


def test_mean_error_and_interval_of_four_seeds_by_hand():
    (row,) = aggregate.summarise(records([1.0, 2.0, 3.0, 6.0])).to_dict("records")
    error = np.sqrt(14 / 3 / 4)  # squared deviations 4 + 1 + 0 + 9, three degrees of freedom, four seeds
    assert row["mean"] == 3.0 and row["n"] == 4
    assert row["standard_error"] == pytest.approx(error)
    assert row["low95"] == pytest.approx(3 - 3.182446305 * error)  # Student's t, 97.5%, three degrees of freedom
    assert row["high95"] == pytest.approx(3 + 3.182446305 * error)
    assert row["iqm"] == 2.5


def curves_of(panel, frame, **details):
    """The curves of a figure with only this panel; each of its runs has these records."""
    figure = Figure("x", "title", {"a": panel})

    def read(run):
        return Measured(run, frame, details, "make it")

    return aggregate.learning_curves(figure, read, aggregate.seed_scores(figure, read))


def test_the_curves_of_a_figure_begin_with_the_metric_that_its_panel_shows():
    frame = pd.concat([records([1, 3], metric, step) for metric in ("test_rmse", "train_rmse") for step in (50, 0)])
    curves = curves_of(Panel("train_rmse", {"l2": SUPERVISED}), frame)
    assert ",".join(curves) == "panel,curve,step,metric,mean,standard_error,low95,high95,iqm,n"
    order = [("train_rmse", 0), ("train_rmse", 50), ("test_rmse", 0), ("test_rmse", 50)]
    assert list(zip(curves["metric"], curves["step"], strict=True)) == order
    assert set(curves["panel"]) == {"a"} and set(curves["curve"]) == {"l2"}


def test_the_curves_of_control_are_smoothed_by_seed_before_they_are_averaged():
    panel = Panel("return", {"er": Run("GridWorld", "er", DQNSettings(), seeds=(0, 1), steps=30_000)})
    noise = [(1.0, 3.0), (3.0, 1.0)] * 20  # two seeds with the same mean
    frame = pd.concat([records(values, "return", step) for step, values in enumerate(noise)])
    curves = curves_of(panel, frame).set_index(["metric", "step"])
    assert curves.index.get_level_values("metric").unique().tolist() == ["return", "return_smoothed"]
    assert curves.loc[("return", 39), ["mean", "standard_error"]].tolist() == [2, 1]
    assert curves.loc[("return_smoothed", 39), ["mean", "standard_error"]].tolist() == [2, 0]


def test_a_panel_with_baselines_has_scores_over_learning_and_their_differences_seed_by_seed():
    settings = DQNSettings(warm_up_steps=1000)
    runs = {name: Run("GridWorld", name, settings, (0, 1, 2), 2000) for name in ("er", "dyna_td")}
    panel = Panel("return", runs, baselines=("er",))
    evaluations = {  # three seeds' values by step; nothing counts before the warm-up ends
        "er": {500: (90.0, 90.0, 90.0), 1000: (1.0, 2.0, 3.0), 2000: (3.0, 4.0, 5.0)},
        "dyna_td": {500: (0.0, 0.0, 0.0), 1000: (2.0, 5.0, 7.0), 2000: (4.0, 7.0, np.nan)},
    }

    def read(run):
        returns = [records(values, "return", step) for step, values in evaluations[run.agent].items()]
        return Measured(run, pd.concat([*returns, records((7.0,), "entropy_10", 500)]), {}, "make it")

    figure = Figure("controls", "title", {"a": panel})
    scores = aggregate.seed_scores(figure, read)
    assert [",".join(map(str, row)) for row in scores.to_numpy()] == [
        *("a,er,0,2.0", "a,er,1,3.0", "a,er,2,4.0"),
        *("a,dyna_td,0,3.0", "a,dyna_td,1,6.0", "a,dyna_td,2,nan"),
    ]
    curves = aggregate.learning_curves(figure, read, scores)
    found = curves.set_index(["curve", "metric", "step"])[["mean", "standard_error", "n"]]
    assert found.loc[("er", "return_over_learning", 2000)].tolist() == pytest.approx([3, 1 / 3**0.5, 3])
    assert found.loc[("dyna_td", "return_over_learning", 2000)].tolist() == pytest.approx([4.5, 1.5, 2])
    assert found.loc[("dyna_td", "return_less_er", 2000)].tolist() == pytest.approx([2, 1, 2])  # 3 - 2 and 6 - 3
    assert "return_less_er" not in found.loc["er"].index.get_level_values("metric")
    assert "entropy_10" not in found.index.get_level_values("metric")


def test_a_figure_refuses_a_run_of_another_default_and_takes_one_from_before_a_setting(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = replace(SUPERVISED, settings=RegressionSettings(noise=0.123), sweep=())
    figure = Figure("x", "title", {"a": Panel("test_rmse", {"l2": run})})
    frame = pd.concat([records([1, 3], step=step) for step in (0, 50)])
    facts, csv = results.describe(run), results.run_csv("smoke", run.name)
    older = {name: value for name, value in facts["settings"].items() if name != "batch_size"}
    results.write(csv, frame, facts | {"settings": older})
    assert results.curves_csv("smoke", "x") in aggregate.finished_tables(figure, "smoke")
    results.write(csv, frame, facts | {"settings": older | {"batch_size": 7}})
    sentence = sentence_of(aggregate.finished_tables, figure, "smoke")
    assert "is not as planned (batch_size: 7, not 128); rebuild it with `snakemake --force " in sentence


def test_smoothing_averages_an_evaluation_and_those_before_it_and_leaves_gaps():
    values = [(2.0,), (4.0,), (np.nan,), (6.0,), (9.0,)]
    frame = pd.concat([records(value, "return", 500 * step) for step, value in enumerate(values)])
    found = aggregate.smoothed(frame, window=3).sort_values("step")
    assert found["value"].tolist() == pytest.approx([2, 3, np.nan, 5, 7.5], nan_ok=True)
    assert found["step"].tolist() == [0, 500, 1000, 1500, 2000] and set(found["metric"]) == {"return_smoothed"}


def test_training_seconds_and_diverged_seeds_are_rows_of_their_own():
    frame = pd.concat([records([1, 3], step=0), records([5, np.nan], step=50)])
    panel = Panel("test_rmse", {"l2": SUPERVISED}, against="train_seconds")
    curves = curves_of(panel, frame, trained_seeds=2, train_seconds_at=[[0, 0.0], [50, 3.0]], diverged_seeds={"1": 50})
    curves = curves.set_index(["metric", "step"])
    assert curves.loc[("train_seconds", 50), ["mean", "n"]].tolist() == [1.5, 2]  # the job has two seeds
    assert curves.loc[("diverged_seed", 50), "mean"] == 1
    assert curves.loc[("test_rmse", 50), ["mean", "iqm", "n"]].tolist() == [5, 5, 1]
    assert curves.loc[("test_rmse", 0), ["mean", "n"]].tolist() == [2, 2]
    first = curves_of(Panel("test_rmse", {"l2": SUPERVISED}, seeds=1), frame, diverged_seeds={"1": 50})
    assert first[["metric", "mean", "n"]].to_numpy().tolist() == [["test_rmse", 1, 1], ["test_rmse", 5, 1]]


def test_a_panel_of_states_shows_those_of_its_source_and_moment():
    run = Run("GridWorld", "er", DQNSettings(), seeds=(0, 1), steps=30_000)
    keys = {"seed": (0, 1), "step": (10_000, 30_000), "source": ("own", "buffer")}
    states = rows_of(lambda seed, step, source: seed + step / 1e6, **keys).rename(columns={"value": "x"})
    states["y"] = states["source"].str.len()
    panels = {
        "a": Panel("return", {"er": run}),
        "b": Panel("entropy_10", {"er": run}, states={"source": "buffer", "moment": "early"}),
        "c": Panel("entropy_10", {"er": run}, states={"source": "own", "moment": "late"}),
        "d": Panel("entropy_10", {"er": run}, states={"source": "own", "moment": "early"}, seeds=1),
    }
    found = Measured(run, records([]), {}, "make it", read_states=lambda: states)
    shown = aggregate.sampled_states(Figure("figure_2", "title", panels), lambda run: found)
    rows = ["b er 0 0.01 6", "b er 1 1.01 6", "c er 0 0.03 3", "c er 1 1.03 3", "d er 0 0.01 3"]
    assert [" ".join(map(str, row)) for row in shown.to_numpy()] == rows


def test_crashes_are_compared_at_equal_driving_steps_by_hand():
    # Seed 0 drives 11, 3 (crash), 11 steps; seed 1 drives 2 (crash), 2 (crash), 11: the shortest drive is 15 steps.
    values = {"episode_length": ((11, 3, 11), (2, 2, 11)), "crashed": ((0, 1, 0), (1, 1, 0))}
    keys = {"seed": (0, 1), "step": (0, 250, 500), "metric": values}
    crashes = aggregate.crashes_by_driving_step(rows_of(lambda s, step, metric: values[metric][s][step // 250], **keys))
    assert set(crashes["metric"]) == {"crashes"}
    assert crashes.pivot(index="seed", columns="step", values="value").to_numpy().tolist() == [
        [0] * 14 + [1] * 2,  # the second episode ends with the 14th step
        [0] * 2 + [1] * 2 + [2] * 12,
    ]
