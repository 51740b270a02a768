"""Figure 6: DDPG with Dyna-TD's search control, prioritized and uniform replay on two MuJoCo tasks (Section 5)."""

import sys
from functools import partial

from panels import ENVIRONMENT_STEPS, Panel
from rendering import render
from style import ONLY_LEARNED

return_panel = partial(
    Panel,
    metric="return",
    curves=("dyna_td_learned", "prioritized_er", "er"),
    x_label=ENVIRONMENT_STEPS,
    smoothed=True,
    styles=ONLY_LEARNED,
)
PANELS = (return_panel("a", "Hopper"), return_panel("b", "Walker2d"))


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
