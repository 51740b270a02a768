"""Figure 2: where the states lie from which an agent learns, early in learning (Section 4.2)."""

import sys
from functools import partial

from maps import Drawing, Heatmap, share_colours
from rendering import render

from envs.grid_world import GRID_WALLS

early_states = partial(Heatmap, walls=GRID_WALLS, moment=10_000)
PANELS = (
    Drawing("a", "GridWorld", GRID_WALLS),
    early_states("b", "PER buffer (uniform)", "occupied_cells_buffer", "prioritized_er"),
    early_states("c", "PER (prioritized)", "occupied_cells", "prioritized_er"),
    early_states("d", "Dyna-TD queue", "occupied_cells", "dyna_td"),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, finish=share_colours)


if __name__ == "__main__":
    sys.exit(main())
