"""Missing and damaged files: one sentence on each, with the command that makes it anew."""

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import results

# The errors that reading a damaged file raises.
DAMAGE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, lzma.LZMAError)


@contextmanager
def naming_damage(path: Path, remedy: str) -> Iterator[None]:
    """Turns any damage that the block finds in `path` into one sentence, a UserError, that ends with `remedy`."""
    try:
        yield
    except OSError as error:
        # Libraries raise an OSError without a number for a damaged file, too.
        fault = f"cannot read {path}: {error.strerror}" if error.strerror else f"{path} is damaged"
        raise UserError(f"{fault}; {remedy}.") from error
    except DAMAGE as error:
        raise UserError(f"{path} is damaged; {remedy}.") from error


def pipeline_command(job: str, scale: str) -> str:
    """The command with which the pipeline makes the CSV of a run or sweep anew, however new it looks."""
    return f"snakemake --force {results.run_csv(scale, job)} --config scale={scale}"


def nothing_there(what: str, scale: str) -> UserError:
    """The error of a command that finds no `what` of a scale."""
    place = results.DIRECTORY / scale
    return UserError(f"{place} holds no finished {what}: make some, for example with `make figure_1 SCALE={scale}`.")
