"""Figure 1: what outdated priorities and a small training set cost (Section 3.3)."""

import sys

from panels import ENVIRONMENT_STEPS, UPDATES, Panel
from rendering import render
from style import recoloured

REGRESSION = ("l2", "prioritized_l2", "full_prioritized_l2")
CONTROL = ("er", "prioritized_er", "full_prioritized_er")

PANELS = (
    Panel("a", "|T| = 4000", "test_rmse", REGRESSION, x_label=UPDATES),
    Panel("b", "|T| = 400", "test_rmse", REGRESSION, x_label=UPDATES),
    Panel(
        "c",
        "MountainCar",
        "return",
        CONTROL,
        x_label=ENVIRONMENT_STEPS,
        y_limits=(-2050, 0),  # every episode ends at 2000 steps of reward -1; the rest shows a line at -2000
        styles=recoloured(er="black", prioritized_er="red"),
    ),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, same_y=["ab"])


if __name__ == "__main__":
    sys.exit(main())
