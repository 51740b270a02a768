"""The progress of a training job: a bar on a terminal, else a plain line every few seconds, and a file for programs."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TypeVar

import pandas as pd
from tqdm import tqdm

from dyna_td.records.metrics import MAIN

SECONDS_BETWEEN_LINES = 5.0

Progress = Callable[[int, int], None]
_Item = TypeVar("_Item")


class _Lines:
    """A function of (done steps, total steps) that shows them as plain lines, with `latest`, a remark such as a return.

    It also keeps the steps in `file`, if there is one.
    """

    latest = ""

    def __init__(self, label: str, stream, file: Path | None):
        self.label, self.stream, self.file = label, stream, file
        self.last = self.done = self.rate = None  # the first call starts the clock, after compilation
        self.open()

    def open(self) -> None:
        print(f"{self.label}: compiling", file=self.stream, flush=True)

    def __call__(self, done: int, total: int) -> None:
        if self.file:
            partial = self.file.with_suffix(".partial")
            with contextlib.suppress(OSError):  # a full disk hides the progress, and ends no training
                partial.write_text(json.dumps([int(done), int(total)]))
                os.replace(partial, self.file)
        self.show(done, total)

    def show(self, done: int, total: int) -> None:
        now = time.monotonic()
        if self.last is None:
            self.last, self.done = now, done
        if now - self.last < SECONDS_BETWEEN_LINES and done < total:
            return
        rate = (done - self.done) / max(now - self.last, 1e-9)
        # Smoothed as by tqdm, because the fast steps before learning say little about later ones.
        self.rate = rate if self.rate is None else 0.7 * self.rate + 0.3 * rate
        self.last, self.done = now, done
        left = f"{(total - done) / self.rate:,.0f} s left" if self.rate else "time left unknown"
        words = [f"{self.label}: {done:,} of {total:,} steps", f"{self.rate:,.0f} steps/s", left]
        print(", ".join([*words, self.latest] if self.latest else words), file=self.stream, flush=True)

    def watch(self, records: pd.DataFrame) -> None:
        """Notes the mean of the latest evaluation among `records`: of the return, or of the sine task's error."""
        last = records[records["step"] == records["step"].max()]
        for metric in MAIN:
            if (values := last.loc[last["metric"] == metric, "value"]).size:
                self.latest = f"mean {metric.replace('_', ' ')} {values.mean():,.4g}"

    def close(self) -> None:
        """Ends the display."""


class _Bar(_Lines):
    def open(self) -> None:
        words = f"{self.label}: compiling"
        self.bar = tqdm(desc=words, unit="step", unit_scale=True, file=self.stream, dynamic_ncols=True)

    def show(self, done: int, total: int) -> None:
        bar = self.bar
        if bar.total is None:
            bar.set_description(self.label, refresh=False)
            bar.reset(total)
            bar.initial = bar.n = bar.last_print_n = done
        bar.set_postfix_str(self.latest, refresh=False)
        bar.update(done - bar.n)

    def close(self) -> None:
        self.bar.close()


def progress(label: str, stream=None, file: Path | None = None) -> contextlib.closing[_Lines]:
    """Gives a block a function of (done steps, total steps) that shows them on `stream`, by default standard error.

    Until its first call, which must come when training starts, it says that the training compiles. The steps done by
    then belong to an earlier training and do not count for the speed. `read` reads the steps from `file`.
    """
    stream = stream or sys.stderr
    return contextlib.closing((_Bar if stream.isatty() else _Lines)(label, stream, file))


def read(file: Path) -> int | None:
    """The steps done by the training that keeps `file`; None before it starts and after it ends."""
    try:
        return json.loads(file.read_text())[0]
    except FileNotFoundError:
        return None


def counted(items: Collection[_Item], words: str) -> Iterator[_Item]:
    """Yields `items` and shows how many are done: a bar on a terminal, elsewhere a line every few seconds."""
    if sys.stderr.isatty():
        yield from tqdm(items, desc=words, leave=False)
        return
    shown = time.monotonic()
    for done, item in enumerate(items):
        if time.monotonic() - shown >= SECONDS_BETWEEN_LINES:
            print(f"{words}: {done} of {len(items)}", file=sys.stderr, flush=True)
            shown = time.monotonic()
        yield item
