"""The Slurm profile: a real Slurm makes the same bytes as this machine alone.

Its single node is this machine, in a temporary folder, while a command runs. It needs Debian's packages munge and
slurm-wlm, but no configuration, no database and no root: its daemons belong to the user who starts it, and run jobs
for that user alone.
"""

import getpass
import importlib.util
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from files import files_of, python

from dyna_td.records.files import IMPORTS, ROOT

PROFILE = ROOT / "profiles" / "slurm"
FIGURES = ("figure_7", "figure_9")  # closed forms, and sweeps with runs
SMOKE = ("--config", "scale=smoke")
# The test's Slurm keeps no accounts, so a job's state comes from its queue; short jobs need short waits.
WITHOUT_ACCOUNTS = ("--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2")
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue")
SECONDS_TO_START = 30

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
ReturnToService=2
SchedulerParameters=sched_interval=1
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} RealMemory={memory}
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def program(name):
    """The path of a program; a user's PATH may lack daemons."""
    return shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin")


@contextmanager
def slurm(cores=2):
    """Runs the three daemons, and yields the environment in which Slurm's commands find them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        host = socket.gethostname().partition(".")[0]
        configuration = configure(folder, host, cores)
        srun = folder / "bin" / "srun"  # knows the configuration: the steps of Snakemake's jobs drop SLURM_CONF
        srun.parent.mkdir()
        srun.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {program("srun")} "$@"\n')
        srun.chmod(0o755)
        path = f"{srun.parent}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | IMPORTS | {"SLURM_CONF": str(configuration), "PATH": path}
        files = {"socket": "munge.socket", "pid-file": "munge.pid", "key-file": "munge.key", "seed-file": "munge.seed"}
        munged = ["munged", "--foreground", *(f"--{option}={folder / name}" for option, name in files.items())]
        for name, *arguments in (munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", host]):
            output = stack.enter_context(open(folder / f"{name}.out", "w"))
            process = subprocess.Popen([program(name), *arguments], env=environment, stdout=output, stderr=output)
            stack.callback(process.wait)
            stack.callback(process.terminate)  # the process ends before it is waited for
        wait_until_idle(environment, folder)
        yield environment


def configure(folder, host, cores):
    """Writes the daemons' folders, key and configuration; returns the path of the last."""
    folder.chmod(0o711)  # clients must reach the socket; only its owner can read the key
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(64))
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(2)]
        ports = [each.getsockname()[1] for each in sockets]  # free ports
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20 - 512  # MiB
    facts = {"folder": folder, "host": host, "ports": ports, "cores": cores, "memory": memory}
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(user=getpass.getuser(), **facts))
    return configuration


def wait_until_idle(environment, folder):
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout
        if state.strip() == "idle":
            return
        time.sleep(0.2)
    logs = "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in folder.glob("*.out"))
    raise RuntimeError(f"Slurm's node is not idle after {SECONDS_TO_START} s\n{logs}")


def reason_to_skip():
    if lacking := [name for name in PROGRAMS if not program(name)]:
        return f"Slurm is not installed ({', '.join(lacking)}): apt-get install munge slurm-wlm"
    if not importlib.util.find_spec("snakemake_executor_plugin_slurm"):
        return "snakemake-executor-plugin-slurm is not installed: pip install the extra `cluster`"
    return ""


def tables(folder):
    """The bytes of every CSV of the results, by its place in them."""
    return {path: content for path, content in files_of(folder / "results").items() if path.suffix == ".csv"}


@pytest.mark.thorough
@pytest.mark.slow(60)
@pytest.mark.timeout(1800)
@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip())
def test_a_real_slurm_makes_the_bytes_that_this_machine_makes_alone(tmp_path):
    for name in ("alone", "slurm"):
        (tmp_path / name).mkdir()
    snakemake = partial(python, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), *FIGURES, *SMOKE)
    alone = snakemake(cwd=tmp_path / "alone")
    assert alone.returncode == 0, alone.stderr[-3000:]
    with slurm() as environment:
        # Snakemake reports its submissions only with --verbose.
        arguments = ("--verbose", "--profile", str(PROFILE), *WITHOUT_ACCOUNTS)
        through_slurm = snakemake(*arguments, cwd=tmp_path / "slurm", env=environment)
    assert through_slurm.returncode == 0, through_slurm.stderr[-3000:]
    expected = tables(tmp_path / "alone")
    assert tables(tmp_path / "slurm") == expected
    assert len(expected) == 2 + 2 + 6 + 6  # curves, repeats, runs, sweeps
    jobs = through_slurm.stderr.count("has been submitted with SLURM jobid")
    assert jobs == 2 + 6 + 6  # aggregating and drawing a figure are one job
