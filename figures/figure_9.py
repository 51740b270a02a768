"""Figure 9: higher powers of the error suffer more from noisy targets (appendix, high power losses)."""

import sys

from panels import UPDATES, Panel
from rendering import render

CURVES = ("power4", "l2", "cubic")

PANELS = (
    Panel("a", r"$\sigma$ = 0.1", "test_rmse", CURVES, x_label=UPDATES),
    Panel("b", r"$\sigma$ = 0.5", "test_rmse", CURVES, x_label=UPDATES),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, same_y=["ab"])


if __name__ == "__main__":
    sys.exit(main())
