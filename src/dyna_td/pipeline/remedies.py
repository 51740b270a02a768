"""What to do about a file that is missing or damaged: the commands that make it anew, and how that is told."""

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import results

# How damage shows where a file is read: in its bytes, in its form, in a value, or in what it lacks.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, lzma.LZMAError)


@contextmanager
def told_if_damaged(path: Path, remedy: str) -> Iterator[None]:
    """Tells in one sentence, which ends with `remedy`, that the block could not make sense of the file at `path`.

    Raises:
      UserError: if the file is missing, or the block ends with an error of `DAMAGE` or a UserError.
    """
    try:
        yield
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}; {remedy}.") from error
    except UserError as error:
        raise UserError(f"{path} is damaged ({str(error).rstrip('.')}); {remedy}.") from error
    except DAMAGE as error:
        raise UserError(f"{path} is damaged; {remedy}.") from error


def training(run: str, scale: str, directory: Path = results.DIRECTORY, verb: str = "run") -> str:
    """The command that trains a run of the plan anew, or with the verb `select` its sweep, below `directory`."""
    place = "" if Path(directory) == results.DIRECTORY else f" --results {directory}"
    return f"python -m dyna_td {verb} {run} --scale {scale}{place}"


def pipeline(csv: Path, scale: str) -> str:
    """The command that has the pipeline make `csv` anew, also if its times look as if nothing were to be done."""
    return f"snakemake --force {csv} --config scale={scale}"


def nothing_there(what: str, scale: str, directory: Path) -> UserError:
    """Says that there is none of `what` below the results' `directory`, where a command was to look at some."""
    return UserError(
        f"{Path(directory) / scale} holds no finished {what}: make some, for example with "
        f"`make figure_1 SCALE={scale}`, or name the folder of your results with --results."
    )
