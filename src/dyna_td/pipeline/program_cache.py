"""Compiled programs are kept on disk: what one job of the pipeline has compiled, the next one loads.

Runs that differ in n, seeds or learning rate alone share a program, because these are variables in it. So does a run
that is trained again. TensorFlow names a program only when it is whole, and refuses one that does not fit. A crash of
the machine can still damage one, and a program belongs to one CPU. So each start of a machine has its own folder.
"""

import hashlib
import os
import shutil
import time
from pathlib import Path

from dyna_td.pipeline import provenance

PATH = Path(".snakemake") / "programs"
_BOOT = Path("/proc/sys/kernel/random/boot_id")  # Linux's name for this start of this machine
_OPTION = "--tf_xla_persistent_cache_directory="
_SECONDS_KEPT = 7 * 24 * 3600


def flags(folder: Path = PATH, boot: Path = _BOOT) -> str:
    """`TF_XLA_FLAGS` with which TensorFlow keeps programs below `folder`; needed before a process imports it.

    Unchanged if they name a folder already, or where the start of the machine has no name.
    """
    ours = f"{_OPTION}{folder}/"  # perhaps another machine's, from where a cluster sent this job
    given = [flag for flag in os.environ.get("TF_XLA_FLAGS", "").split() if not flag.startswith(ours)]
    if boot.exists() and not any(flag.startswith(_OPTION) for flag in given):
        identity = repr((boot.read_text(), provenance.versions("tensorflow"), os.environ.get("XLA_FLAGS"), given))
        given.append(ours + hashlib.sha256(identity.encode()).hexdigest()[:16])
    return " ".join(given)


def remove_old(folder: Path = PATH) -> None:
    """Removes the programs below `folder` that were compiled more than a week ago."""
    for place in folder.glob("*"):
        for program in place.glob("*"):
            if time.time() - program.stat().st_mtime > _SECONDS_KEPT:
                program.unlink()
        if not any(place.iterdir()):
            shutil.rmtree(place)
