"""Figure 14: Dyna variants in a maze in which model-free methods take long (appendix, MazeGridWorld)."""

import sys

from benchmarks import benchmark_panel
from maps import Drawing
from rendering import render

from envs.grid_world import MAZE_WALLS

CURVES = ("dyna_td", "dyna_td_learned", "dyna_frequency", "dyna_value")

PANELS = (
    Drawing("a", "MazeGridWorld", MAZE_WALLS),
    benchmark_panel("b", "MazeGridWorld, n = 30", "MazeGridWorld", CURVES),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
