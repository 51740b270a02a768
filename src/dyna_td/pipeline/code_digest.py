"""A digest of the code that can change a run's numbers: the definitions that the run reaches, wherever they stand.

A definition is a function, a method, a module's constant, or a class with its header and constants. The search starts
from the classes that a run loads by name, and follows names through imports. Methods are found by name alone: a reached
class counts with the methods that any reached code mentions. A class that extends another library's counts whole,
because that library calls its methods.

The text of a definition has no comments, docstrings, annotations, error messages, prints or warnings. Each name of
another definition in it is replaced by the hash of that definition's text. So moves and renames change nothing, and a
changed body changes the digests of the runs that reach it, and no other.

Settings are left out, because they are compared as data. Checkpoints, progress and errors are guarded by tests.
"""

import ast
import copy
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from dyna_td.pipeline.files import IS_CHECKOUT, PACKAGE, ROOT

PACKAGES = {"dyna_td": PACKAGE, "envs": (ROOT if IS_CHECKOUT else PACKAGE.parent) / "envs"}
OWN_FOLDERS: set[Path] = set()  # hold modules of the user's own, see `own_code`
LEFT_OUT = (
    *("dyna_td.settings", "dyna_td.registry", "dyna_td.errors"),
    *("dyna_td.training.progress", "dyna_td.training.checkpoint"),
)
ENTRIES = ("train", "evaluate", "measure")  # methods of a program that the trainer calls
_PLAIN_BASES = {"tf.Module", "NamedTuple", "ABC", "object"}  # foreign classes that call no methods of subclasses
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Definition(NamedTuple):
    """The place of a definition: `dyna_td.learning.replay`, `Replay.add`; a class alone stands for its header."""

    module: str
    name: str


@cache
def code_digest(entries: tuple[str, ...]) -> str:
    """SHA-256 of all definitions that `entries` reach, each written as "module:name"."""
    texts = sorted(_text(found) for found in reached(entries))
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def files_digest(paths: Iterable[Path]) -> str:
    """SHA-256 of files."""
    return hashlib.sha256(b"\n".join(path.read_bytes() for path in paths)).hexdigest()


def reached(entries: Iterable[str]) -> set[Definition]:
    """The definitions that `entries` ("module:name") reach, themselves included."""
    found: set[Definition] = set()
    methods: dict[str, list[Definition]] = {}  # of reached classes, by name, until some reached code mentions them
    mentioned = set(ENTRIES)
    waiting = [Definition(*entry.split(":")) for entry in entries]
    while waiting:
        new = waiting.pop()
        if new in found:
            continue
        found.add(new)
        _, references, names = _written(new)
        waiting += _followed(references)
        mentioned |= names
        for name, definition in _methods(new):
            methods.setdefault(name, []).append(definition)
        for name in mentioned & methods.keys():
            waiting += methods.pop(name)
    return found


def has_source(entry: str) -> bool:
    """Whether `entry` ("module:name") is a definition of this project, or of the user's own code, in its source."""
    module, name = Definition(*entry.split(":"))
    home = find_module(module)
    return home is not None and name.partition(".")[0] in home.definitions


@cache
def find_module(name: str) -> "_Module | None":
    """The module called `name` of this project or of the user's own, None for any other name."""
    package, *parts = name.split(".")
    places = [PACKAGES[package]] if package in PACKAGES else [folder / package for folder in sorted(OWN_FOLDERS)]
    stems = [place.joinpath(*parts) for place in places]
    files = (path for stem in stems for path in (stem / "__init__.py", stem.with_suffix(".py")))
    path = next((path for path in files if path.is_file()), None)
    return _Module(name, path) if path else None


def _home(name: str) -> "_Module":
    """The module that holds a definition of this project."""
    module = find_module(name)
    assert module, f"{name} is no module of this project"
    return module


class _Module:
    """A module's definitions by name, each as its statements, and the names that its imports bind."""

    def __init__(self, name: str, path: Path):
        self.name = name
        self.path = path
        self.place = [*name.split("."), *(["__init__"] if path.stem == "__init__" else [])]
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.imports = self.bound_by(self.tree.body)
        for statement in self.tree.body:
            for defined in _defined(statement):
                self.definitions.setdefault(defined, []).append(statement)

    def bound_by(self, body: Iterable[ast.AST]) -> dict[str, str]:
        """This project's names that imports among the statements bind, as "module" or "module:name"."""
        bound: dict[str, str] = {}
        for node in body:
            if isinstance(node, ast.Import):
                for each in node.names:
                    if find_module(each.name):
                        bound[each.asname or each.name] = each.name
                        if not each.asname:  # `import a.b` binds a
                            top = each.name.partition(".")[0]
                            bound[top] = top
            elif isinstance(node, ast.ImportFrom):
                above = self.place[: -node.level] if node.level else []  # a user's import can be relative
                source = ".".join(filter(None, [*above, node.module]))
                for each in node.names:
                    inside = f"{source}.{each.name}"
                    if find_module(inside):
                        bound[each.asname or each.name] = inside
                    elif find_module(source):
                        bound[each.asname or each.name] = f"{source}:{each.name}"
        return bound

    def resolve(self, dotted: str, imports: dict[str, str]) -> Definition | None:
        """The definition of this project that a dotted name stands for, or None; parts of a definition are none."""
        first, *rest = dotted.split(".")
        target = imports.get(first) or (f"{self.name}:{first}" if first in self.definitions else "")
        while target and ":" not in target:  # a module, which holds the next name
            if not rest:
                return None
            inside = f"{target}.{rest[0]}"
            target, rest = inside if find_module(inside) else f"{target}:{rest[0]}", rest[1:]
        if not target or rest:
            return None
        module, name = target.split(":")
        home = _home(module)
        if name in home.definitions:
            return Definition(module, name)
        return home.resolve(name, home.imports) if name in home.imports else None


def _defined(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement at the top of a module defines or changes."""
    if isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
        yield statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def _statements(definition: Definition) -> list[ast.stmt]:
    """The statements of a definition: a method's own, a class's with all its methods."""
    name, _, method = definition.name.partition(".")
    statements = _home(definition.module).definitions[name]
    if method:
        owner: Any = statements[-1]  # a class, or a function with a class in it
        return [each for each in owner.body if isinstance(each, _FUNCTIONS) and each.name == method]
    return statements


def _methods(definition: Definition) -> Iterator[tuple[str, Definition]]:
    """A class's methods, each with the name that reaches it: `ENTRIES[0]` if Python or a foreign base may call it."""
    for statement in _statements(definition) if "." not in definition.name else ():
        if isinstance(statement, ast.ClassDef):
            is_foreign = any(
                ast.unparse(base) not in _PLAIN_BASES and not _resolved(definition, base) for base in statement.bases
            )
            for method in statement.body:
                if isinstance(method, _FUNCTIONS):
                    is_called = is_foreign or method.name.startswith("__")
                    place = Definition(definition.module, f"{definition.name}.{method.name}")
                    yield ENTRIES[0] if is_called else method.name, place


def _resolved(definition: Definition, base: ast.expr) -> Definition | None:
    home = _home(definition.module)
    return home.resolve(ast.unparse(base), home.imports)


@cache
def _written(definition: Definition) -> tuple[str, tuple[Definition, ...], frozenset[str]]:
    """A definition's text with placeholders `_0__0`, ...; the definitions in their places; names that it may call."""
    home, lines = _home(definition.module), []
    references: list[Definition] = []
    names: set[str] = set()
    for statement in _statements(definition):
        node = copy.deepcopy(statement)
        if isinstance(node, ast.ClassDef):
            node.body = [each for each in node.body if not isinstance(each, _FUNCTIONS)] or [ast.Pass()]
        if "." not in definition.name and isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            node.name = "_"
        node = ast.fix_missing_locations(_Canonical(home, definition, references).visit(node))
        lines.append(ast.unparse(node))
        for part in ast.walk(node):
            if isinstance(part, ast.Attribute):
                names.add(part.attr)
            elif isinstance(part, ast.Constant) and isinstance(part.value, str):
                names.add(part.value)  # getattr takes names as text
    return "\n".join(lines), tuple(references), frozenset(names)


def _followed(references: Iterable[Definition]) -> list[Definition]:
    return [each for each in references if not each.module.startswith(LEFT_OUT)]


def _blank(definition: Definition) -> str:
    return re.sub(r"\b_\d+_(?=_)", "_", _written(definition)[0])


@cache
def _text(definition: Definition) -> str:
    """A definition's text, with hashes for the definitions that it mentions; a method's comes after its class's."""
    text, references, _ = _written(definition)

    def hashed(match: re.Match) -> str:
        reference = references[int(match[1])]
        return f"_{hashlib.sha256(_blank(reference).encode()).hexdigest()[:16]}" if _followed([reference]) else "_"

    owner, _, method = definition.name.partition(".")
    within = f"{_blank(Definition(definition.module, owner))}\n" if method else ""
    return within + re.sub(r"\b_(\d+)_(?=_)", hashed, text)


class _Canonical(ast.NodeTransformer):
    """Rewrites a statement to a text of its computation alone."""

    def __init__(self, home: _Module, own: Definition, references: list[Definition]):
        self.home, self.own, self.references = home, own, references
        self.imports = dict(home.imports)
        self.scopes: list[set[str]] = []

    def visit_ClassDef(self, node):
        node.body = [self._field(each) for each in node.body]
        return self._with_body(self.generic_visit(node))

    def _field(self, statement: ast.stmt) -> ast.stmt:
        """A field of a tuple or a dataclass, without its type: its name and its order count."""
        if isinstance(statement, ast.AnnAssign) and statement.value is None:
            return ast.Expr(ast.List([ast.Constant(ast.unparse(statement.target))], ast.Load()))
        return statement

    def visit_FunctionDef(self, node):
        node.returns = None
        inner = [each for each in ast.walk(node) if isinstance(each, (ast.Import, ast.ImportFrom))]
        self.imports |= self.home.bound_by(inner)
        return self._in_scope(node, self._bound(node), self._with_body)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node):
        return self._in_scope(node, self._bound(node))

    def visit_comprehension_scope(self, node):
        bound = {name.id for part in node.generators for name in ast.walk(part.target) if isinstance(name, ast.Name)}
        return self._in_scope(node, bound)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_comprehension_scope

    def _in_scope(self, node, bound: set[str], finish=lambda node: node):
        decorators = [self.visit(each) for each in getattr(node, "decorator_list", ())]
        if decorators:
            node.decorator_list = []
        self.scopes.append(bound)
        node = finish(self.generic_visit(node))
        self.scopes.pop()
        if decorators:
            node.decorator_list = decorators
        return node

    def _bound(self, node) -> set[str]:
        """The parameters and local names of a function, without those of its inner functions."""
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        bound = {argument.arg for argument in every if argument}
        waiting = [*node.body] if isinstance(node.body, list) else [node.body]
        while waiting:
            part = waiting.pop()
            if isinstance(part, (*_FUNCTIONS, ast.ClassDef)):
                bound.add(part.name)
                continue
            if isinstance(part, (ast.Lambda, *_COMPREHENSIONS)):
                continue
            if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                bound.add(part.id)
            waiting += ast.iter_child_nodes(part)
        return bound

    @staticmethod
    def _with_body(node):
        node.body = node.body or [ast.Pass()]
        return node

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        if node.value is None:
            return None
        return self.generic_visit(ast.Assign([node.target], node.value))

    def visit_Import(self, node):
        return None

    visit_ImportFrom = visit_Import

    def visit_Raise(self, node):
        return ast.Raise(None, None)

    def visit_Expr(self, node):
        value = node.value
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        is_said = isinstance(value, ast.Call) and ast.unparse(value.func) in ("print", "warnings.warn")
        return None if is_text or is_said else self.generic_visit(node)

    def visit_If(self, node):
        node = self.generic_visit(node)
        return self._with_body(node)

    visit_For = visit_While = visit_With = visit_ExceptHandler = visit_If

    def visit_Attribute(self, node):
        parts = ast.unparse(node)
        first = parts.partition(".")[0]
        if parts.replace(".", "_").isidentifier() and not self._is_local(first):
            reference = self.home.resolve(parts, self.imports)
            if reference:
                return ast.Name(self._placeholder(reference), ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node):
        if self._is_local(node.id):
            return node
        reference = self.home.resolve(node.id, self.imports)
        return ast.Name(self._placeholder(reference), node.ctx) if reference else node

    def _is_local(self, name: str) -> bool:
        return any(name in scope for scope in self.scopes)

    def _placeholder(self, reference: Definition) -> str:
        """`_k__p`: the p-th name that the k-th reference defines; a definition's own name becomes `_ownp`."""
        place = [*_defined(_home(reference.module).definitions[reference.name][0])].index(reference.name)
        if reference == (self.own.module, self.own.name.partition(".")[0]):
            return f"_own{place}"
        self.references.append(reference)
        return f"_{len(self.references) - 1}__{place}"
