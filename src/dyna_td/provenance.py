"""Where a result comes from: versions, machine, commit, and a digest of the code that can change its numbers."""

import ast
import hashlib
import importlib.metadata
import platform
import subprocess
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from dyna_td import __version__
from dyna_td.catalog import modules_of
from dyna_td.runs import Run

_ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"dyna_td": _ROOT / "src" / "dyna_td", "envs": _ROOT / "envs"}
# What these say reaches a run's numbers through its settings alone, which are compared as they are. If these counted,
# adding an agent to the catalog would make every finished run look outdated.
_PLANNING_ONLY = {"dyna_td.catalog", "dyna_td.errors", "dyna_td.progress", "dyna_td.runs"}


def machine() -> dict:
    """Date (UTC), versions, CPU model, commit and whether tracked files differ from it, for a result's JSON file."""
    changes = _git("status", "--porcelain", "--untracked-files=no")
    installed = versions("tensorflow", "numpy", "gymnasium", "mujoco", "highway-env")
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "versions": {"python": platform.python_version(), "dyna_td": __version__, **installed},
        "cpu": _cpu_model(),
        "git_commit": commit(),
        "git_dirty": None if changes is None else bool(changes),
    }


def versions(*packages: str) -> dict[str, str | None]:
    """The installed version of each package, None if it is not there."""
    return {name: _version(name) for name in packages}


def commit(checkout: Path | None = None) -> str | None:
    """The commit that is checked out, here or in another folder, None outside of a git repository."""
    return _git("rev-parse", "HEAD", checkout=checkout)


def uncommitted(*folders: str) -> list[str] | None:
    """The files in `folders` of the project that are not as committed, None outside of a git repository."""
    changes = _git("status", "--porcelain", "--", *folders)
    return None if changes is None else [line.split(maxsplit=1)[1] for line in changes.splitlines()]


def run_digest(run: Run) -> str:
    """SHA-256 of the code that can change the numbers of `run`."""
    return source_digest(*modules_of(run))


@cache
def source_digest(*modules: str) -> str:
    """SHA-256 of the code of `modules` and of all modules of this project that they import."""
    names = sorted(set(modules) | set(imported_by(modules)))
    return code_digest(path for name in names if (path := module_path(name)))


def code_digest(paths: Iterable[Path]) -> str:
    """SHA-256 of the code in `paths`, without comments, docstrings and layout."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.stem}\n{_code(path)}\n".encode())
    return digest.hexdigest()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _git(*arguments: str, checkout: Path | None = None) -> str | None:
    command = ["git", "-C", str(checkout or _ROOT), *arguments]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


@cache
def _code(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        if documented and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
    return ast.unparse(tree)  # unlike ast.dump, the same text from every version of Python


def imported_by(modules: Iterable[str]) -> set[str]:
    """The transitive closure of the imports at the top of modules.

    An import inside a function is a choice that a run makes; what it chooses is for the caller to name.
    """
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        new = set(_direct_imports(waiting.pop())) - found - _PLANNING_ONLY
        found |= new
        waiting += new
    return found


def _direct_imports(module: str) -> Iterator[str]:
    path = module_path(module)
    if path is None:
        return
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, module)
            submodules = [f"{base}.{alias.name}" for alias in node.names]
            inside = [name for name in submodules if module_path(name)]
            # `from envs import twins` needs envs/twins.py; the package's own file only if a name is taken from it.
            names = inside if len(inside) == len(submodules) else [base, *inside]
        else:
            continue
        yield from (name for name in names if module_path(name))


def _absolute(node: ast.ImportFrom, module: str) -> str:
    if not node.level:
        return node.module
    package = module.split(".")[: -node.level]
    return ".".join([*package, *([node.module] if node.module else [])])


def module_path(name: str) -> Path | None:
    """The file of a module or package of this project, None for any other name."""
    package, *parts = name.split(".")
    if package not in PACKAGES:
        return None
    stem = PACKAGES[package].joinpath(*parts)
    candidates = (stem / "__init__.py", stem.with_suffix(".py"))
    return next((path for path in candidates if path.is_file()), None)
