"""The progress of a training job: a bar on a terminal, a plain line every few seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

SECONDS_BETWEEN_LINES = 5.0

Progress = Callable[[int, int], None]


@contextmanager
def progress(label: str, stream=None) -> Iterator[Progress]:
    """Yields a function of (done steps, total steps) that shows them on `stream`, by default standard error.

    Its first call must come when training starts. The steps done by then belong to an earlier training and do not count
    for the speed.
    """
    stream = stream or sys.stderr
    if not stream.isatty():
        yield _lines(label, stream)
        return
    with tqdm(desc=label, unit="step", unit_scale=True, file=stream, dynamic_ncols=True) as bar:

        def show(done: int, total: int) -> None:
            if bar.total is None:
                bar.reset(total)  # the seconds before the first call went into compilation
                bar.initial = bar.n = bar.last_print_n = done
            bar.update(done - bar.n)

        yield show


def _lines(label: str, stream) -> Progress:
    start = last = begun = None  # the first call starts the clock: the seconds before it went into compilation

    def show(done: int, total: int) -> None:
        nonlocal start, last, begun
        now = time.monotonic()
        if start is None:
            start, last, begun = now, now, done
        if now - last < SECONDS_BETWEEN_LINES and done < total:
            return
        last = now
        rate = (done - begun) / max(now - start, 1e-9)
        left = f"{(total - done) / rate:,.0f} s left" if rate else "time left unknown"
        print(f"{label}: {done:,} of {total:,} steps, {rate:,.0f} steps/s, {left}", file=stream, flush=True)

    return show
