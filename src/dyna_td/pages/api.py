"""The site's page of what `import dyna_td` offers, from signatures and docstrings."""

import inspect
import re

import dyna_td
from dyna_td import errors

_SECTION = re.compile(r"^(Args|Attributes|Raises|Returns):$", re.MULTILINE)


def page() -> str:
    """The page: each public name with its signature and docstring, and a class's public methods."""
    objects = {f"dyna_td.{name}": getattr(dyna_td, name) for name in sorted(dyna_td.__all__)}
    objects["dyna_td.errors.UserError"] = errors.UserError
    parts = ["# Python", "What `import dyna_td` offers. [Using](using.md#from-python) shows it at work."]
    for name, each in objects.items():
        parts += [f"## {name}", *_described(name.rpartition(".")[2], each)]
        if inspect.isclass(each):
            for key, member in vars(each).items():
                if not key.startswith("_") and (inspect.isfunction(member) or isinstance(member, property)):
                    parts += [f"### {name.rpartition('.')[2]}.{key}", *_described(key, member)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, each) -> list[str]:
    is_called = inspect.isfunction(each) or (inspect.isclass(each) and not issubclass(each, Exception))
    signature = [f"```python\n{name}{inspect.signature(each)}\n```"] if is_called else []
    return [*signature, _as_markdown(inspect.getdoc(each) or "")]


def _as_markdown(text: str) -> str:
    """A docstring, its sections as lists."""
    summary, *sections = _SECTION.split(text)
    parts = [summary.strip()]
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        items = re.sub(r"\n {3,}", " ", inspect.cleandoc(body)).splitlines()
        listed = "\n".join(re.sub(r"^(\*{0,2}\w+):", r"- `\1`:", item) for item in items if item.strip())
        parts.append(f"**{title}**\n\n{listed}")
    return "\n\n".join(filter(None, parts))
