"""A run's digest changes with the definitions that its numbers flow through, and with nothing else."""

import shutil

import pytest
from files import edit

from dyna_td import registry
from dyna_td.pipeline import code_digest, provenance
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import load_plan
from dyna_td.registry import entries_of, is_supervised
from dyna_td.settings import Run

RUNS = load_plan("paper").all_runs
BEFORE = {name: code_digest.code_digest(entries_of(run)) for name, run in RUNS.items()}
REPLAY, FREQUENCY = "dyna_td/learning/replay.py", "dyna_td/agents/dyna_frequency.py"


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A copy of the sources that a test may edit."""
    shutil.copytree(ROOT / "src" / "dyna_td", tmp_path / "dyna_td", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "envs", tmp_path / "envs", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(code_digest, "PACKAGES", {name: tmp_path / name for name in ("dyna_td", "envs")})
    yield tmp_path
    forget()


def forget():
    for cached in (code_digest.code_digest, code_digest.find_module, code_digest._written, code_digest._text):
        cached.cache_clear()


def outdated_by(change) -> set[str]:
    """The published runs with another digest after `change`."""
    change()
    forget()
    return {name for name, run in RUNS.items() if code_digest.code_digest(entries_of(run)) != BEFORE[name]}


NEUTRAL = {
    "a comment": (REPLAY, "    def add(", "    # The newest.\n    def add("),
    "a docstring": (REPLAY, '"""A ring buffer; when it is full, the oldest transition gives way.', '"""A ring.'),
    "an annotation": (REPLAY, "def add(self, transition: Transition)", 'def add(self, transition: "Transition")'),
    "the wording of an error": ("dyna_td/learning/streams.py", "expected whole numbers", "expected numbers"),
    "a checkpoint's format": ("dyna_td/training/checkpoint.py", "_LARGE = 2**20", "_LARGE = 2**10"),
    "a method that no training calls": (
        REPLAY,
        "    def add(",
        "    def newest(self):\n        return 1\n\n    def add(",
    ),
    "a new agent": ("dyna_td/registry.py", "AGENTS = {", 'AGENTS = {\n    "new": Agent("dyna_td.agents.new:New"),'),
    "a new setting": ("dyna_td/settings.py", "    discount: float", "    new: float = 1.0\n    discount: float"),
}


@pytest.mark.parametrize(("path", "old", "new"), NEUTRAL.values(), ids=NEUTRAL)
def test_what_changes_no_number_outdates_no_run(sources, path, old, new):
    assert outdated_by(lambda: edit(sources / path, old, new)) == set()


def test_moving_and_renaming_definitions_outdates_no_run(sources):
    def move():
        (sources / REPLAY).rename(sources / "dyna_td/search/buffer.py")
        for path in (sources / "dyna_td").rglob("*.py"):
            text = path.read_text().replace("dyna_td.learning.replay", "dyna_td.search.buffer")
            path.write_text(text.replace("Replay(", "Buffer(").replace("import Replay", "import Buffer"))

    assert outdated_by(move) == set()


def test_a_changed_number_in_the_replay_buffer_outdates_all_control_runs_and_no_supervised_one(sources):
    found = outdated_by(lambda: edit(sources / REPLAY, "self._added.assign_add(1)", "self._added.assign_add(2)"))
    assert found == {name for name, run in RUNS.items() if not is_supervised(run.environment)}


def test_a_changed_line_in_dyna_frequency_outdates_its_runs_alone(sources):
    found = outdated_by(lambda: edit(sources / FREQUENCY, "coin < 0.5", "coin < 0.4"))
    assert found == {name for name, run in RUNS.items() if run.agent.startswith("dyna_frequency")}


@pytest.mark.parametrize(
    ("path", "old", "new", "outdates"),
    [
        ("dyna_td/search/rules.py", "NOISE_SCALE = 0.05", "NOISE_SCALE = 0.06", "GridWorld/dyna_td/n10-lr0.001"),
        ("dyna_td/learning/sum_tree.py", "WIDTH = 16", "WIDTH = 8", "sin/prioritized_l2"),
        ("envs/twins.py", "0.2 * uniforms - 0.6", "0.2 * uniforms - 0.7", "MountainCar-v0/er/n10-lr0.001"),
        ("envs/grid_world.py", "STEP_NOISE = 0.01", "STEP_NOISE = 0.02", "GridWorld/er/n10-lr0.001"),
        ("envs/__init__.py", '"CartPole-v1": 500', '"CartPole-v1": 400', "CartPole-v1/er/n10-lrselected"),
        ("envs/roundabout.py", "HORIZON = 10", "HORIZON = 9", "roundabout-paper-v0/er"),
    ],
)
def test_a_changed_constant_outdates_the_runs_that_reach_it(sources, path, old, new, outdates):
    found = outdated_by(lambda: edit(sources / path, old, new))
    assert any(name.startswith(outdates) for name in found) and found < set(RUNS)


def test_one_twin_does_not_outdate_the_runs_of_another(sources):
    found = outdated_by(lambda: edit(sources / "envs/twins.py", "0.1 * uniforms - 0.05", "0.1 * uniforms - 0.06"))
    assert {RUNS[name].environment for name in found} == {"CartPole-v1"}


@pytest.mark.parametrize(
    "line", ["from . import helper", "from .helper import two", "from .. import whole", "import whole.inner.helper"]
)
def test_an_import_inside_ones_own_package_is_followed(tmp_path, monkeypatch, line):
    inner = tmp_path / "whole" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "whole" / "__init__.py").write_text("from .inner.helper import two\n\nwhole = two\n")
    (inner / "__init__.py").write_text("")
    (inner / "helper.py").write_text("def two():\n    return 2\n")
    name = line.rpartition(" ")[2]
    called = {"helper": "helper.two", "whole.inner.helper": "whole.inner.helper.two"}.get(name, name)
    (inner / "mine.py").write_text(f"{line}\n\n\ndef mine():\n    return {called}()\n")
    monkeypatch.setitem(code_digest.PACKAGES, "whole", tmp_path / "whole")
    forget()
    found = code_digest.reached(["whole.inner.mine:mine"])
    forget()
    assert code_digest.Definition("whole.inner.helper", "two") in found


OWN_ENVIRONMENT = """import gymnasium
from helper import LIMIT


class Still(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (3,))
    action_space = gymnasium.spaces.Discrete(2)


gymnasium.register("Still-v0", entry_point=Still, max_episode_steps=LIMIT)
"""
OWN_AGENT = """from dyna_td.agents.er import ER
from helper import half


class Half(ER):
    def learn(self, step, updates):
        super().learn(step, half(updates))
"""


@pytest.mark.parametrize(
    ("environment", "agent", "edits"),
    [
        (
            "still:Still-v0",
            "er",
            [("still.py", "-1, 1", "-2, 2"), ("still.py", "=LIMIT", "=9"), ("helper.py", "8", "9")],
        ),
        ("GridWorld", "half:Half", [("half.py", "step, half", "step, 2 * half"), ("helper.py", "// 2", "// 3")]),
    ],
)
def test_an_edit_of_ones_own_environment_or_of_a_helper_is_noticed(tmp_path, monkeypatch, environment, agent, edits):
    monkeypatch.setattr(code_digest, "PACKAGES", dict(code_digest.PACKAGES))
    monkeypatch.setattr(code_digest, "OWN_FOLDERS", set())
    monkeypatch.setattr(registry, "AGENTS", dict(registry.AGENTS))
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "still.py").write_text(OWN_ENVIRONMENT)
    (tmp_path / "half.py").write_text(OWN_AGENT)
    (tmp_path / "helper.py").write_text("LIMIT = 8\n\n\ndef half(n):\n    return n // 2\n")
    registry.require_agent(agent, registry.require_environment(environment))
    run = Run(environment, agent, registry.settings_type(environment, agent)(), (0,), 20, 10)
    digests = [provenance.run_digest(run)]
    for path, old, new in edits:
        edit(tmp_path / path, old, new)
        forget()
        digests.append(provenance.run_digest(run))
    assert len(set(digests)) == len(edits) + 1


def test_an_installed_environment_changes_no_other_digest():
    before = dict(code_digest.PACKAGES)
    run = Run("Pendulum-v1", "er", registry.settings_type("Pendulum-v1", "er")(), (0,), 20, 10)
    assert provenance.run_digest(run) == code_digest.code_digest(entries_of(run))
    assert before == code_digest.PACKAGES
