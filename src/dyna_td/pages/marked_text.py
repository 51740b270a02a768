"""Tables, and the generated parts of a page written by hand: each stands between two comments that name it."""

import re
from collections.abc import Iterable
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.records.files import write


def marks(part: str) -> tuple[str, str]:
    """The comments around `part`, each on a line of its own."""
    return f"<!-- {part} -->", f"<!-- end of {part} -->"


def replace(path: Path, parts: dict[str, str]) -> None:
    """Puts each of `parts`, lines of text by name, between its marks in the file at `path`: all or none."""
    text = path.read_text(encoding="utf-8")
    for part, content in parts.items():
        begin, end = marks(part)
        place = f"{re.escape(begin)}\n.*?{re.escape(end)}"
        around = re.split(place, text, flags=re.DOTALL)
        count = len(around) - 1
        if count != 1:
            raise UserError(f"{path} has {count} places for {part}, expected 1: put {begin} and {end} on lines there.")
        text = f"{begin}\n{content}{end}".join(around)
    write(path, text)


def escaped(text: str) -> str:
    """`text` without bars, asterisks and angle brackets that Markdown would read as its own."""
    return text.replace("|", "&#124;").replace("*", "&#42;").replace("<", "&lt;")


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
