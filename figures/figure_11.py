"""Figure 11: prioritized sampling and the cubic loss agree better on larger mini-batches (Theorem 1, appendix)."""

import sys

from panels import UPDATES, Panel
from rendering import render

CURVES = ("full_prioritized_l2", "cubic")

PANELS = (
    Panel("a", "b = 128", "train_rmse", CURVES, x_label=UPDATES),
    Panel("b", "b = 512", "train_rmse", CURVES, x_label=UPDATES),
    Panel("c", "b = 128", "test_rmse", CURVES, x_label=UPDATES),
    Panel("d", "b = 512", "test_rmse", CURVES, x_label=UPDATES),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, columns=2, same_y=["ab", "cd"])


if __name__ == "__main__":
    sys.exit(main())
