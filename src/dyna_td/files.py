"""Files that are whole or not there."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


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
    """Where a file is written until it is whole: always the same place, so that kills leave one such file at most."""
    return path.with_name(f".{path.stem}.partial{path.suffix}")
