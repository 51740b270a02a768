"""Figure 12: figure 4 with n = 5 planning updates (appendix, additional results on discrete benchmark domains)."""

import sys

from benchmarks import benchmark_panel
from rendering import render

CURVES = ("dyna_td", "dyna_frequency", "dyna_value", "prioritized_er", "er")
DOMAINS = ("MountainCar", "Acrobot", "GridWorld", "CartPole")

PANELS = [benchmark_panel(letter, domain, domain, CURVES) for letter, domain in zip("abcd", DOMAINS, strict=True)]


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
