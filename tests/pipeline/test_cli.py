"""The command line does what its help says, and tells every mistake in one sentence."""

import errno
import json
import os
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from dyna_td import cli
from dyna_td.pipeline.plans import load_plan

ROOT = Path(__file__).parents[2]
L2 = "sin/l2/t4000-sigma0.5-b128-lrselected"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Commands write below the current folder."""
    monkeypatch.chdir(tmp_path)


def train(*arguments, env="sin", agent="l2"):
    return ["train", "--env", env, "--agent", agent, "--output", "x.csv", *arguments]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["frob"], "'frob'"),
        (["train"], "--env"),
        (train(env="Sin"), "unknown environment 'Sin': did you mean 'sin'?"),
        (train(env="Gridworld", agent="er"), "unknown environment 'Gridworld': did you mean 'GridWorld' or"),
        (train(agent="l3"), "unknown agent 'l3': did you mean 'l2'?"),
        (train(agent="er"), "agent 'er' does not train on sin: choose one of l2,"),
        (train(env="GridWorld"), "agent 'l2' does not train on GridWorld: choose one of er,"),
        (train("--learning-rate", "0"), "learning_rate is 0.0, expected a number above 0"),
        (train("--learning-rate", "-1"), "learning_rate is -1.0, expected a number above 0"),
        (train("--learning-rate", "nan"), "--learning-rate is 'nan', expected a number such as 0.001"),
        (train("--learning-rate", "fast"), "--learning-rate is 'fast', expected a number such as 0.001"),
        (train("--hidden", "32,32"), "--hidden is '32,32', expected a number such as 32x32"),
        (train("--hidden", "32x0"), "hidden.1 is 0, expected at least 1"),
        (train("--batch-size", "2.5"), "--batch-size is '2.5', expected a number such as 128"),
        (train("--chain-steps", "5", env="GridWorld", agent="er"), "--chain-steps does not apply to er on GridWorld"),
        (train("--model", "real", env="GridWorld", agent="dyna_td"), "model"),
        (train("--search-control", "sgld", env="GridWorld", agent="dyna_td"), "search_control"),
        (train("--mixing-rate", "1.5", env="GridWorld", agent="dyna_value"), "mixing_rate"),
        (train("--planning-updates", "5"), "--planning-updates does not apply to l2 on sin"),
        (train("--noise", "0.1", env="GridWorld", agent="er"), "--noise does not apply to er on GridWorld"),
        (train("--discount", "2", env="GridWorld", agent="er"), "discount is 2.0, expected at most 1"),
        (train("--seeds", ""), "--seeds: expected seeds such as 0-19"),
        (train("--seeds", "3-1"), "--seeds: expected seeds such as 0-19"),
        (train("--seeds", "0,0"), "--seeds: expected seeds such as 0-19"),
        (train("--seeds", "-1"), "--seeds"),
        (train("--seeds", "0-9999999999"), "--seeds: expected seeds such as 0-19"),
        (train("--seeds", "0-5000"), "at most 1,000"),
        (train("--steps", "99999999999"), "--steps: expected a whole number from 1 to 60000000"),
        (train("--steps", "0"), "--steps: expected a whole number from 1 to 60000000, not '0'"),
        (
            train("--evaluate-every", "half"),
            "--evaluate-every: expected a whole number from 1 to 60000000, not 'half'",
        ),
        (train("--momentum", "0.9"), "unknown argument '--momentum'"),
        (train("--output", "x.txt"), "--output is 'x.txt', expected a name that ends in .csv"),
        (train("--output", "file/x.csv"), "cannot write file/x.csv: file is not a folder; choose another place"),
        (train("--output", f"{'é' * 114}.csv"), "--output has a name of 232 bytes, expected at most 230: choose"),
        (["reference"], "only results of scale paper are published: add --scale paper."),
        (["check", "figure_99", "quick"], "unknown figure 'figure_99'"),
        (["check", "figure_1", "papr"], "unknown scale 'papr': did you mean 'paper'?"),
        (["check", "all_figures", "papr"], "unknown scale 'papr': did you mean 'paper'?"),
        (["run", "sin/l3"], "no figure shows a run 'sin/l3' at scale quick"),
        (["run", L2], "make it with `python -m dyna_td select"),
        (["aggregate", "figure_1"], f"cannot read results/quick/runs/{L2}.csv"),
        (["aggregate", "figure_1", "--scale", "papr"], "unknown scale 'papr'"),
        (["list", "--experiments", "nowhere"], "cannot read nowhere/scales.yaml"),
    ],
)
def test_a_mistake_is_one_sentence_on_standard_error_and_nothing_is_trained(arguments, words, fake_training, capsys):
    Path("file").write_text("")
    assert cli.main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.endswith(".\n") and err.count("\n") == 1
    assert words in err
    assert fake_training == [] and not Path("x.csv").exists()


@pytest.mark.parametrize("arguments", [["check", "figure_1", "quick"], ["check", "all_figures", "smoke"]])
def test_what_can_be_drawn_passes_the_check_without_a_word(arguments, capsys):
    assert cli.main(arguments) == 0
    assert capsys.readouterr() == ("", "")


def test_training_by_hand_writes_a_csv_and_its_provenance(fake_training):
    settings = ["--learning-rate", "1e-2", "--hidden", "8x4", "--planning-updates", "30", "--warm-up-steps", "20"]
    shape = ["--steps", "250", "--evaluate-every", "100", "--seeds", "3,0-1"]
    assert cli.main(train(*settings, *shape, env="GridWorld", agent="prioritized_er")) == 0
    (run,) = fake_training
    assert (run.environment, run.agent, run.seeds, run.steps) == ("GridWorld", "prioritized_er", (0, 1, 3), 250)
    assert (run.settings.learning_rate, run.settings.hidden, run.settings.planning_updates) == (0.01, (8, 4), 30)
    records = pd.read_csv("x.csv")
    assert list(records["step"].unique()) == [0, 100, 200, 250] and list(records["seed"].unique()) == [0, 1, 3]
    details = json.loads(Path("x.json").read_text())
    assert details["settings"]["warm_up_steps"] == 20 and details["seeds"] == [0, 1, 3]
    assert details["train_seconds"] == 1.0 and details["peak_memory_mib"] == 10.0
    assert {"versions", "cpu", "git_commit", "git_dirty", "source_digest", "csv_sha256"} <= set(details)


def test_settings_that_are_not_given_are_those_of_the_paper(fake_training):
    cli.main(train())
    cli.main(train(env="CartPole-v1", agent="er"))
    supervised, control = (run.settings for run in fake_training)
    assert (supervised.examples, supervised.noise, supervised.hidden) == (4000, 0.5, (32, 32))
    assert (control.planning_updates, control.batch_size, control.buffer_capacity) == (10, 32, 50_000)


def test_a_failure_in_training_leaves_an_older_result_as_it_was(monkeypatch):
    Path("x.csv").write_text("old")

    class Broken:
        @staticmethod
        def execute(run, progress, checkpoint):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "dyna_td.training.trainer", Broken)
    assert cli.main(train()) == 130
    assert Path("x.csv").read_text() == "old" and not Path("x.json").exists()


def test_ctrl_c_is_one_line(monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli.experiments, "load_plan", interrupted)
    assert cli.main(["list"]) == 130
    assert capsys.readouterr().err == "interrupted: what was not finished is not written.\n"


def test_ctrl_c_while_the_command_line_is_imported_is_one_line(monkeypatch, capsys):
    class Interrupted(types.ModuleType):
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "dyna_td.cli", Interrupted("dyna_td.cli"))
    with pytest.raises(SystemExit) as end:
        runpy.run_module("dyna_td", run_name="__main__")
    assert end.value.code == 130
    assert capsys.readouterr().err == "interrupted: nothing was begun.\n"


def test_the_plan_selects_on_other_seeds_trains_the_winner_and_aggregates(fake_training):
    for panel in load_plan("smoke").figures["figure_9"].panels.values():
        for run in panel.curves.values():
            assert cli.main(["select", run.name, "--scale", "smoke"]) == 0
            assert cli.main(["run", run.name, "--scale", "smoke"]) == 0
    assert cli.main(["aggregate", "figure_9", "--scale", "smoke"]) == 0

    first_sweep, first_run = fake_training[:2], fake_training[2]
    assert [run.settings.learning_rate for run in first_sweep] == [0.01, 0.001]  # as many as the smoke scale tries
    assert {run.seeds for run in first_sweep} == {(1000,)}
    # The stand-in's error is the seed plus the rate: the smallest rate wins, and the mean of seeds 0 and 1 is 0.501.
    assert first_run.seeds == (0, 1) and first_run.settings.learning_rate == 0.001
    curves = pd.read_csv("results/smoke/figure_9/curves.csv")
    assert (curves["mean"] == 0.501).all() and (curves["n"] == 2).all()
    assert set(curves["curve"]) == {"power4", "l2", "cubic"} and set(curves["step"]) == {0, 50, 100}
    choice = json.loads(Path(f"results/smoke/runs/{L2}.selection.json").read_text())
    assert choice["learning_rate"] == 0.001 and set(choice["scores"]) == {"0.01", "0.001"}
    details = json.loads(Path(f"results/smoke/runs/{L2}.json").read_text())
    assert details["run"] == L2 and details["settings"]["learning_rate"] == 0.001
    assert details["learning_rate_selection"]["seeds"] == [1000]


def test_aggregation_refuses_a_truncated_run_and_leaves_the_old_curves(fake_training, capsys):
    for run in load_plan("smoke").figures["figure_11"].runs:
        cli.main(["select", run.name, "--scale", "smoke"])
        cli.main(["run", run.name, "--scale", "smoke"])
    assert cli.main(["aggregate", "figure_11", "--scale", "smoke"]) == 0
    before = Path("results/smoke/figure_11/curves.csv").read_bytes()
    damaged = Path(f"results/smoke/runs/{run.name}.csv")
    damaged.write_bytes(damaged.read_bytes()[:-40])
    capsys.readouterr()
    assert cli.main(["aggregate", "figure_11", "--scale", "smoke"]) == 2
    sentence = capsys.readouterr().err
    assert str(damaged) in sentence and f"`python -m dyna_td run {run.name} --scale smoke`" in sentence
    assert Path("results/smoke/figure_11/curves.csv").read_bytes() == before


def test_list_shows_every_figure_run_agent_and_metric(capsys):
    assert cli.main(["list"]) == 0
    shown = capsys.readouterr().out
    for word in ("figure_10", L2, "full_prioritized_er", "MazeGridWorld", "test_rmse_high"):
        assert word in shown


def test_the_help_of_train_explains_every_option(capsys):
    with pytest.raises(SystemExit) as leaving:
        cli.main(["train", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert leaving.value.code == 0
    for words in (
        "--seeds SEEDS 0-19 or 0,3,7",
        "(default: 128 on sin, 32 on discrete actions, 64 on action vectors)",
        "(default: 10 on discrete actions, 5 on action vectors)",
    ):
        assert words in shown


@pytest.mark.parametrize("command", [["list"], ["check", "all_figures", "paper"], ["train", "--help"]])
def test_planning_does_not_import_tensorflow(command):
    code = f"import sys\nfrom dyna_td import cli\ntry: cli.main({command})\nexcept SystemExit: pass\n"
    code += "sys.exit('tensorflow' in sys.modules)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    finished = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


def test_training_imports_tensorflow_without_keras_which_stays_at_hand():
    code = "import os, sys; from dyna_td.pipeline.quiet_import import import_quietly; import_quietly('dyna_td.training.trainer')\n"
    code += "assert 'tensorflow' in sys.modules and 'keras' not in sys.modules\n"
    code += "assert 'TF_USE_LEGACY_KERAS' not in os.environ\n"
    code += "import_quietly('dyna_td.keras_dqn').KerasDQN().learn(1)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    finished = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.slow(10)
def test_training_by_hand_works_from_a_shell():
    command = [sys.executable, "-m", "dyna_td", *train("--steps", "40", "--evaluate-every", "20", "--seeds", "0-1")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    finished = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert finished.stderr.count("\n") == 1 and "40 of 40 steps" in finished.stderr
    assert list(pd.read_csv("x.csv").columns) == ["seed", "step", "metric", "value"]


def test_a_reader_who_has_had_enough_is_no_error():
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "dyna_td", "list"]
    told = subprocess.run(command, env=environment, stdout=writes, stderr=subprocess.PIPE, text=True)
    os.close(writes)
    assert (told.returncode, told.stderr) == (141, "")


def test_an_interrupt_from_a_shell_ends_with_status_130():
    script = Path("slow.py")
    script.write_text(
        "import sys, types, os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "def execute(run, progress, checkpoint): os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.modules['dyna_td.training.trainer'] = types.SimpleNamespace(execute=execute)\n"
        "from dyna_td.cli import main\n"
        f"sys.exit(main({train()}))\n"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    finished = subprocess.run([sys.executable, str(script)], env=environment, capture_output=True, text=True)
    assert finished.returncode == 130
    assert finished.stderr == "interrupted: what was not finished is not written.\n"


def test_results_may_go_to_another_folder(fake_training):
    assert cli.main(["select", L2, "--scale", "smoke", "--results", "elsewhere"]) == 0
    assert Path(f"elsewhere/smoke/runs/{L2}.selection.csv").exists() and not Path("results").exists()


def test_a_full_disk_is_one_sentence_and_leaves_an_older_result_as_it_was(fake_training, monkeypatch, capsys):
    Path("x.csv").write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "x.csv")

    monkeypatch.setattr(cli.results, "write", full)
    assert cli.main(train()) == 2
    assert capsys.readouterr().err.endswith(
        "error: x.csv: No space left on device; what was not finished is not written.\n"
    )
    assert Path("x.csv").read_text() == "old"


def test_a_sweep_over_other_seeds_than_the_plans_is_refused(fake_training, capsys):
    cli.main(["select", L2, "--scale", "paper"])
    Path("results/quick/runs").mkdir(parents=True)
    for suffix in ("csv", "json"):
        target = Path(f"results/quick/runs/{L2}.selection.{suffix}")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(Path(f"results/paper/runs/{L2}.selection.{suffix}").read_bytes())
    capsys.readouterr()
    assert cli.main(["run", L2]) == 2
    assert (
        "is not the sweep that the plan asks for; rebuild it with `python -m dyna_td select" in capsys.readouterr().err
    )


def test_provenance_is_that_of_the_moment_before_training(fake_training, monkeypatch):
    order = []
    monkeypatch.setattr(cli.provenance, "machine", lambda: order.append("machine") or {"versions": {}, "cpu": ""})
    execute = sys.modules["dyna_td.training.trainer"].execute
    monkeypatch.setattr(
        sys.modules["dyna_td.training.trainer"], "execute", lambda *args: order.append("training") or execute(*args)
    )
    assert cli.main(train()) == 0
    assert order == ["machine", "training"]
