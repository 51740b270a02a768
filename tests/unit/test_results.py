"""Result files are tidy, whole or absent, and refused when damaged; a checkpoint belongs to one training."""

import lzma
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from files import rows_of, sentence_of

from dyna_td.records import published, results
from dyna_td.records.files import write_whole
from dyna_td.records.policy import Policy, load_policy
from dyna_td.runs.run import Run
from dyna_td.settings import RegressionSettings
from dyna_td.training.checkpoint import Checkpoint
from dyna_td.training.log import Outcome

RUN = Run("sin", "l2", RegressionSettings(), seeds=(0, 1, 2), steps=100, evaluate_every=50)


def records():
    keys = {"seed": (2, 0, 1), "step": (100, 0, 50), "metric": ("train_rmse", "test_rmse")}
    return rows_of(lambda seed, step, metric: 0.1 * seed + step, **keys)


@pytest.fixture
def csv(tmp_path):
    path = tmp_path / "sin" / "l2.csv"
    results.write(path, records(), {"run": "sin/l2"})
    return path


def test_every_float32_survives_the_file_in_nine_digits(tmp_path):
    values = np.random.default_rng(0).integers(0, 2**32, size=20_000, dtype=np.uint32).view(np.float32)
    values = values[np.isfinite(values) & ~((np.abs(values) >= 1e9) & (np.abs(values) < 2.0**53))]  # these have more
    frame = pd.DataFrame({"seed": 0, "step": np.arange(len(values)), "metric": "return", "value": values.astype(float)})
    results.write(tmp_path / "x.csv", frame, {})
    read, _ = results.read(tmp_path / "x.csv", "")
    np.testing.assert_array_equal(read["value"].to_numpy(dtype=np.float32), values)
    texts = [line.rsplit(",")[-1] for line in (tmp_path / "x.csv").read_text().splitlines()[1:]]
    assert texts == [f"{value:.9g}" for value in values]


def test_a_number_that_only_float64_holds_keeps_its_digits():
    values = [2.0**24 + 1, 17_514_887.0, 1e12 + 1, 16_777_217.25, 1.5e300, 2.0**40]
    frame = pd.DataFrame({"seed": range(6), "step": 0, "metric": "return", "value": values})
    written = [line.rsplit(",")[-1] for line in results.to_csv_text(frame).splitlines()[1:]]
    assert written == ["16777217", "17514887", "1000000000001", "16777217.25", "1.5e+300", "1099511627776"]


def test_reading_gives_what_was_written_even_values_that_are_not_finite(tmp_path):
    expected = records().sort_values(["seed", "step", "metric"]).reset_index(drop=True)
    expected.loc[[7, 8], "value"] = [np.nan, np.inf]
    results.write(tmp_path / "x.csv", expected.sample(frac=1, random_state=0), {"run": "sin/l2"})
    read, details = results.read_run(tmp_path / "x.csv", RUN, "")
    pd.testing.assert_frame_equal(read, expected, check_dtype=False)
    assert details["run"] == "sin/l2"


def test_the_beginning_of_a_longer_run_is_read_without_what_comes_later(tmp_path):
    facts = {"train_seconds_at": [[0, 0.0], [50, 2.0], [100, 5.0]], "train_seconds": 5.0, "diverged_seeds": {"1": 80}}
    results.write(tmp_path / "x.csv", records(), facts)
    begun, details = results.read_run(tmp_path / "x.csv", RUN.beginning(50), "")
    whole, _ = results.read_run(tmp_path / "x.csv", RUN, "")
    assert begun["step"].max() == 50 and begun.equals(whole[whole["step"] <= 50])
    assert (details["train_seconds"], details["diverged_seeds"]) == (2.0, {})
    assert "does not reach step 60" in sentence_of(results.read_run, tmp_path / "x.csv", RUN.beginning(60), "")


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path):
    link, there = tmp_path / "link.csv", tmp_path / "there.csv"
    link.symlink_to(there)
    with write_whole(link) as file:
        file.write(b"new")
    assert link.is_symlink() and there.read_text() == "new"


@pytest.mark.parametrize(
    "wrong", [{"settings": None}, {"seeds": ["a"]}, {"seeds": []}, {"steps": -5}, {"settings": {"warm_up_steps": "x"}}]
)
def test_facts_of_a_wrong_type_are_no_training(tmp_path, wrong):
    csv = tmp_path / "x.csv"
    details = {"environment": "sin", "agent": "l2", "run": "sin/l2", "settings": {}} | wrong
    results.write(csv, records(), details)
    assert "is not the results of one run" in sentence_of(results.read_training, csv)
    policy = Policy(details, {"q.kernel0": np.zeros([1, 2, 2]), "q.bias0": np.zeros([1, 2])})
    assert "it is a folder; choose another place" in sentence_of(policy.save, tmp_path)
    policy.save(tmp_path / "x.npz")
    assert "is damaged or no policy file" in sentence_of(load_policy, tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("damage", "changes", "words"),
    [
        (lambda csv: csv.unlink(), {}, "cannot read"),
        (lambda csv: csv.with_suffix(".json").unlink(), {}, "cannot read"),
        (lambda csv: csv.with_suffix(".json").write_text('{"csv_sha256": 1}'), {}, ""),
        (Path.exists, {"seeds": (0, 1, 2, 3, 4)}, "lacks 2 of 5 seeds, the first is 3"),
    ],
)
def test_a_damaged_csv_and_one_of_another_run_are_refused(csv, damage, changes, words):
    damage(csv)
    sentence = sentence_of(results.read_run, csv, replace(RUN, **changes), "python -m dyna_td run sin/l2")
    assert csv.stem in sentence and "`python -m dyna_td run sin/l2`" in sentence and words in sentence


def test_no_changed_byte_of_the_json_file_is_accepted(tmp_path):
    csv = tmp_path / "x.csv"
    results.write(csv, records(), results.describe(RUN))
    whole = results.beside(csv, "json").read_bytes()
    assert results.read_details(csv, "")["steps"] == 100
    end = whole.index(b'"json_sha256"')  # without this name the file is that of an earlier version
    for place in range(0, end, 7):
        results.beside(csv, "json").write_bytes(whole[:place] + b"7" + whole[place + 1 :])
        if whole[place] != ord("7"):
            assert "x.json is damaged" in sentence_of(results.read_details, csv, "x")


STATES = pd.DataFrame({"seed": [0, 1], "step": 10, "source": "own", "x": [0.25, 0.5], "y": [1.0, 0.123456789]})


def test_states_are_written_beside_the_records_and_those_of_an_earlier_run_do_not_stay(tmp_path):
    csv, of_figure = tmp_path / "curves.csv", tmp_path / "states.csv"
    of_figure.write_text("other")
    results.write(csv, records(), {}, STATES)
    text = (tmp_path / "curves.states.csv").read_text()
    assert text == "seed,step,source,x,y\n0,10,own,0.25,1\n1,10,own,0.5,0.12346\n"
    assert len(results.read_states(csv, "")) == 2
    for none in ((), (STATES[:0],)):
        results.write(csv, records(), {}, STATES)
        results.write(csv, records(), {}, *none)
        assert not (tmp_path / "curves.states.csv").exists() and of_figure.exists()


IDENTITY = {"settings": [{"seeds": (0, 1), "hidden": (32, 32)}], "source": "abc", "versions": {"numpy": "2"}}


def test_there_is_no_checkpoint_before_the_first_save_and_after_the_end(tmp_path, capsys):
    path = tmp_path / "x.checkpoint"
    checkpoint = Checkpoint(path, IDENTITY)
    assert checkpoint.load() is None
    checkpoint.save({}, {})
    killed, other = (path.with_name(f".{name}.7.partial") for name in (path.name, f"other-{path.name}"))
    killed.touch()
    other.touch()
    checkpoint.remove()
    checkpoint.remove()  # no error if the file is gone
    assert checkpoint.load() is None and list(path.parent.iterdir()) == [other]
    assert not capsys.readouterr().err


def changed_byte(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


@pytest.mark.parametrize(
    ("change", "damage", "words"),
    [({"source": "abd"}, bytes, "belongs to a training with another source"), ({}, changed_byte, "is damaged")],
)
def test_a_damaged_checkpoint_and_one_of_another_training_are_refused(tmp_path, capsys, change, damage, words):
    path = tmp_path / "x.checkpoint"
    Checkpoint(path, IDENTITY).save({"variable.0": np.zeros(1000)}, {})
    path.write_bytes(damage(path.read_bytes()))
    assert Checkpoint(path, {**IDENTITY, **change}).load() is None
    assert capsys.readouterr().err == f"warning: the checkpoint {path} {words}; the training restarts.\n"


def warnings_of(frame, **facts):
    cost = {"diverged_seeds": {}, "remarks": {}, "seed_updates": 1}
    return Outcome(frame, frame, cost | facts, {}).warnings()


def test_a_training_says_what_went_wrong():
    diverged, untrained = warnings_of(records(), diverged_seeds={"3": 80}, seed_updates=0)
    assert "seed 3 diverged, first seen at step 80" in diverged and "no longer than its warm_up_steps" in untrained
    (remark,) = warnings_of(records(), remarks={0: "a", 1: "b"})
    assert remark == "warning: a (and other seeds: 1); training continued."
    queued = pd.DataFrame({"seed": [0, 1], "step": 60, "metric": "queue_size", "value": 0.0})
    (empty,) = warnings_of(queued)
    assert "the training has 60 steps" in empty and warnings_of(queued.assign(value=1.0)) == []


def test_a_setting_that_an_agent_no_longer_has_is_named():
    assert results.in_words({"settings": ({"steps": 1, "offset": 2}, {"steps": 1})}) == "offset: 2, not null"


def test_a_packed_table_that_ends_early_is_damaged(tmp_path):
    path = tmp_path / "states.csv.xz"
    path.write_bytes(lzma.compress(b"seed,x\n" + b"0,0.5\n" * 1000)[:-20])
    assert "states.csv.xz is damaged; get it again" in sentence_of(published.table, path)
