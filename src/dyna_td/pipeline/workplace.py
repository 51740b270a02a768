"""A folder beside a result while it is made: one maker at a time, and a place for what libraries write meanwhile."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from dyna_td.pipeline import lock


@contextlib.contextmanager
def workplace(path: Path) -> Iterator[None]:
    """Holds the folder of `path` for this process, with all temporary files in it, and deletes it at the end.

    TensorFlow writes the loops that it generates into temporary files. What a killed process left is deleted first.

    Raises:
      UserError: if another process is making `path`.
    """
    folder = path.absolute().with_name(f".{path.name}.work")
    folder.mkdir(exist_ok=True)
    key = folder / "lock"
    lock.hold(key, f"another process is making {path}")
    for left in folder.iterdir():
        if left != key:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    before = tempfile.tempdir
    with contextlib.suppress(UnicodeEncodeError):  # TensorFlow reads no file whose name the locale cannot spell
        str(folder).encode()
        tempfile.tempdir = str(folder)
    try:
        yield
    finally:
        tempfile.tempdir = before
        with contextlib.suppress(OSError):  # a folder that cannot be written any more keeps it
            shutil.rmtree(folder)
