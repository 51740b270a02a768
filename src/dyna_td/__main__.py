"""`python -m dyna_td`."""

import sys


def run() -> int:
    """Runs the command line; Ctrl-C is as quiet while it is imported, which takes a second, as it is later."""
    try:
        import dyna_td.learning  # noqa: F401 - one thread, before NumPy is there
        from dyna_td.cli import main
    except KeyboardInterrupt:
        print("interrupted: nothing was begun.", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
