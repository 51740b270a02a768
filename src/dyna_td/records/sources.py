"""A digest of the sources behind a run. When it changes, Snakemake trains the run again.

It is coarse: it covers the modules that the run's program, agent, learner and environment import, directly or not, as
plain text without comments, docstrings and annotations. `beginnings` compares the numbers themselves, to find whether
an edit changed them.
"""

import ast
import hashlib
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import gymnasium

from dyna_td.errors import UserError
from dyna_td.records.files import PACKAGE, ROOT
from dyna_td.runs.registry import ENVIRONMENTS, entries_of, has_twin
from dyna_td.runs.run import Run

# The parts of the project that compute numbers. Registry, settings, plans and pictures compute none.
_ROOMS = ("agents", "learning", "search", "measures", "theory", "programs", "envs")
SCIENCE = tuple(f"dyna_td.{room}" for room in _ROOMS)
PROJECT = ("dyna_td",)


def run_digest(run: Run) -> str:
    """The `digest` of the sources behind a run."""
    return digest(modules_of(run))


def modules_of(run: Run) -> set[str]:
    """The modules that import, directly or not, all code behind the numbers of `run`."""
    found = {entry.partition(":")[0] for entry in entries_of(run)}
    if run.environment in ENVIRONMENTS or has_twin(run.environment):
        return found
    # Another environment has the module that was named, and that of its class.
    module, _, name = run.environment.rpartition(":")
    entry = gymnasium.spec(name).entry_point
    own = {module, entry.partition(":")[0] if isinstance(entry, str) else entry.__module__}
    return found | own & sys.modules.keys()


def digest(modules: Iterable[str], within: tuple[str, ...] = SCIENCE) -> str:
    """SHA-256 of these modules and of those `within` these packages, or of the user's own, that they import."""
    paths = sorted(files(modules, within).items())
    return hashlib.sha256("\n".join(f"{name}\n{_text(path)}" for name, path in paths).encode()).hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """SHA-256 of files; of a Python file as `digest` reads it."""
    parts = (_text(path).encode() if path.suffix == ".py" else path.read_bytes() for path in paths)
    return hashlib.sha256(b"\n".join(parts)).hexdigest()


def files(modules: Iterable[str], within: tuple[str, ...] = SCIENCE) -> dict[str, Path]:
    """The files of these modules and of all that they import, see `digest`, by the module's name."""
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        path = None if name in found else file_of(name, within)
        if path:
            found[name] = path
            waiting += _imports(name, path)
    return found


def file_of(module: str, within: tuple[str, ...] = SCIENCE) -> Path | None:
    """The file of a module `within` these packages, or of the user's own; None for others, such as libraries."""
    top, *parts = module.split(".")
    if top == "dyna_td":
        if not any(f"{module}.".startswith(f"{room}.") for room in within):
            return None
        places = [folder.joinpath(*parts) for folder in (PACKAGE, ROOT)]  # envs/ of a checkout is in ROOT
        asked = (path for place in places for path in (place / "__init__.py", place.with_suffix(".py")))
        return next((path for path in asked if path.is_file()), None)
    source = getattr(sys.modules.get(module), "__file__", None)
    path = Path(source or "")
    is_library = top in sys.stdlib_module_names or {"site-packages", "dist-packages"} & set(path.parts)
    return path if path.suffix == ".py" and not is_library else None


def docstring(path: str) -> str:
    """The docstring of the class "module:class" of `SCIENCE`, or of the user's own, without an import of its module.

    Without a class it is the module's.
    """
    module, _, name = path.partition(":")
    place = file_of(module)
    if not place:
        return ""
    tree = _tree(place)
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name]
    return next((text for node in (classes if name else [tree]) if (text := ast.get_docstring(node))), "")


def imports(paths: Iterable[Path]) -> set[str]:
    """The modules that the import statements of these files name."""
    return {module for path in paths for module in _imports("", path)}


@cache
def _imports(name: str, path: Path) -> list[str]:
    """The modules that a file's import statements name, those within functions included."""
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    found = []
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            found += [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else []
            source = ".".join(filter(None, [*above, node.module]))
            found += [source, *(f"{source}.{each.name}" for each in node.names)]
    return found


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except SyntaxError as error:
        raise UserError(f"{path}, line {error.lineno}: {error.msg}.") from error


@cache
def _text(path: Path) -> str:
    return ast.unparse(_Bare().visit(_tree(path)))


class _Bare(ast.NodeTransformer):
    """Removes docstrings and annotations from a tree, which has no comments anyway."""

    def visit_Expr(self, node):
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else self.generic_visit(node)

    def visit_AnnAssign(self, node):
        return ast.Assign([node.target], node.value, lineno=0) if node.value else ast.Expr(node.target)

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_FunctionDef(self, node):
        node.returns = None
        return self.generic_visit(node)
