"""Ctrl-C, and the signals of batch systems and closed terminals, which end a training as Ctrl-C does."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator

# The last three warn of a limit: Slurm's of time, as `--signal` chooses it, and `ulimit -t`.
_SIGNALS = tuple(getattr(signal, f"SIG{name}") for name in ("INT", "TERM", "HUP", "USR1", "USR2", "XCPU"))


class Interrupted(KeyboardInterrupt):
    """A signal asks this process to end.

    Attributes:
      status: the exit status, 128 plus the signal's number.
    """

    def __init__(self, number: int):
        super().__init__(signal.Signals(number).name)
        self.status = 128 + number


def listen() -> None:
    """Makes the signals raise `Interrupted`; one that is ignored, as by `nohup`, stays ignored."""
    for number in _handled():
        signal.signal(number, _interrupt)


@contextlib.contextmanager
def held(save: Callable[[], None]) -> Iterator[None]:
    """Holds a signal until the block ends, calls `save`, and then lets it act; a second signal acts at once."""
    asked: list[int] = []
    before = {number: signal.getsignal(number) for number in _handled()}

    def give_back() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def hold(number: int, frame) -> None:
        asked.append(number)
        give_back()

    for number in before:
        signal.signal(number, hold)
    try:
        yield
    finally:
        give_back()
    if asked:
        save()
        signal.raise_signal(asked[0])


def _handled() -> list[int]:
    """The signals to handle; only Python's main thread gets them."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [number for number in _SIGNALS if signal.getsignal(number) not in (signal.SIG_IGN, None)]


def _interrupt(number: int, frame) -> None:
    raise Interrupted(number)
