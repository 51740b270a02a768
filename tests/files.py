"""File helpers for tests of several folders, without TensorFlow."""

import itertools
import os
import subprocess
import sys

import pandas as pd
import pytest

from dyna_td.errors import UserError
from dyna_td.records.files import IMPORTS


def edit(path, old, new):
    """Replaces the first `old` of the file at `path`."""
    text = path.read_text()
    assert old in text, f"{path} has no {old}"
    path.write_text(text.replace(old, new, 1))


def files_of(directory):
    """The bytes of every file below `directory`, by its place there."""
    return {path.relative_to(directory): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def rows_of(value, **keys):
    """A table with a row for each combination of the keys' values, and `value` of it in the last column."""
    rows = [(*each, value(*each)) for each in itertools.product(*keys.values())]
    return pd.DataFrame(rows, columns=[*keys, "value"])


def tiers(names, quick):
    """The names as test cases; `make test` runs only the quick ones."""
    assert {*quick} <= {*names}
    return [name if name in quick else pytest.param(name, marks=pytest.mark.thorough) for name in names]


def error_of(main, arguments, capsys):
    """The one line with which the command `main` refuses its arguments; it must print nothing else."""
    capsys.readouterr()  # drops the output of earlier commands
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    return err


def sentence_of(load, *arguments):
    """The one sentence with which `load` refuses its arguments."""
    with pytest.raises(UserError) as error:
        load(*arguments)
    sentence = str(error.value)
    assert "\n" not in sentence and sentence.endswith(".")
    return sentence


def python(*arguments, **options):
    """Runs this environment's Python on this checkout's sources; returns the finished process."""
    options = {"env": os.environ | IMPORTS, "capture_output": True, "text": True} | options
    return subprocess.run([sys.executable, *arguments], **options)
