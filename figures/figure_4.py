"""Figure 4: Dyna-TD against other Dyna variants and model-free baselines with n = 10 and 30 updates (Section 5)."""

import sys

from benchmarks import benchmark_panel
from rendering import render

CURVES = ("dyna_td", "dyna_td_learned", "dyna_frequency", "dyna_value", "prioritized_er", "er")
DOMAINS = ("MountainCar", "Acrobot", "GridWorld", "CartPole")
TASKS = [(domain, n) for domain in DOMAINS for n in (10, 30)]

PANELS = [
    benchmark_panel(letter, f"{domain}, n = {n}", domain, CURVES)
    for letter, (domain, n) in zip("abcdefgh", TASKS, strict=True)
]


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv, columns=4)


if __name__ == "__main__":
    sys.exit(main())
