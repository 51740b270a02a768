"""Figure 5: where the states in the search-control queue lie, late in training (Section 5)."""

import sys

from maps import Heatmap, share_colours
from rendering import render

from envs.grid_world import GRID_WALLS

ENTROPY = "entropy {} nats"

PANELS = (
    Heatmap("a", "Dyna-TD", "entropy_10", "dyna_td", GRID_WALLS, summary=ENTROPY),
    Heatmap("b", "Dyna-Value", "entropy_10", "dyna_value", GRID_WALLS, summary=ENTROPY),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, finish=share_colours)


if __name__ == "__main__":
    sys.exit(main())
