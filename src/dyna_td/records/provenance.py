"""Where a result comes from: versions, machine and commit."""

import importlib.metadata
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from dyna_td import __version__
from dyna_td.learning import arithmetic
from dyna_td.records.files import IS_CHECKOUT, ROOT


def machine() -> dict:
    """Date (UTC), versions, CPU, commit and whether what makes numbers differs from it, for a result's JSON file."""
    changes = _git("status", "--porcelain", "--untracked-files=no", "--", "src", "envs", "experiments")
    installed = versions("tensorflow", "numpy", "gymnasium", "mujoco", "highway-env")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {"python": platform.python_version(), "dyna_td": __version__, **installed},
        # Portable arithmetic has the same bytes on every CPU with AVX2.
        "arithmetic": arithmetic.name(),
        "cpu": _cpu_model() or platform.processor() or platform.machine(),
        "git_commit": commit(),
        "git_dirty": None if changes is None else bool(changes),
    }


def differing(there: dict, here: dict) -> str:
    """The differences between the arithmetic, libraries and sources of two JSON files, in words."""
    facts = {"arithmetic": [details.get("arithmetic", "the CPU's") for details in (there, here)]}
    libraries = {name: each for name, each in there.get("versions", {}).items() if name != "dyna_td"}
    facts |= {name: [each, here["versions"].get(name)] for name, each in libraries.items()}
    words = [f"{name} {one} there, {other} here" for name, (one, other) in facts.items() if one != other]
    if there.get("source_digest") != here.get("source_digest"):
        words.append("other sources")  # without commits, which differ within a figure: one cause has one sentence
    return "; ".join(words)


def versions(*packages: str) -> dict[str, str | None]:
    """The installed version of each package, None if it is not there."""
    return {name: _version(name) for name in packages}


def commit() -> str | None:
    """The commit that is checked out, or that of the container's image; None if there is none."""
    return _git("rev-parse", "HEAD") or os.environ.get("DYNA_TD_COMMIT") or None


def uncommitted(*folders: str) -> list[str] | None:
    """The files in `folders` of the project that are not as committed, None outside of a git repository."""
    changes = _git("status", "--porcelain", "--", *folders)
    return None if changes is None else [line.split(maxsplit=1)[1] for line in changes.splitlines()]


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    """The name in Linux's description of the first CPU; empty elsewhere."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


def _git(*arguments: str) -> str | None:
    if not IS_CHECKOUT:  # a wheel may be installed within another repository
        return None
    command = ["git", "-C", str(ROOT), *arguments]
    # Neither the repository of a hook that runs this, nor one around the project's folder, is the project's.
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    own["GIT_CEILING_DIRECTORIES"] = str(ROOT.parent)
    try:
        answer = subprocess.run(command, env=own, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()
