"""The command line does what its help says, reports a mistake in one sentence, and replaces only its own files."""

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from files import error_of, files_of, python

from dyna_td import cli
from dyna_td.errors import UserError
from dyna_td.plan.plans import load_plan
from dyna_td.records import beginnings, provenance, results, sources
from dyna_td.runs.registry import AGENTS
from dyna_td.training.job import workplace

L2 = "sin/l2/t4000-sigma0.5-b128-lrselected"


@pytest.fixture(autouse=True)
def empty_folder(tmp_path, monkeypatch):
    """Makes the current folder, below which commands write, an empty one."""
    monkeypatch.chdir(tmp_path)


def train(*arguments, env="sin", agent="l2"):
    return ["train", "--env", env, "--agent", agent, "--output", "x.csv", *arguments]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (train(env="Gridworld", agent="er"), "did you mean 'GridWorld'"),
        (train(agent="er"), "does not train on sin"),
        (train("--learning-rate", "0.1,zero"), "learning_rate is 'zero', expected a number"),
        (train("--chain-steps", "5", env="GridWorld", agent="er"), "--chain-steps does not apply to er"),
        (train("--seeds", "0-5000"), "at most 1,000"),
        (train("--gamma", "0.9"), "no option --gamma: did you mean --discount?"),
        (train("--planing-updates", "5"), "no option --planing-updates: did you mean --planning-updates?"),
        (train("--discount", "1", env="GridWorld", agent="dyna_td_frozen"), "discount is 1"),
        (
            train("--model-stop", "9000", env="GridWorld", agent="dyna_td"),
            "model_stop is 9000, but has no effect with the true",
        ),
        (
            train("--acceptance", "0.1", "--search-control", "langevin", env="GridWorld", agent="dyna_td"),
            "no effect with se",
        ),
        (
            train("--termination", "learned", env="GridWorld", agent="dyna_td_warm_up"),
            "termination is learned, but has no effect with the true model",
        ),
        (train("--chain-steps", "5", env="GridWorld", agent="uniform_states"), "uniform_states, which has no chains"),
        (train("--output", "x.txt"), "ends in .csv"),
        (train("--output", "r/x.states.csv"), f"the place of the sampled states of {Path('r/x.csv')}"),
        (train("--output", "folder.csv"), "folder.policy.npz: it is a folder"),
        (["compare", "figure_7", "--output", "x.png"], "--output names the picture of two trainings"),
        (["restore"], "reference holds no published results"),
        (["estimate", "figure_99"], "unknown figure 'figure_99'"),
        (["run", L2, "--scale", "smoke"], "make it with `snakemake --force results/smoke/runs/"),
        (["aggregate", "figure_1"], f"cannot read results/quick/runs/{L2}.json"),
    ],
)
def test_a_mistake_is_one_sentence_on_standard_error_and_nothing_is_trained(arguments, words, fake_training, capsys):
    Path("file").write_text("")
    Path("folder.policy.npz").mkdir()
    before = files_of(Path())
    message = error_of(cli.main, arguments, capsys)
    assert words in message and message.endswith(".\n")
    assert fake_training == [] and files_of(Path()) == before


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.states.csv", "x.policy.npz"])
@pytest.mark.parametrize("finished_before", [False, True])
def test_a_file_that_is_not_the_trainings_own_is_kept(name, finished_before, fake_training, capsys):
    if finished_before:  # this training made neither states nor a policy
        assert cli.main(train("--steps", "20")) == 0
        if name in ("x.csv", "x.json"):
            Path("x.json").unlink()
    Path(name).write_bytes(b"another's")
    before = files_of(Path())
    assert name in error_of(cli.main, train("--steps", "20"), capsys) and files_of(Path()) == before
    Path(name).rename("elsewhere")
    Path("x.csv").unlink(missing_ok=True)
    assert cli.main(train("--steps", "20")) == 0


def test_temporary_files_are_beside_the_result_and_go_with_its_maker(tmp_path):
    csv, elsewhere = tmp_path / "x.csv", tempfile.gettempdir()
    left = tmp_path / ".x.csv.work" / "left by a killed process"
    left.parent.mkdir()
    left.write_text("")
    with workplace(csv):
        assert not left.exists()
        with tempfile.NamedTemporaryFile(delete=False) as generated:
            assert generated.name.startswith(str(left.parent))
        with pytest.raises(UserError, match=r"another process is making .*x\.csv"), workplace(csv):
            pass
        with workplace(tmp_path / "y.csv"):
            pass
    assert not list(tmp_path.iterdir()) and tempfile.gettempdir() == elsewhere


def test_a_finished_training_says_so_and_is_replaced_only_by_itself_once_damaged(fake_training, monkeypatch, capsys):
    assert cli.main(train("--steps", "20")) == cli.main(train("--steps", "20")) == 0 and len(fake_training) == 1
    before = Path("x.csv").read_bytes()
    wrote, finished = capsys.readouterr().out.splitlines()
    assert wrote.startswith("wrote x.csv;") and finished.startswith("x.csv holds this training, finished; delete it ")
    Path("x.csv").write_bytes(before[:-1])
    assert cli.main(train("--steps", "20")) == 0 and Path("x.csv").read_bytes() == before
    Path("x.checkpoint").touch()  # as from an interrupted repetition
    assert "x.csv holds another training (steps: 20, not 40): " in error_of(cli.main, train("--steps", "40"), capsys)
    with monkeypatch.context() as patched:
        patched.setattr(sources, "run_digest", lambda run: "changed")
        words = "x.csv was trained with an earlier version of the code: name another"
        assert words in error_of(cli.main, train("--steps", "20"), capsys)
    assert Path("x.csv").read_bytes() == before
    details = json.loads(Path("x.json").read_text())
    del details["settings"]["examples"]  # as if this setting had been added later
    Path("x.json").write_text(results.sealed(details, json.dumps))
    assert cli.main(train("--steps", "20")) == 0 and len(fake_training) == 2


@pytest.fixture
def killed(monkeypatch):
    """Trains until after the first checkpoint."""

    def kill(runs, progress, checkpoint, watch=None):
        checkpoint.save({}, {})
        raise KeyboardInterrupt

    def call(words):
        with monkeypatch.context() as patched:
            patched.setattr(sys.modules["dyna_td.training.trainer"], "execute", kill)
            patched.setattr(sys.modules["dyna_td.training.trainer"], "execute_sweep", kill)
            assert cli.main(words) == 130

    return call


def test_a_checkpoint_of_other_settings_is_kept(fake_training, killed, capsys):
    killed(train("--steps", "40"))
    before = Path("x.checkpoint").read_bytes()
    words = "x.checkpoint holds another unfinished training (steps: 40, not 20): "
    assert words in error_of(cli.main, train("--steps", "20"), capsys)
    assert Path("x.checkpoint").read_bytes() == before and not fake_training
    assert cli.main(train("--steps", "40")) == 0 and not Path("x.checkpoint").exists()


@pytest.mark.parametrize("written", [0, 1])
def test_on_a_full_disk_results_wait_for_space_and_their_checkpoint_is_kept(
    written, fake_training, monkeypatch, capsys
):
    synced = []

    def is_full_after(handle):
        synced.append(handle)
        if len(synced) > written:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("x.checkpoint").write_bytes(b"what the training goes on from")
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", is_full_after)
        assert cli.main(train("--steps", "20")) == 2 and len(synced) == written + 1
    message = capsys.readouterr().err
    assert message.count("error:") == 1 and "No space left on device" in message and "Traceback" not in message
    assert [path.name for path in Path().iterdir()] == ["x.checkpoint"]
    assert cli.main(train("--steps", "20")) == 0
    assert sorted(path.name for path in Path().iterdir()) == ["x.csv", "x.json"]


def test_an_interrupt_between_the_files_of_a_result_leaves_none(fake_training, monkeypatch):
    synced = []

    def interrupts_the_second(handle):
        synced.append(handle)
        if len(synced) == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupts_the_second)
        assert cli.main(train("--steps", "20")) == 130 and not [*Path().iterdir()]
    assert cli.main(train("--steps", "20")) == 0


def test_a_published_run_that_cannot_be_read_costs_no_training(fake_training, monkeypatch, capsys):
    def is_damaged(scale, run):
        raise UserError("its CSV is damaged.")

    monkeypatch.setattr(beginnings, "read_and_repeat", is_damaged)
    run = load_plan("smoke").figure("figure_2").runs[-1]
    assert cli.main(["run", run.name, "--scale", "smoke"]) == 0 and results.run_csv("smoke", run.name).exists()
    assert "warning: not compared with the published run: its CSV is damaged." in capsys.readouterr().err


def test_list_explains_every_agent_and_shows_only_lines_with_all_words(monkeypatch, capsys):
    monkeypatch.setattr(cli, "__doc__", None)  # as Python does when it strips docstrings
    assert cli.main(["list"]) == 0
    explained = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("  "))
    assert all(len(explained[name]) > 20 for name in AGENTS)
    assert cli.main(["list", "maze", "GOALS", "n30"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and all("MazeGridWorld/dyna_" in line and "/n30-" in line and "queuegoals" in line for line in lines)
    assert cli.main(["list", "nosuchword"]) == 2


def test_training_by_hand_writes_a_csv_and_its_provenance(fake_training, monkeypatch):
    monkeypatch.setattr(provenance, "IS_CHECKOUT", False)
    monkeypatch.setenv("DYNA_TD_COMMIT", "abc")  # as in the container's image
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
    assert {"versions", "cpu", "git_dirty", "source_digest", "csv_sha256"} <= set(details)
    assert details["git_commit"] == "abc"


def test_a_sweep_by_hand_chooses_on_other_seeds_and_goes_on_where_it_was(fake_training, killed, capsys):
    words = train("--learning-rate", "0.01,1e-3", "--seeds", "0-2", "--steps", "500")
    killed(words)
    assert cli.main(words) == 0
    first, second, chosen = fake_training  # the stand-in's error is the seed's last digit plus the rate
    assert first.seeds == second.seeds and len(first.seeds) == 3 and min(first.seeds) >= 1000
    assert chosen.seeds == (0, 1, 2) and chosen.settings.learning_rate == 0.001
    assert "  learning rate 0.001: mean test_rmse " in (said := capsys.readouterr().out) and said.count("(chosen)") == 1
    assert json.loads(Path("x.json").read_text())["learning_rate_selection"]["learning_rate"] == 0.001
    Path("x.csv").unlink()
    assert cli.main(words) == 0 and len(fake_training) == 4, "the finished sweep stands"
    Path("x.selection.csv").unlink()
    assert cli.main(words) == 0 and len(fake_training) == 6, "a sweep without its CSV is made again"
    others = train("--learning-rate", "0.1,0.2", "--seeds", "0-2", "--steps", "500")
    assert "x.selection.csv holds another training (" in error_of(cli.main, others, capsys) and len(fake_training) == 6


def test_the_plan_selects_on_other_seeds_trains_the_winner_and_aggregates(fake_training):
    for run in load_plan("smoke").figure("figure_9").runs:
        assert cli.main(["select", run.name, "--scale", "smoke"]) == 0
        assert cli.main(["run", run.name, "--scale", "smoke"]) == 0
    assert cli.main(["aggregate", "figure_9", "--scale", "smoke"]) == 0
    # The stand-in's error is the seed's last digit plus the rate, so the smallest rate wins with mean 0.501.
    curves = pd.read_csv("results/smoke/figure_9/curves.csv")
    assert (curves["mean"] == 0.501).all() and (curves["n"] == 2).all()
    assert set(curves["curve"]) == {"power4", "l2", "cubic"} and set(curves["step"]) == {0, 50, 100}
    details = json.loads(Path(f"results/smoke/runs/{L2}.json").read_text())
    assert (details["run"], details["settings"]["learning_rate"]) == (L2, 0.001)
    assert min(details["learning_rate_selection"]["seeds"]) >= 1000


def test_planning_and_publishing_do_not_import_tensorflow():
    code = """import contextlib, sys
from dyna_td import cli
from dyna_td.pages import markdown
for words in (["list"], ["estimate", "--scale", "paper"], ["train", "--help"]):
    with contextlib.suppress(SystemExit):
        assert not cli.main(words)
sys.exit("tensorflow" in sys.modules)"""
    finished = python("-c", code)
    assert finished.returncode == 0, finished.stderr


def test_a_reader_who_has_had_enough_is_no_error():
    reads, writes = os.pipe()
    os.close(reads)
    process = python("-m", "dyna_td", "list", capture_output=False, stdout=writes, stderr=subprocess.PIPE)
    os.close(writes)
    assert (process.returncode, process.stderr) == (141, "")


def test_the_commit_is_that_of_the_project_and_not_of_a_folder_around_it(tmp_path, monkeypatch):
    project = tmp_path / "outer" / "project"
    project.mkdir(parents=True)
    monkeypatch.setattr(provenance, "ROOT", project)
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)  # a hook's variables name its repository, which this test must not change
    git = ["git", "-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for folder in (project.parent, project):
        subprocess.run([*git, "init"], cwd=folder, check=True)
        subprocess.run([*git, "commit", "--allow-empty", "--message", folder.name], cwd=folder, check=True)
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
        assert provenance.machine()["git_commit"] == (head if folder == project else None)
