"""Learning curves on the benchmarks, as figures 4, 12 and 14 show them."""

from panels import ENVIRONMENT_STEPS, Panel
from style import CurveStyle

# The lowest return of an episode (its longest, at reward -1 a step; CartPole: none) and the highest, with some room.
RETURNS = {
    "MountainCar": (-2050, 0),
    "Acrobot": (-515, 0),
    "GridWorld": (-2050, 0),
    "MazeGridWorld": (-2050, 0),
    "CartPole": (0, 515),
}

# Figure 1c's agents in its colours, with short labels.
REPLAY = {
    "er": CurveStyle("ER", "black"),
    "prioritized_er": CurveStyle("PER", "red"),
    "full_prioritized_er": CurveStyle("Full-PER", "blue"),
}


def benchmark_panel(letter: str, title: str, domain: str, curves: tuple[str, ...]) -> Panel:
    """The smoothed evaluation return on `domain`, a key of `RETURNS`."""
    return Panel(letter, title, "return", curves, ENVIRONMENT_STEPS, y_limits=RETURNS[domain], smoothed=True)
