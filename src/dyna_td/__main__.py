"""`python -m dyna_td`."""

import sys


def run() -> int:
    """Runs the command line. Its import takes a second; Ctrl-C is quiet then, too."""
    try:
        import dyna_td.learning  # noqa: F401 - one thread, before NumPy is there
        from dyna_td.cli import main
    except KeyboardInterrupt:
        print("interrupted: nothing was begun.", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
