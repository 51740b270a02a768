"""Where the project is, and files that are written whole or not at all."""

import contextlib
import errno
import glob
import importlib
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from dyna_td.errors import UserError

PACKAGE = Path(__file__).resolve().parents[1]  # dyna_td
ROOT = PACKAGE.parents[1]  # the project's, unless this is an installed wheel
IS_CHECKOUT = (ROOT / "experiments").is_dir()
# The environment of processes that import this checkout, and the user's own modules.
IMPORTS = {"PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), os.getenv("PYTHONPATH")]))}
MAX_FILE_NAME = 230  # bytes; file systems allow 255, and temporary files have longer names


def import_figure(script: str) -> Any:
    """A script of figures/ as a module; a checkout has them, an installed wheel does not."""
    folder = str(ROOT / "figures")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(script)


@contextlib.contextmanager
def write_whole(path: Path) -> Iterator[IO[bytes]]:
    """Opens `path` for writing bytes: its old contents stay until the block ends without exception."""
    path = _followed(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # No result has this suffix, so nobody mistakes the file for a result.
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave an empty file under the final name
        os.replace(partial, path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # a read-only folder holds no partial file
            partial.unlink()
        if isinstance(error, OSError) and error.errno and not error.filename:  # the error of a full disk names no file
            error.filename = str(path)
        raise


def write(path: Path, content: str | bytes) -> None:
    """Writes a file whole."""
    with write_whole(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def _followed(path: Path) -> Path:
    """The place of the file that `path` leads to, if it is a link, which then stays."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def remove_partial(path: Path) -> None:
    """Deletes the partial files of `path` that killed processes left."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        partial.unlink(missing_ok=True)


def require_writable(path: Path) -> None:
    """Makes the folder of `path`, and tries to write there before hours of work depend on it.

    Raises:
      UserError: if nothing can be written at `path`, or its name is too long.
    """
    path = _followed(path)
    length = len(os.fsencode(path.name))
    if length > MAX_FILE_NAME:
        raise UserError(f"{path.name} is a name of {length} bytes, expected at most {MAX_FILE_NAME}: choose another.")
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except FileExistsError as error:
        raise UserError(f"cannot write {path}: {error.filename} is not a folder; choose another place.") from error
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}; choose another place.") from error
