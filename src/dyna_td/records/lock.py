"""Locks: one process at a time holds each, until it ends.

Snakemake's own lock is a file. A killed Snakemake leaves it behind, and a person must remove it, so profiles/default
turns it off. The locks here belong to open files: the system releases them when the process ends.
"""

import errno
import fcntl
import os
import socket
import sys
from pathlib import Path

from dyna_td.errors import UserError, exit_status

PATH = Path(".snakemake") / "pipeline.lock"
_REFUSALS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # raised by file systems that have no locks
PIPELINE = "another pipeline is at work in this folder"


def hold(path: Path = PATH, held: str = PIPELINE) -> None:
    """Keeps the lock at `path` until this process ends; jobs that it starts do not inherit it.

    Raises:
      UserError: another process has it. The sentence begins with `held`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)  # never closed: the end of the process does that
    _lock(handle, path, fcntl.LOCK_EX, held)
    os.ftruncate(handle, 0)
    os.write(handle, f"process {os.getpid()} on {socket.gethostname()}".encode())


def require_free() -> None:
    """Raises UserError if another pipeline is at work in this folder."""
    if PATH.exists():
        with PATH.open() as file:
            _lock(file.fileno(), PATH, fcntl.LOCK_SH, PIPELINE)


def _lock(handle: int, path: Path, kind: int, held: str) -> None:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = path.read_text(encoding="utf-8", errors="replace") or "just started"
        raise UserError(f"{held} ({holder}): wait until it ends, or stop it and start again.") from error
    except OSError as error:
        if error.errno not in _REFUSALS:
            raise
        print(f"warning: {path}: {error.strerror}; start one process at a time in this folder.", file=sys.stderr)


if __name__ == "__main__":  # for `make setup`, before anything is installed
    sys.exit(exit_status(require_free))
