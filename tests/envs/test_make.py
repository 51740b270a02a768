"""The environments as this project makes them."""

import subprocess
import sys

import gymnasium
import pytest

import envs
from dyna_td.errors import UserError


@pytest.mark.parametrize(
    ("environment", "limit"),
    [
        ("GridWorld", 2000),
        ("MazeGridWorld", 2000),
        ("MountainCar-v0", 2000),
        ("CartPole-v1", 500),
        ("Acrobot-v1", 500),
    ],
)
def test_each_environment_has_the_time_limit_of_the_paper_or_its_own(environment, limit):
    assert envs.make(environment).spec.max_episode_steps == limit


def test_a_mountain_car_that_never_pushes_is_truncated_at_step_2000():
    environment = envs.make("MountainCar-v0")
    environment.reset(seed=0)
    ends = [environment.step(1)[2:4] for _ in range(2000)]
    assert ends == [(False, False)] * 1999 + [(False, True)]


def test_make_passes_options_to_gymnasium():
    assert envs.make("GridWorld", render_mode="rgb_array").render_mode == "rgb_array"
    assert envs.make("GridWorld", max_episode_steps=7).spec.max_episode_steps == 7


def test_an_unknown_environment_is_refused_with_the_nearest_name():
    with pytest.raises(UserError, match=r"unknown environment 'gridwrld': did you mean 'GridWorld'"):
        envs.make("gridwrld")


def test_importing_the_environments_does_not_import_tensorflow():
    code = "import sys, envs, envs.grid_world; sys.exit('tensorflow' in sys.modules)"
    path = [entry for entry in sys.path if entry]
    assert subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {path!r}; {code}"]).returncode == 0


class Bare(gymnasium.Env):
    """Whose attributes each test gives."""


BOX, DISCRETE = gymnasium.spaces.Box(-1, 1, (2,)), gymnasium.spaces.Discrete(2)
SUPPORTED = "supported are Box observations with Discrete actions or Box actions that are bounded"


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"action_space": DISCRETE}, f"declares no observation_space: {SUPPORTED}."),
        ({"observation_space": BOX}, f"declares no action_space: {SUPPORTED}."),
        (
            {"observation_space": gymnasium.spaces.Box(-1, 1, (0,)), "action_space": DISCRETE},
            "has an observation_space of shape (0,), without any number.",
        ),
        (
            {"observation_space": BOX, "action_space": gymnasium.spaces.Box(-1, 1, (3, 0))},
            "has an action_space of shape (3, 0), without any number.",
        ),
    ],
)
def test_an_environment_without_usable_spaces_is_refused_in_one_sentence(monkeypatch, attributes, words):
    monkeypatch.setitem(gymnasium.registry, "Bare-v0", gymnasium.envs.registration.EnvSpec("Bare-v0", entry_point=None))
    gymnasium.registry["Bare-v0"].entry_point = type("Bare", (Bare,), attributes)
    with pytest.raises(UserError) as error:
        envs.make("Bare-v0")
    assert str(error.value) == f"environment Bare-v0 {words}"


def test_a_module_that_ends_the_process_is_told_in_one_sentence(monkeypatch, tmp_path):
    (tmp_path / "quits_at_import.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UserError, match="cannot import quits_at_import: SystemExit 0\\."):
        envs.make("quits_at_import:Any-v0")
