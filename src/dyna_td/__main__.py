"""`python -m dyna_td`."""

import sys


def run() -> int:
    """Runs the command line. Its import takes a second; Ctrl-C prints no traceback during this time either."""
    try:
        import dyna_td.learning  # noqa: F401 - limits threads, which must precede NumPy's import
        from dyna_td.cli import main
    except KeyboardInterrupt:
        print("interrupted: nothing was begun.", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
