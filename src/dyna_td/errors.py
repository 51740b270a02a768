"""The one exception that a user is meant to read, and the search for the nearest valid choice."""

import difflib
import reprlib
from collections.abc import Iterable


class UserError(Exception):
    """Bad input, in one sentence: the mistake, its place, the expected value, the remedy.

    The command line prints the sentence and exits with status 2; no traceback is shown.
    """


def require_choice(value: object, choices: Iterable[str], what: str) -> str:
    """Returns `value` if it is one of `choices`.

    Raises:
      UserError: naming the nearest valid choice and all others.
    """
    choices = list(choices)
    if isinstance(value, str) and value in choices:
        return value
    folded = {choice.lower(): choice for choice in choices}
    nearest = difflib.get_close_matches(str(value).lower(), folded, n=1, cutoff=0.5)
    hint = f"did you mean {folded[nearest[0]]!r}? " if nearest else ""
    raise UserError(f"unknown {what} {reprlib.repr(value)}: {hint}choose one of {', '.join(choices)}.")
