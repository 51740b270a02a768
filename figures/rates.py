"""Rates, beyond the paper: the agents of figure 13 at equal learning rates."""

import sys
from dataclasses import replace

from figure_13 import PANELS as FIGURE_13
from rendering import render

CURVES = FIGURE_13[1:]  # crashes, speed and return, without the scene
PANELS = tuple(
    replace(panel, letter=letter, title=f"{panel.title}, {rate}")
    for rate, letters in (("learning rate 0.001", "abc"), ("chosen learning rate", "def"))
    for letter, panel in zip(letters, CURVES, strict=True)
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=3, same_y=("ad", "be", "cf"))


if __name__ == "__main__":
    sys.exit(main())
