"""A policy file acts as the learner does and needs no TensorFlow; videos show what an environment renders."""

import json
import os
import sys
import types
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from files import error_of, python, sentence_of
from gymnasium.envs.classic_control import AcrobotEnv
from helpers import run_of
from PIL import Image

from dyna_td import cli
from dyna_td.playing import explain, pictures, video
from dyna_td.programs.program import make_program
from dyna_td.records import outputs, results
from dyna_td.records.files import ROOT
from dyna_td.records.policy import Policy, load_policy
from dyna_td.training.tensorboard import Events
from dyna_td.training.trainer import weights_of

SHORT = {"planning_updates": 2, "warm_up_steps": 40}
PICTURES = ("Acrobot-v1", "MazeGridWorld", "roundabout-paper-v0")  # MuJoCo's need OpenGL
AGENTS = {"Acrobot-v1": "er", "MazeGridWorld": "dyna_td", "roundabout-paper-v0": "dyna_td"}
AGENTS |= {"MountainCar-v0": "er", "Hopper-v4": "er"}
RUNS = ROOT / "reference" / "runs"
PUBLISHED = {name: str(min((RUNS / name / agent).glob("*.policy.npz"))) for name, agent in AGENTS.items()}
CAR = PUBLISHED["MountainCar-v0"]


@pytest.mark.parametrize(("environment", "network", "width"), [("CartPole-v1", "q", 4), ("Pendulum-v1", "actor", 3)])
def test_numpy_acts_as_the_learner_does(environment, network, width):
    run, random = run_of(environment, "er", (3, 8), 60, **SHORT), np.random.default_rng(0)
    program = make_program(run)
    for parameter in getattr(program.agent.learner, network).parameters:
        parameter.assign(random.normal(scale=0.2, size=parameter.shape))
    states = random.normal(size=(2, 1000, width)).astype(np.float32)
    expected = program.agent.learner.greedy(states).numpy()
    policy = Policy(json.loads(json.dumps(results.describe(run))), weights_of(program))
    actions = np.stack([policy.act(of_seed, seed) for of_seed, seed in zip(states, run.seeds, strict=True)])
    np.testing.assert_allclose(policy.act(states[1, 0], 8), actions[1, 0], rtol=1e-4, atol=1e-7)
    if environment == "CartPole-v1":
        np.testing.assert_array_equal(actions, expected)
        assert set(actions.ravel()) == {0, 1}
    else:
        np.testing.assert_allclose(actions, expected, rtol=1e-4, atol=1e-7)
        assert len(np.unique(actions)) > 1000 and np.abs(actions).max() <= 2


def test_every_environment_is_played_without_tensorflow(tmp_path):
    calls = [["play", policy, "--episodes", "1", "--seed", "2"] for policy in PUBLISHED.values()]
    calls += [[*call, "--video", f"{name}.gif"] for name, call in zip(PICTURES, calls, strict=False)]
    code = "import sys; from dyna_td.cli import main; "
    code += f"print([main(call) for call in {calls}], 'tensorflow' in sys.modules)"
    environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
    played = python("-c", code, cwd=tmp_path, env=environment, check=True)
    assert played.stdout.endswith(f"{[0] * len(calls)} False\n") and played.stdout.count("seed 2: mean return") == 5
    for name in PICTURES:
        with Image.open(tmp_path / f"{name}.gif") as shown:
            assert shown.n_frames > 5 and shown.width == 400
            shown.seek(5)
            assert np.asarray(shown.convert("RGB")).std() > 5, "a blank picture"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["none.npz"], "there is no none.npz"),
        (["cut.npz"], "cut.npz is damaged or no policy file"),
        ([CAR, "--seed", "9"], f"--seed is 9, but {CAR} has the seeds 0, 1, 2, 3, 4"),
        ([CAR, "--video", "x.avi"], "ends in .gif or .mp4"),
        ([CAR, "--explain", "x.png"], "--explain shows Dyna agents on GridWorld"),
        ([CAR, "--explain", "x.png", "--epsilon", "0"], "leave out --episodes and --epsilon"),
        ([PUBLISHED["Hopper-v4"], "--epsilon", "0.1"], "this policy has action vectors"),
    ],
)
def test_a_mistake_is_one_sentence(monkeypatch, tmp_path, capsys, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("cut.npz").write_bytes(Path(CAR).read_bytes()[:-200])
    assert words in error_of(cli.main, ["play", *arguments], capsys)


def test_play_refuses_an_environment_with_other_actions(tmp_path, capsys):
    car = load_policy(CAR)
    Policy(car.about | {"environment": "CartPole-v1"}, car.weights).save(tmp_path / "other.npz")
    assert cli.main(["play", str(tmp_path / "other.npz")]) == 2
    assert "the policy has 3 actions, but CartPole-v1 has 2: train again" in capsys.readouterr().err


def test_play_warns_of_an_environment_whose_seed_does_not_determine_it(monkeypatch, capsys):
    words = ["play", PUBLISHED["Acrobot-v1"], "--episodes", "2", "--seed", "2"]
    assert cli.main(words) == 0 and "warning" not in capsys.readouterr().err
    reset, chance = AcrobotEnv.reset, iter(range(100))
    monkeypatch.setattr(AcrobotEnv, "reset", lambda self, *, seed=None, options=None: reset(self, seed=next(chance)))
    assert cli.main(words) == 0
    assert "Acrobot-v1: the first episode, repeated, gave other numbers" in capsys.readouterr().err


def test_explain_trains_the_beginning_of_a_longer_run_as_a_beginning():
    begun = run_of("GridWorld", "dyna_td").beginning(500)
    policy = Policy(json.loads(json.dumps(results.describe(begun))), {})
    assert explain.run_of(policy, 1) == replace(begun, seeds=(1,))


@pytest.mark.thorough
@pytest.mark.parametrize("agent", ["dyna_td", "dyna_frequency"])
def test_explain_trains_the_same_seed_again_and_shows_what_search_control_sees(agent, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    looks, draw = [], pictures.picture
    monkeypatch.setattr(pictures, "picture", lambda policy, seen: looks.append(seen) or draw(policy, seen))
    words = ["--steps", "300", "--warm-up-steps", "40", "--chain-steps", "20", "--seeds", "1,5", "--output", "x.csv"]
    assert cli.main(["train", "--env", "MountainCar-v0", "--agent", agent, *words]) == 0
    assert cli.main(["play", "x.policy.npz", "--seed", "5", "--explain", "x.png"]) == 0
    assert "are those of the policy, to the last bit" in capsys.readouterr().out
    with Image.open("x.png") as picture:
        assert np.asarray(picture).std() > 30
    (seen,) = looks
    low, high = np.array([[-1.2, -0.07], [0.6, 0.07]])
    for states in (seen.buffer, seen.ideal, seen.queue, seen.accepted):
        assert len(states) and ((states >= low - 1e-6) & (states <= high + 1e-6)).all()
    assert len(seen.buffer) == len(seen.ideal) == len(seen.queue) == 2000
    assert 280 < len(np.unique(seen.buffer, axis=0)) <= 300  # 2,000 draws from 300 states leave out about 0.4
    kept = seen.chain[~np.isnan(seen.chain[:, 0])]
    assert len(kept) <= 20 and all((kept == state).all(axis=1).any() for state in seen.accepted[:-1])


@pytest.mark.thorough
def test_the_notebook_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "IPython.display", types.SimpleNamespace(Image=Image.open))
    notebook = json.loads((Path(__file__).parents[2] / "docs" / "tour.ipynb").read_text(encoding="utf-8"))
    names = {}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    assert len(names["results"]["er"].records) > 40 and Path("tour.png").stat().st_size > 50_000


def test_events_of_one_training_are_not_replaced_by_those_of_another_csv(tmp_path):
    mine, theirs = tmp_path / "a" / "x.csv", tmp_path / "b" / "x.csv"
    place = outputs.events_of(tmp_path / "events", mine)
    (place / "seed-0").mkdir()
    (place / "seed-0" / "events.out").touch()
    assert outputs.events_of(tmp_path / "events", mine) == place
    assert f"holds the events of {mine}" in sentence_of(outputs.events_of, tmp_path / "events", theirs)


def test_tensorboard_gets_the_numbers_of_the_records(tmp_path):
    rows = [(seed, step, "return", np.float32(seed + step / 7)) for seed in (0, 3) for step in (0, 500)]
    events = Events(tmp_path / "x")
    events.add(pd.DataFrame(rows, columns=["seed", "step", "metric", "value"]))
    read = [
        (seed, event.step, value.tag, np.float32(value.simple_value))
        for seed in (0, 3)
        for event in tf.compat.v1.train.summary_iterator(str(*(tmp_path / "x" / f"seed-{seed}").iterdir()))
        for value in event.summary.value
    ]
    assert read == rows
    Events(tmp_path / "x")
    assert not [*(tmp_path / "x").rglob("events*")]  # those of the earlier training are gone


def test_every_kind_of_picture_is_shown_as_its_colours_and_others_are_refused(tmp_path):
    grey = np.arange(12 * 16, dtype=np.uint8).reshape(12, 16)
    rgb, greys = np.dstack([grey, 255 - grey, grey // 2]), np.dstack([grey] * 3)
    rgba, transparent = (np.dstack([rgb, np.full_like(grey, alpha)]) for alpha in (255, 0))
    pictures = ((rgb, rgb), (rgba, rgb), (transparent, np.full_like(rgb, 255)), (grey, greys), (grey[..., None], greys))
    for given, shown in pictures:
        np.testing.assert_array_equal(np.asarray(video._as_rgb(given)), shown)
    begun = video.Video(tmp_path / "x.gif")
    begun.add(rgb)
    assert "picture 1 is 16x6 pixels, expected 16x12 as the first" in sentence_of(begun.add, rgb[:6])
    assert "render() gave float64 of shape (12, 16, 3), expected uint8" in sentence_of(begun.add, rgb / 255)
