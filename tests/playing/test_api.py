"""Training from Python gives the command's numbers; a user's own agent needs no change of the package."""

import io
import os
import re
import sys
import types
from dataclasses import dataclass, make_dataclass

import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from files import python, sentence_of
from helpers import run_of

import dyna_td
from dyna_td import cli, own_agents
from dyna_td.agents.dyna import Dyna
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.agents.er import ER
from dyna_td.agents.prioritized_er import PrioritizedER
from dyna_td.errors import UserError
from dyna_td.learning import arithmetic
from dyna_td.records.files import IMPORTS, ROOT
from dyna_td.records.metrics import require_metric
from dyna_td.records.policy import load_policy
from dyna_td.runs import registry
from dyna_td.settings import DQNSettings, number
from dyna_td.training import trainer, trial

USING = ROOT / "docs" / "using.md"
SHORT = {"steps": 120, "warm_up_steps": np.int32(60), "planning_updates": np.int64(2), "evaluate_every": 60}


@pytest.fixture(autouse=True)
def only_our_agents():
    """Forgets adopted agents after each test, because other tests list all agents."""
    before = {*registry.AGENTS}
    yield
    for name in {*registry.AGENTS} - before:
        del registry.AGENTS[name]


def test_importing_the_package_changes_no_variable_and_its_functions_set_those_of_the_arithmetic_alone():
    clean = {name: value for name, value in os.environ.items() if name not in arithmetic.variables()} | IMPORTS
    changes = "{name for name, value in os.environ.items() if old.get(name) != value}"
    code = f"import os, sys; old = dict(os.environ); import dyna_td; assert not {changes}; dyna_td.train; "
    done = python("-c", f"{code}assert 'tensorflow' not in sys.modules; print(*{changes})", env=clean)
    assert (done.returncode, done.stderr) == (0, "")
    assert "XLA_FLAGS" in done.stdout.split()
    assert {*done.stdout.split()} <= {*arithmetic.variables(), "PYGAME_HIDE_SUPPORT_PROMPT"}  # which Gymnasium sets


def test_an_agent_in_the_working_directory_trains_by_command_and_from_python(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place not in ("", os.getcwd())])
    (own,) = re.findall(r"`squared.py`:\n\n```python\n(.*?)```", USING.read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "squared.py").write_text(own)
    words = [part for name, value in SHORT.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    words += ["--agent", "squared:SquaredPER", "--offset", "0.1", "--seeds", "0,1", "--output", "x.csv"]
    assert cli.main(["train", "--env", "CartPole-v1", *words]) == 0
    result = dyna_td.train("CartPole-v1", sys.modules["squared"].SquaredPER, seeds=range(2), offset=0.1, **SHORT)
    text = io.StringIO(result.records.assign(value=result.records["value"].map("{:.9g}".format)).to_csv(index=False))
    pd.testing.assert_frame_equal(pd.read_csv(text), pd.read_csv("x.csv"), check_exact=True)
    assert result.settings.offset == 0.1 and result.settings.priority_exponent == 1
    assert (load_policy("x.policy.npz").weights["q.kernel0"] == result.policy.weights["q.kernel0"]).all()


@pytest.mark.parametrize(
    ("agent", "arguments", "words"),
    [
        ("nowhere:Agent", {}, "agent nowhere:Agent cannot be imported: No module named 'nowhere'"),
        ("json:JSONDecoder", {}, "expected a class that extends one of dyna_td.agents"),
        ("er", {"seeds": -1}, "seeds are"),
        ("er", {"seed": 3}, "unknown argument for er on GridWorld 'seed': did you mean 'seeds'"),
        ("er", {"chain_steps": 3}, "chain_steps does not apply to er on GridWorld: leave it out"),
    ],
)
def test_a_mistake_is_one_sentence(agent, arguments, words):
    with pytest.raises(UserError, match=words):
        dyna_td.train("GridWorld", agent, **arguments)


def test_published_returns_are_arrays_of_seeds_steps_and_panels():
    found = dyna_td.load_returns("figure_12", seeds=3)
    assert {array.shape for array in found.curves.values()} == {(3, len(found.steps), len(found.panels))}
    panel, step = found.panels.index("GridWorld"), list(found.steps).index(20_000)
    rows = pd.read_csv(ROOT / "reference" / "runs" / "GridWorld" / "dyna_td" / "n5-lr0.001.csv.xz")
    rows = rows[(rows["metric"] == "return") & (rows["step"] == 20_000)].set_index("seed")["value"]
    assert list(found.curves["dyna_td"][:, step, panel]) == list(rows[:3])
    assert "no curve of returns" in sentence_of(dyna_td.load_returns, "figure_9")
    for seeds in (0, -1, 1_000, 2.5):
        assert f"seeds is {seeds}, expected 1 to " in sentence_of(dyna_td.load_returns, "figure_12", seeds)


def test_a_forked_process_refuses_to_train_after_its_parent(monkeypatch):
    run = run_of("CartPole-v1", "er")
    trainer._Training([run], progress=None, checkpoint=None, measures=False)
    monkeypatch.setattr(os, "getpid", lambda: 0)  # as in a fork
    assert sentence_of(trainer.execute, run).endswith("start it by multiprocessing's method spawn.")


def own(settings, **attributes):
    return type("Own", (ER,), {"Settings": settings, "__module__": __name__} | attributes)


class Mixed(DynaTD, PrioritizedER):
    pass


class MisspeltHook(PrioritizedER):
    def priorty(self, td_error, batch):
        return tf.abs(td_error)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (type("Own", (Dyna,), {"__module__": __name__}), "has no criterion: write `criterion_gradient`, or `search`"),
        (MisspeltHook, "nothing calls `priorty`, and its name is nearly `priority`: correct it"),
        (Mixed, "extends a Dyna agent and PrioritizedER: simulated transitions replace some"),
        (own(DQNSettings, __qualname__="Outer.Own"), "is made in a function or a class: define its class at the top"),
        (own(type("Bare", (DQNSettings,), {})), "Settings is no frozen dataclass: write @dataclass"),
        (
            own(make_dataclass("Mine", [("mine", int, 3)], bases=(DQNSettings,), frozen=True)),
            "names 'mine' without a meaning: declare it with dyna_td.settings.number",
        ),
    ],
)
def test_a_mistake_in_an_own_agent_is_one_sentence(agent, words):
    with pytest.raises(UserError, match=f"^agent {__name__}:.*{words}"):
        own_agents.adopt(agent)


FAULTY = """import numpy as np
import tensorflow as tf
from dyna_td.agents.dyna_td import DynaTD
from dyna_td.agents.er import ER
from dyna_td.agents.prioritized_er import PrioritizedER

class Faulty({base}):
    def {method}:
        return {result}
"""
PRIORITY = "priority(self, td_error, batch)"
SCALED = "tf.abs(error) / tf.reduce_max(tf.abs(error))"
MIXED = "mixes seeds in `after_update`: seed 0 depends on its neighbours"
IN_PRIORITY = r"in `priority`, line 9 of .*faulty\.py: "


@pytest.mark.parametrize(
    ("method", "result", "words"),
    [
        ("after_update(self, indices, error, batch)", f"self.priorities.assign(indices, {SCALED})", MIXED),
        (PRIORITY, "tf.reduce_max(tf.abs(td_error), axis=0)", r"`priority` returns shape \[9\], expected \[S, B\]"),
        (PRIORITY, "1.0 - tf.abs(td_error)", "`priority` returns -99 for the TD error -100"),
        (PRIORITY, "tf.cast(tf.abs(td_error), tf.float64)", "`priority` returns numbers of type float64"),
        ("priorities(self, td_error, batch)", "tf.abs(td_error)", "hides the method `priorities`.* hook is `priority`"),
        (PRIORITY, "np.abs(td_error)", IN_PRIORITY + "the method is compiled, and NumPy cannot read its tensors"),
        ("criterion_gradient(self, state, step, i)", "state / 0.0", "`criterion_gradient` returns -?(inf|nan)"),
        (PRIORITY, "self.settings.priority_exponant", IN_PRIORITY + "there is no setting .* 'priority_exponent'"),
        (PRIORITY, "batch.rewards", IN_PRIORITY + "there is no attribute 'rewards'; the nearest is 'reward'"),
        ("counters(self)", '{"return": tf.zeros([3])}', "`counters` returns 'return', which evaluations measure"),
        ("draw(self, step, k)", "super().draw(step, k) if step < 99 else 0", r"in `draw`, .*cannot ask a tensor"),
    ],
)
def test_a_faulty_agent_is_one_sentence_before_it_trains(tmp_path, monkeypatch, method, result, words):
    base = "DynaTD" if method.startswith("criterion") else "PrioritizedER"
    (tmp_path / "faulty.py").write_text(FAULTY.format(base=base, method=method, result=result))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "faulty", raising=False)
    with pytest.raises(UserError, match=f"^agent faulty:Faulty.*{words}"):
        dyna_td.train("GridWorld", "faulty:Faulty", **SHORT)


def test_a_priority_that_is_wrong_in_training_alone_stops_it(tmp_path, monkeypatch):
    result = "tf.where(batch.reward == -1.0, -3.0, tf.abs(td_error))"  # a trial has other rewards
    (tmp_path / "late.py").write_text(FAULTY.format(base="PrioritizedER", method=PRIORITY, result=result))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(UserError, match=r"^agent late:Faulty: `priority` returned -3 by step"):
        dyna_td.train("GridWorld", "late:Faulty", **SHORT)


def test_an_agent_whose_source_is_not_found_is_a_mistake(monkeypatch):
    monkeypatch.setitem(sys.modules, "made_up", types.ModuleType("made_up"))
    exec("from dyna_td.agents.er import ER\n\n\nclass Mine(ER):\n    pass\n", vars(sys.modules["made_up"]))
    with pytest.raises(UserError, match=r"^the source of agent made_up:Mine is not found: expected "):
        own_agents.adopt("made_up:Mine")
    assert "made_up:Mine" not in registry.AGENTS


class Child(PrioritizedER):
    @dataclass(frozen=True)
    class Settings:
        power: float = number(2.0, "the exponent of the error", "ours")


class Grandchild(Child):
    pass


def test_an_agent_may_extend_one_with_settings_of_its_own():
    names = [own_agents.adopt(agent) for agent in (Child, Grandchild)]
    kinds = [registry.AGENTS[name].settings for name in names]
    assert all(kind().power == 2.0 for kind in kinds)


class Flat(Dyna):
    def criterion_gradient(self, state, step, i):
        return 0.0 * state


def test_an_agent_may_extend_dyna_itself():
    name = own_agents.adopt(Flat)
    trial.require_sound(run_of("CartPole-v1", name))
    require_metric("queue_size", "CartPole-v1", [name])  # a figure may show what its runs record
