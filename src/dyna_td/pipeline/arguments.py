"""What commands share in reading their command line."""

import argparse
import os
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import results

LONGEST_NAME = 230  # bytes, where file systems allow 255: temporary names, and those of what lies beside, are longer


class Parser(argparse.ArgumentParser):
    """An argument parser whose mistakes are told like all others."""

    def error(self, message: str):
        raise UserError(f"{message}; see `{self.prog} --help`.")


def require_output(path: Path) -> None:
    """Checks an `--output` before hours are spent on what is written there at their end.

    Raises:
      UserError: if its name is too long, or nothing can be written there.
    """
    length = len(os.fsencode(path.name))
    if length > LONGEST_NAME:
        raise UserError(f"--output has a name of {length} bytes, expected at most {LONGEST_NAME}: choose another.")
    results.require_writable(path)
