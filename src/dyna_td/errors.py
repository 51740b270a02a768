"""The exception for users' mistakes, the check of a value's choices, and the sentence for exhausted memory or disk."""

import difflib
import re
import reprlib
import sys
from collections.abc import Callable, Iterable


class UserError(Exception):
    """Bad input, described in one sentence: what, where, what was expected, what to do.

    The command line prints the sentence without a traceback and exits with status 2.
    """


def of_exhaustion(error: BaseException) -> str | None:
    """The sentence for exhausted memory, of any library that is loaded, or for a disk that TensorFlow found full."""
    chain = [error]
    while following := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(following)
    if any("No space left on device" in str(each) for each in chain):  # TensorFlow's name for it is that of memory
        return "error: the disk is full: free some space; the same command continues."
    is_of_it = any(
        isinstance(each, MemoryError)
        or type(each).__name__ == "ResourceExhaustedError"
        or re.search("failed to map segment|annot allocate memory|can't start new thread", str(each))
        for each in chain
    )
    remedy = "train fewer --seeds at once, choose a smaller --buffer-capacity or --batch-size, or raise the limit"
    return f"error: memory ran out: {remedy} (ulimit -v); unfinished files are not written." if is_of_it else None


def exit_status(action: Callable[[], object]) -> int:
    """Calls `action`; a mistake of the user is one sentence and status 2, Ctrl-C is status 130."""
    try:
        action()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted: nothing is written.", file=sys.stderr)
        return 130
    return 0


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
