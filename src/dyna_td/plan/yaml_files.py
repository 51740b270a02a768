"""Reading a YAML file against its schema: every mistake is one sentence with the file and the place."""

import difflib
import json
import math
import re
import reprlib
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from dyna_td.errors import UserError
from dyna_td.records.files import ROOT

_SCHEMA = ROOT / "experiments" / "schema.json"


class _Loader(yaml.CSafeLoader):
    """YAML 1.2, where 1e-3 is a number and `no` is text; a key written twice is a mistake."""

    yaml_implicit_resolvers = {}  # noqa: RUF012, as PyYAML has it

    def construct_mapping(self, node, deep=False):
        keys = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if repeated := [key for key in keys if keys.count(key) > 1]:
            raise yaml.constructor.ConstructorError(None, None, f"key {repeated[0]!r} twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _number(_, node: yaml.Node) -> int | float | str:
    """A whole number as an integer, however it is written (5e4); text where it is not finite."""
    number = float(node.value)
    if not math.isfinite(number):
        return node.value
    return int(number) if number.is_integer() else number


for _tag, _pattern in {
    "null": r"~|null|Null|NULL|",
    "bool": r"true|True|TRUE|false|False|FALSE",
    "float": r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?",
    "merge": r"<<",
}.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"(?:{_pattern})$"), None)
_Loader.add_constructor("tag:yaml.org,2002:float", _number)


def read_checked(path: Path, definition: str) -> dict:
    """The contents of a YAML file; a UserError unless they fit `definition` (`figure`, ...) of the schema."""
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; write the file, or get it back with git.") from error
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UserError(f"{path} is not valid YAML{where}: {problem}.") from error
    if first := min(_validator(definition).iter_errors(content), key=_order, default=None):
        raise UserError(f"{path}: {_sentence(first)}")
    return content


@cache
def _validator(definition: str) -> jsonschema.Draft202012Validator:
    definitions = json.loads(_SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions})


def _order(error: jsonschema.ValidationError) -> tuple:
    """Sorts the outermost error first, and a misspelled key before the missing key that it explains."""
    return len(error.absolute_path), error.validator != "additionalProperties", str(error.absolute_path)


_KINDS = {"integer": "a whole number", "number": "a number", "string": "a text", "array": "a list"}
_KINDS |= {"object": "keys with values, as `key: value`", "boolean": "true or false"}


def _sentence(error: jsonschema.ValidationError) -> str:
    place = ".".join(str(part) for part in error.absolute_path) or "the file"
    schema: Any = error.schema
    instance: Any = error.instance
    if error.validator == "additionalProperties":
        allowed = list(schema["properties"])
        unknown = next(key for key in instance if key not in allowed)
        nearest = difflib.get_close_matches(str(unknown), allowed, n=1)
        hint = f"did you mean {nearest[0]!r}? " if nearest else ""
        return f"unknown key {unknown!r} in {place}: {hint}allowed are {', '.join(allowed)}."
    if error.validator == "required":
        return f"{place} lacks {next(key for key in schema['required'] if key not in instance)!r}: add it."
    found = reprlib.repr(instance)
    description = schema.get("description") or (_KINDS.get(str(schema["type"])) if error.validator == "type" else None)
    problem = f"expected {description}" if description else error.message.replace(repr(instance), "it")
    return f"{place} is {found}: {problem}."
