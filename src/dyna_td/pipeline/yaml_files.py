"""Reading a YAML file against its schema: every mistake is one sentence with the file, the place and the remedy."""

import difflib
import json
import math
import re
import reprlib
from functools import cache
from pathlib import Path

import jsonschema
import yaml

from dyna_td.errors import UserError
from dyna_td.pipeline.files import ROOT
from dyna_td.registry import all_settings

_SCHEMA = ROOT / "experiments" / "schema.json"


_MOST_VALUES = 100_000  # in a file, each alias counted with all that it stands for
_MOST_BITS = 10_000  # of a whole number, which Python could otherwise not print
_LONGEST_FOUND = 80  # characters of what was found that a sentence repeats


class _CarefulLoader(yaml.SafeLoader):
    """A safe loader that tells where a value is not what YAML takes it for.

    It refuses a key written twice, of which YAML would silently keep the last, and aliases that never end.
    """

    def construct_document(self, node):
        _count_values(node, {})
        return super().construct_document(node)

    def construct_object(self, node, deep=False):
        try:
            value = super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError) as error:  # such as the thirtieth of February, !!bool perhaps
            raise _problem(f"a value that is no {node.tag.rpartition(':')[2]} ({error})", node) from error
        if isinstance(value, int) and value.bit_length() > _MOST_BITS:
            raise _problem(f"a whole number of more than {_MOST_BITS:,} bits", node)
        return value

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value if isinstance(node, yaml.MappingNode) else ():
            if isinstance(key, yaml.ScalarNode) and not key.tag.endswith(":merge"):
                if key.value in seen:
                    raise _problem(f"key {key.value!r} twice", key)
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def _problem(words: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(problem=words, problem_mark=node.start_mark)


def _count_values(node: yaml.Node, known: dict[int, int | None]) -> int:
    """How many values `node` stands for; `known` holds those of nodes seen before, None for those that contain it."""
    if id(node) not in known:
        known[id(node)] = None
        inside = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = [part for item in inside for part in (item if isinstance(item, tuple) else (item,))]
        known[id(node)] = 1 + sum(_count_values(part, known) for part in parts)
    count = known[id(node)]
    if count is None:
        raise _problem("an alias of what it is part of", node)
    if count > _MOST_VALUES:
        raise _problem(f"more than {_MOST_VALUES:,} values", node)
    return count


def read_checked(path: Path, definition: str) -> dict:
    """The contents of the YAML file at `path`, valid under `definition` (see `check`).

    Raises:
      UserError: for a file that is missing, is not YAML, repeats a key or breaks the schema.
    """
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), Loader=_CarefulLoader)
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; run this in the project's root folder.") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UserError(f"{path} is not valid YAML{where}: {problem}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8, see byte {error.start}: save it as such.") from error
    except RecursionError as error:
        raise UserError(f"{path} is not valid YAML: it is nested too deeply.") from error
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
    try:
        definitions = json.loads(_SCHEMA.read_text(encoding="utf-8"))["$defs"]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise UserError(
            f"{_SCHEMA} cannot be read ({error}), expected what YAML files may say: get it again with git."
        ) from error
    for name in all_settings():  # an agent's own settings stand with the agent, which knows their bounds
        definitions["settings"]["properties"].setdefault(name, {})
    return _Validator({"$ref": f"#/$defs/{definition}", "$defs": definitions})


def _order(error: jsonschema.ValidationError) -> tuple:
    """The outermost error first; a key that is misspelled explains the one that is missing."""
    return len(error.absolute_path), error.validator != "additionalProperties", str(error.absolute_path)


def _sentence(error: jsonschema.ValidationError) -> str:
    """Says what is wrong in the words of a person who edits the file."""
    place = ".".join(str(part) for part in error.absolute_path) or "the file"
    found = _shown(error.instance)
    is_found = f"has an entry {found}" if "propertyNames" in error.absolute_schema_path else f"is {found}"
    match error.validator:
        case "additionalProperties":
            allowed = list(error.schema["properties"])
            unknown = next(key for key in error.instance if key not in allowed)
            nearest = difflib.get_close_matches(str(unknown), allowed, n=1)
            hint = f"did you mean {nearest[0]!r}? " if nearest else ""
            return f"unknown key {reprlib.repr(unknown)} in {place}: {hint}allowed are {', '.join(allowed)}."
        case "required":
            missing = [key for key in error.validator_value if key not in error.instance]
            return f"{place} lacks {', '.join(missing)}."
        case "type":
            return f"{place} {is_found}, expected {_type_words(error.validator_value)}{_number_hint(error)}."
        case "enum":
            return f"{place} is {found}, expected one of {', '.join(error.validator_value)}."
        case "exclusiveMinimum":
            return f"{place} is {found}, expected a number above {error.validator_value}."
        case "minimum":
            return f"{place} is {found}, expected at least {error.validator_value}."
        case "maximum":
            return f"{place} is {found}, expected at most {error.validator_value}."
        case "pattern":
            return f"{place} {is_found}, expected {error.schema['description']}."
        case "minItems":
            otherwise = f", or {error.schema['description']}" if "description" in error.schema else ""
            return f"{place} is {found}, expected a list of at least {error.validator_value} values{otherwise}."
        case "minLength":
            return f"{place} is empty, expected text."
        case "dependentRequired":
            return f"{place}: {error.message}."
        case "maxItems":
            return f"{place} is {found}, expected a list of at most {error.validator_value} values."
        case "uniqueItems":
            return f"{place} is {found}, expected each value once."
        case "minProperties":
            return f"{place} is empty, expected at least {error.validator_value} entry."
    return f"{place} is {found}, against the rule {error.validator} of {_SCHEMA.name}."


def _shown(value: object) -> str:
    """What was found, as JSON, as far as it fits into a sentence."""
    text = json.dumps(value, default=str, skipkeys=True)
    return text if len(text) <= _LONGEST_FOUND else f"{text[:_LONGEST_FOUND]}..."


def _type_words(types: str | list[str]) -> str:
    words = {"object": "a mapping", "null": "nothing", "array": "a list", "string": "text", "integer": "a whole number"}
    types = [types] if isinstance(types, str) else types
    return " or ".join(words.get(name, f"a {name}") for name in types)


def _number_hint(error: jsonschema.ValidationError) -> str:
    """YAML 1.1 reads 1e-3 as text: a float needs a point and a signed exponent; and 5.0e+4 is no whole number."""
    value = error.instance
    match = re.fullmatch(r"([+-]?\d+(?:\.\d*)?)e([+-]?)(\d+)", value, re.IGNORECASE) if isinstance(value, str) else None
    if "integer" in error.validator_value:
        whole = float(value) if match or isinstance(value, float) else math.nan
        return f": write {int(whole)}" if whole.is_integer() and whole < 1e15 else ""
    if not match:
        return ""
    mantissa, sign, exponent = match.groups()
    mantissa += "" if "." in mantissa else ".0"
    return f": write {mantissa}e{sign or '+'}{exponent}"
