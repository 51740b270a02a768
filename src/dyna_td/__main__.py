"""`python -m dyna_td`."""

import os
import sys


def run() -> int:
    """Runs the command line. Its import takes a second; Ctrl-C prints no traceback during this time either."""
    _require_streams()
    try:
        import dyna_td.learning  # noqa: F401 - limits threads, which must precede NumPy's import
        from dyna_td.cli import main
    except KeyboardInterrupt:
        print("interrupted: nothing was begun.", file=sys.stderr)
        return 130
    except (ImportError, MemoryError, OSError) as error:
        from dyna_td.errors import of_exhaustion

        if not (sentence := of_exhaustion(error)):
            raise
        print(sentence, file=sys.stderr)
        return 2
    return main()


def _require_streams() -> None:
    """Opens streams that the caller closed, as `2>&-` does; shows characters that a stream lacks as their code.

    A file that is opened later would otherwise take the closed stream's number, and messages would go into it.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(run())
