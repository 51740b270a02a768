"""Figure 10: the training error of figure 1's supervised runs (appendix, additional experiments)."""

import sys

from panels import UPDATES, Panel
from rendering import render

CURVES = ("l2", "prioritized_l2", "full_prioritized_l2")

PANELS = (
    Panel("a", "|T| = 4000", "train_rmse", CURVES, x_label=UPDATES),
    Panel("b", "|T| = 400", "train_rmse", CURVES, x_label=UPDATES),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, same_y=["ab"])


if __name__ == "__main__":
    sys.exit(main())
