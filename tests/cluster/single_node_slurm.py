"""A Slurm of one node on this machine, in a temporary folder, for as long as a command runs.

It needs Debian's packages munge and slurm-wlm, no configuration, no database and no root: its daemons belong to the
person who starts it and run jobs for that person alone.
"""

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
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


def missing() -> list[str]:
    """The programs that this machine lacks."""
    return [name for name in (*DAEMONS, "sbatch", "srun", "squeue") if not program(name)]


def program(name: str) -> str | None:
    """The path of a program; daemons are not on everybody's PATH."""
    return shutil.which(name, path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin{os.pathsep}/sbin")


@contextmanager
def running(cores: int = 2) -> Iterator[dict[str, str]]:
    """Runs the three daemons, and yields the environment in which Slurm's commands find them."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm-")))
        configuration = _configure(folder, cores)
        path = f"{_programs(folder, configuration)}{os.pathsep}{os.environ['PATH']}"
        environment = os.environ | {"SLURM_CONF": str(configuration), "PATH": path}
        for command in _commands(folder):
            stack.enter_context(_daemon(command, folder, environment))
        _wait_until_idle(environment, folder)
        yield environment


def _configure(folder: Path, cores: int) -> Path:
    folder.chmod(0o711)  # the socket's clients must reach it; the key is readable to its owner alone
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(64))
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            host=socket.gethostname().partition(".")[0],
            user=getpass.getuser(),
            ports=_free_ports(),
            cores=cores,
            memory=pages // 2**20 - 512,  # MiB
        )
    )
    return configuration


def _programs(folder: Path, configuration: Path) -> Path:
    """A folder with an srun that knows the configuration: the steps of Snakemake's jobs drop SLURM_CONF."""
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={configuration} exec {program("srun")} "$@"\n')
    srun.chmod(0o755)
    return srun.parent


def _free_ports() -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(2)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _commands(folder: Path) -> Iterator[list[str]]:
    files = {"socket": "munge.socket", "pid-file": "munge.pid", "key-file": "munge.key", "seed-file": "munge.seed"}
    yield ["munged", "--foreground", *(f"--{option}={folder / name}" for option, name in files.items())]
    yield ["slurmctld", "-D"]
    yield ["slurmd", "-D", "-N", socket.gethostname().partition(".")[0]]


@contextmanager
def _daemon(command: list[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    name, *arguments = command
    with open(folder / f"{name}.out", "w") as output:
        process = subprocess.Popen([program(name), *arguments], env=environment, stdout=output, stderr=output)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def _wait_until_idle(environment: dict[str, str], folder: Path) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        state = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True).stdout
        if state.strip() == "idle":
            return
        time.sleep(0.2)
    logs = "\n".join(f"== {path.name}\n{path.read_text()[-2000:]}" for path in folder.glob("*.out"))
    raise RuntimeError(f"Slurm's node is not idle after {SECONDS_TO_START} s\n{logs}")
