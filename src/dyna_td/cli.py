"""The command line, `python -m dyna_td`: trains and plays agents, and makes each file of the pipeline's plan.

A user's mistake gives one sentence on standard error and exit status 2. Ctrl-C and other signals give 128 and more.
"""

import argparse
import os
import sys
from collections.abc import Callable, Sequence

from dyna_td.commands import arguments, judge, plan, play, publish, train
from dyna_td.errors import UserError, of_exhaustion
from dyna_td.records.files import IS_CHECKOUT
from dyna_td.training import interruption

ANYWHERE = ("train", "play")  # commands that need no checkout, so an installed wheel has them


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command, by default that of this process, and returns its exit status."""
    words = sys.argv[1:] if words is None else words
    interruption.listen()
    try:
        arguments.adopt_own_agent(words)
        options = _parser().parse_args(words)
        if options.name_of_command not in ANYWHERE and not IS_CHECKOUT:
            raise UserError(
                f"`{options.name_of_command}` needs the project's checkout: clone its repository and install from "
                f"there; {' and '.join(ANYWHERE)} work anywhere."
            )
        options.command(options)
        sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the output's reader has closed it, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # keeps the flush at exit silent
        return 141
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}; unfinished files are not written.", file=sys.stderr)
        return 2
    except Exception as error:
        if not (sentence := of_exhaustion(error)):
            raise
        print(sentence, file=sys.stderr)
        return 2
    except KeyboardInterrupt as signal:
        place = " ".join(getattr(signal, "__notes__", [])) or "the beginning"
        status = getattr(signal, "status", 130)
        what = "stopped" if status == 130 else f"error: {signal} stopped this"  # Ctrl-C is no error
        print(f"{what} at {place}; the same command continues there.", file=sys.stderr)
        return status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = arguments.Parser(
        prog="python -m dyna_td",
        description=(__doc__ or "").partition("\n")[0],  # `python -OO` has none
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", required=True)

    def add(name: str, function: Callable, text: str, **kwargs) -> argparse.ArgumentParser:
        description = f"{text[0].upper()}{text[1:]}."
        command = commands.add_parser(name, help=text, description=description, allow_abbrev=False, **kwargs)
        command.set_defaults(command=function, name_of_command=name)
        return command

    scaled = argparse.ArgumentParser(add_help=False)
    scaled.add_argument("--scale", default="quick", help="smoke, quick or paper (default: quick)")
    train.add_commands(add, scaled)
    judge.add_commands(add, scaled)
    plan.add_commands(add, scaled)
    play.add_commands(add)
    publish.add_commands(add)
    return parser
