"""Reading a YAML file against its schema: every mistake is one sentence with the file, the place and the remedy."""

import difflib
import json
import math
import re
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from dyna_td.errors import UserError

_SCHEMA = Path(__file__).resolve().parents[2] / "experiments" / "schema.json"


class _UniqueKeyLoader(yaml.SafeLoader):
    """A safe loader that refuses a key written twice, of which YAML would silently keep the last."""

    def construct_mapping(self, node, deep=False):
        keys = [key_node.value for key_node, _ in node.value if key_node.tag != "tag:yaml.org,2002:merge"]
        for index, (key, (key_node, _)) in enumerate(zip(keys, node.value, strict=False)):
            if key in keys[:index]:
                raise yaml.constructor.ConstructorError(problem=f"key {key!r} twice", problem_mark=key_node.start_mark)
        return super().construct_mapping(node, deep)


def read_checked(path: Path, definition: str) -> dict:
    """The contents of the YAML file at `path`, valid under `definition` (see `check`).

    Raises:
      UserError: for a file that is missing, is not YAML, repeats a key or breaks the schema.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_UniqueKeyLoader)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run this in the project's root folder.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise UserError(f"{path} is not valid YAML{where}: {getattr(error, 'problem', error)}.") from error
    check(content, definition, str(path))
    return content


def check(content: object, definition: str, where: str) -> None:
    """Checks `content` against `definition` (`figure`, `scales` or `settings`) of `experiments/schema.json`.

    Raises:
      UserError: naming `where`, the place inside it, what was found and what is allowed.
    """
    first = min(_validator(definition).iter_errors(content), key=_order, default=None)
    if first:
        raise UserError(f"{where}: {_sentence(first)}")


def _is_integer(_, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(_, value: object) -> bool:
    return _is_integer(_, value) or (isinstance(value, float) and math.isfinite(value))


# Stricter than JSON Schema, which takes 50.0 for a whole number and knows no infinity.
_Validator = jsonschema.validators.extend(
    jsonschema.Draft202012Validator,
    type_checker=jsonschema.Draft202012Validator.TYPE_CHECKER.redefine_many(
        {"integer": _is_integer, "number": _is_number}
    ),
)


@cache
def _validator(definition: str) -> jsonschema.Draft202012Validator:
    definitions = json.loads(_SCHEMA.read_text(encoding="utf-8"))["$defs"]
    return _Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions})


def _order(error: jsonschema.ValidationError) -> tuple:
    """The outermost error first; a key that is misspelled explains the one that is missing."""
    return len(error.absolute_path), error.validator != "additionalProperties", str(error.absolute_path)


def _sentence(error: jsonschema.ValidationError) -> str:
    """Says what is wrong in the words of a person who edits the file."""
    place = ".".join(str(part) for part in error.absolute_path) or "the file"
    found = json.dumps(error.instance)
    match error.validator:
        case "additionalProperties":
            allowed = list(error.schema["properties"])
            unknown = next(key for key in error.instance if key not in allowed)
            nearest = difflib.get_close_matches(str(unknown), allowed, n=1)
            hint = f"did you mean {nearest[0]!r}? " if nearest else ""
            return f"unknown key {unknown!r} in {place}: {hint}allowed are {', '.join(allowed)}."
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            return f"{place} lacks {', '.join(missing)}."
        case "type":
            return f"{place} is {found}, expected {_type_words(error.validator_value)}{_number_hint(error.instance)}."
        case "exclusiveMinimum":
            return f"{place} is {found}, expected a number above {error.validator_value}."
        case "minimum":
            return f"{place} is {found}, expected at least {error.validator_value}."
        case "maximum":
            return f"{place} is {found}, expected at most {error.validator_value}."
        case "pattern":
            return f"{place} has an entry {found}, expected a name of small letters, digits and underscores."
        case "minItems":
            return f"{place} is {found}, expected a list of at least {error.validator_value} values."
        case "minProperties":
            return f"{place} is empty, expected at least {error.validator_value} entry."
    return f"{place}: {error.message}."


def _type_words(types: str | list[str]) -> str:
    words = {"object": "a mapping", "null": "nothing", "array": "a list", "string": "text", "integer": "a whole number"}
    types = [types] if isinstance(types, str) else types
    return " or ".join(words.get(name, f"a {name}") for name in types)


def _number_hint(value: object) -> str:
    """YAML 1.1 reads 1e-3 as text: a float needs a point and a signed exponent."""
    match = re.fullmatch(r"([+-]?\d+(?:\.\d*)?)e([+-]?)(\d+)", value, re.IGNORECASE) if isinstance(value, str) else None
    if not match:
        return ""
    mantissa, sign, exponent = match.groups()
    mantissa += "" if "." in mantissa else ".0"
    return f": write {mantissa}e{sign or '+'}{exponent}"
