"""The source digest of a run changes with the code that can change its numbers, and with nothing else."""

import ast

import pytest

from dyna_td import registry
from dyna_td.pipeline import provenance
from dyna_td.settings import Run

MODULES = {
    "dyna_td/__init__.py": "",
    "dyna_td/training.py": "from dyna_td import streams\nfrom envs import twins\n\ndef execute():\n    return 1\n",
    "dyna_td/streams.py": '"""Streams."""\n\nVALUE = 1\n',
    "dyna_td/catalog.py": "AGENTS = {}\n",
    "dyna_td/runs.py": "DEFAULT = 1\n",
    "dyna_td/agents/__init__.py": "",
    "dyna_td/agents/er.py": '"""ER."""\nimport dyna_td.replay\nfrom dyna_td.registry import AGENTS\n',
    "dyna_td/agents/other.py": "from . import er\n",
    "dyna_td/replay.py": "import numpy as np\nfrom dyna_td.settings import DEFAULT\n\nclass Replay:\n    SIZE = 1\n",
    "envs/__init__.py": "KNOWN = 1\n",
    "envs/twins.py": "GRAVITY = 1\n",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A tiny project; calling it with a file and its new text returns the digest of ER after the edit."""
    monkeypatch.setattr(provenance, "PACKAGES", {name: tmp_path / name for name in ("dyna_td", "envs")})
    for name, text in MODULES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    def digest(name=None, text=None, module="dyna_td.agents.er"):
        if name:
            (tmp_path / name).write_text(text)
        provenance.source_digest.cache_clear()
        provenance._code.cache_clear()
        return provenance.source_digest("dyna_td.training.trainer", module)

    yield digest
    provenance.source_digest.cache_clear()
    provenance._code.cache_clear()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dyna_td/training.py", MODULES["dyna_td/training.py"].replace("return 1", "return 2")),
        ("dyna_td/streams.py", '"""Streams."""\n\nVALUE = 2\n'),
        ("dyna_td/agents/er.py", MODULES["dyna_td/agents/er.py"] + "EXTRA = 1\n"),
        ("dyna_td/replay.py", MODULES["dyna_td/replay.py"].replace("SIZE = 1", "SIZE = 2")),
        ("envs/twins.py", "GRAVITY = 2\n"),
    ],
)
def test_editing_code_that_the_run_imports_changes_its_digest(project, name, text):
    assert project() != project(name, text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dyna_td/streams.py", '"""Random streams,\n\nexplained at length."""\n\nVALUE = 1\n'),
        ("dyna_td/streams.py", '"""Streams."""\n\n# The value.\nVALUE = (1)\n'),
        ("dyna_td/replay.py", MODULES["dyna_td/replay.py"].replace("SIZE", '"""Replay."""\n\n    SIZE')),
        ("dyna_td/agents/other.py", "DIFFERENT = 1\n"),
        ("dyna_td/catalog.py", "AGENTS = {'new': 'dyna_td.agents.other'}\n"),
        ("dyna_td/runs.py", "DEFAULT = 2\n"),
        ("envs/__init__.py", "KNOWN = 2\n"),
    ],
)
def test_editing_text_or_other_code_leaves_the_digest_as_it_is(project, name, text):
    assert project() == project(name, text)


def test_a_relative_import_counts(project):
    before = project(module="dyna_td.agents.other")
    after = project("dyna_td/agents/er.py", "CHANGED = 1\n", module="dyna_td.agents.other")
    assert before != after


def test_a_package_counts_if_a_name_is_taken_from_it(project):
    taken = MODULES["dyna_td/training.py"].replace("import twins", "import KNOWN")
    assert project("dyna_td/training.py", taken) != project("envs/__init__.py", "KNOWN = 2\n")


def test_an_import_inside_a_function_is_the_callers_to_name(project):
    lazy = MODULES["dyna_td/training.py"] + "    import dyna_td.agents.other\n"
    assert project("dyna_td/training.py", lazy) == project("dyna_td/agents/other.py", "CHANGED = 1\n")


def function_level_imports(module):
    """The modules of this project that functions of `module` import."""
    tree = ast.parse(provenance.module_path(module).read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    imports = [node for function in functions for node in ast.walk(function) if isinstance(node, ast.ImportFrom)]
    return {node.module for node in imports if node.module.startswith(("dyna_td", "envs"))}


RUNS = [
    Run(environment, agent, registry.settings_type(environment, agent)(), (0,), 1)
    for environment, agents in {
        "sin": registry.LEARNERS,
        "GridWorld": registry.CONTROL_AGENTS,
        "Hopper-v4": ("er", "dyna_td"),
        "roundabout-paper-v0": ("er", "dyna_td"),
    }.items()
    for agent in agents
]
CHOICES = {"dyna_td.learning.regression", "dyna_td.training.twin_program", "dyna_td.training.gym_program"}


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.name)
def test_training_chooses_nothing_but_the_program_inside_a_function(run):
    roots = set(registry.modules_of(run))
    assert len(roots & CHOICES) == 1
    chosen = {name for module in roots | provenance.imported_by(roots) for name in function_level_imports(module)}
    assert chosen == CHOICES


def test_a_run_depends_on_its_program_and_agent_and_not_on_the_others():
    code = {
        run.environment: provenance.imported_by(registry.modules_of(run)) | set(registry.modules_of(run))
        for run in RUNS
        if run.agent in ("l2", "er")
    }
    assert all({"dyna_td.learning.networks", "dyna_td.learning.streams"} <= modules for modules in code.values())
    assert not any("dyna_td.agents.dyna" in modules for modules in code.values())
    learners = (
        "dyna_td.learning.q_learning",
        "dyna_td.learning.ddpg",
        "envs.twins",
        "dyna_td.training.environments",
        "envs.roundabout",
    )
    assert {environment: [name in modules for name in learners] for environment, modules in code.items()} == {
        "sin": [False] * 5,
        "GridWorld": [True, False, True, False, False],
        "Hopper-v4": [False, True, False, True, False],
        "roundabout-paper-v0": [True, False, False, True, True],
    }


def test_the_machine_names_its_versions_and_its_cpu():
    facts = provenance.machine()
    assert set(facts["versions"]) == {"python", "tensorflow", "numpy", "gymnasium", "mujoco", "highway-env", "dyna_td"}
    assert all(facts["versions"].values()) and facts["cpu"]
    assert isinstance(facts["git_dirty"], bool)
