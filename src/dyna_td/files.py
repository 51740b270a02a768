"""Files that are whole or not there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def write_whole(path: Path, mode: str = "w") -> Iterator[IO]:
    """Opens `path` for writing text (w) or bytes (wb): its old contents stay until the block ends without exception."""
    as_text = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, mode, **as_text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave an empty file under the final name
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
