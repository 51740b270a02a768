"""Files that are whole or not there."""

import contextlib
import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[3]  # of the project


@contextlib.contextmanager
def write_whole(path: Path, mode: str = "w") -> Iterator[IO]:
    """Opens `path` for writing text (w) or bytes (wb): its old contents stay until the block ends without exception."""
    as_text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_of(path)
    try:
        with open(partial, mode, **as_text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave an empty file under the final name
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):  # a folder that cannot be written holds no partial file either
            partial.unlink()
        raise


def partial_of(path: Path) -> Path:
    """Where this process writes a file until it is whole; no suffix of results, so that no one takes it for one."""
    return path.with_name(f".{path.name}.{os.getpid()}.partial")


def remove_partial(path: Path) -> None:
    """Deletes what killed processes left of `path`."""
    for partial in path.parent.glob(f".{glob.escape(path.name)}.*.partial"):
        partial.unlink(missing_ok=True)
