"""The start of the Snakefile: the plan at the scale of `--config`, the environment of its jobs, and their programs.

Compiled programs are kept on disk, so that a job loads what an earlier job has compiled. Runs that differ only in n,
seeds or learning rate share a program, because these are variables in it. A retrained run loads its own.
TensorFlow gives a program's file its name only when it is complete, and refuses a program that does not fit. A crash of
the machine can still damage a file, and a program belongs to one CPU. So each boot of a machine has its own folder.
"""

import contextlib
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from dyna_td.errors import UserError, require_choice
from dyna_td.learning import arithmetic
from dyna_td.plan import plans
from dyna_td.plan.planned import Plan
from dyna_td.records import provenance, results
from dyna_td.records.files import IMPORTS

PROGRAMS = Path(".snakemake") / "programs"
_BOOT = Path("/proc/sys/kernel/random/boot_id")  # Linux's id of this boot of this machine
_OPTION = "--tf_xla_persistent_cache_directory="
_SECONDS_KEPT = 7 * 24 * 3600


def plan_of(config: dict) -> Plan:
    """The plan at the scale of `--config`; a mistake in it or in the YAML files ends Snakemake with one sentence."""
    for key in config:
        in_one_sentence(require_choice, key, ["scale", "container"], "key of --config")
    plan = in_one_sentence(plans.load_plan, str(config.get("scale", "quick")))
    in_one_sentence(require_folders, results.DIRECTORY, plan)
    return plan


def require_folders(place: Path, plan: Plan) -> None:
    """Raises UserError where a file stands in the place of a folder of results; Snakemake would show a traceback."""
    here = place / plan.scale
    for path in (place, here, *(here / name for name in ("runs", "logs", *plan.drawn))):
        if path.exists() and not path.is_dir():
            raise UserError(f"{path} is a file, expected a folder of results: move it elsewhere.")


def in_one_sentence(function: Callable, *arguments):
    """Returns `function(*arguments)`; a UserError ends Snakemake with its sentence."""
    try:
        return function(*arguments)
    except UserError as error:
        sys.exit(f"error: {error}")


def require_cores(cores: int | None) -> None:
    """Raises UserError for `--cores 0`, with which Snakemake would wait forever; None: a cluster has its own cores."""
    if cores == 0:
        raise UserError("--cores is 0, so no job could begin: expected 1 or more.")


def environment() -> dict[str, str]:
    """The variables with which jobs use this Python, this code, and each other's compiled programs."""
    return {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.getenv('PATH')}",
        **arithmetic.variables(),
        "TF_XLA_FLAGS": xla_flags(),
        **IMPORTS,
    }


def any_of(names: Iterable[str]) -> str:
    """A wildcard's pattern: any of `names`; without names it matches nothing."""
    return "|".join(map(re.escape, names)) or "(?!)"


def xla_flags(folder: Path = PROGRAMS) -> str:
    """`TF_XLA_FLAGS` with which TensorFlow keeps programs below `folder`; needed before a process imports it.

    The flags stay as they are if they name a folder already, or if the machine's boot has no id.
    """
    ours = f"{_OPTION}{folder}/"  # may name the folder of another machine, from which a cluster sent this job
    given = [flag for flag in os.environ.get("TF_XLA_FLAGS", "").split() if not flag.startswith(ours)]
    if _BOOT.exists() and not any(flag.startswith(_OPTION) for flag in given):
        flags = arithmetic.variables() | {"TF_XLA_FLAGS": given}
        identity = repr((_BOOT.read_text(), provenance.versions("tensorflow"), flags))
        given.append(ours + hashlib.sha256(identity.encode()).hexdigest()[:16])
    return " ".join(given)


def remove_old_programs() -> None:
    """Removes the programs that were compiled more than a week ago."""
    for of_boot in filter(Path.is_dir, PROGRAMS.glob("*")):
        for program in of_boot.glob("*"):
            with contextlib.suppress(FileNotFoundError):  # a job has just given it its name
                if time.time() - program.stat().st_mtime > _SECONDS_KEPT:
                    program.unlink()
        with contextlib.suppress(OSError):  # it holds programs
            of_boot.rmdir()
