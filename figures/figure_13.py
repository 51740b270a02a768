"""Figure 13: crashes, speed and return of three agents that learn to drive through a roundabout (appendix)."""

import sys
from functools import partial

from panels import DRIVING_STEPS, ENVIRONMENT_STEPS, Panel
from rendering import render
from scenes import Scene
from style import ONLY_LEARNED

driving_panel = partial(Panel, curves=("dyna_td_learned", "prioritized_er", "er"), styles=ONLY_LEARNED)
learning_panel = partial(driving_panel, x_label=ENVIRONMENT_STEPS, smoothed=True)
PANELS = (
    Scene("a", "roundabout"),
    driving_panel("b", "crashes", "crashes", x_label=DRIVING_STEPS, equally_long=False),
    learning_panel("c", "speed", "speed"),
    learning_panel("d", "return", "return", y_limits=(0, 11.5)),  # an episode has 11 rewards of at most 1
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
