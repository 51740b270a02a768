"""Figure 3: how far sampling distributions are from the ideal one, and what the time buys (Section 4.2)."""

import sys

from panels import ENVIRONMENT_STEPS, TRAIN_SECONDS, Control, Panel
from rendering import render
from style import CurveStyle

LOWEST_DISTANCE = 3e-5  # before learning starts, p* is almost uniform: that control would stretch the axis to 1e-6
SAMPLERS = ("dyna_td", "dyna_td_learned", "dyna_td_long", "prioritized_er")


def distance_panel(letter: str, title: str, metric: str) -> Panel:
    """Distances to p*, between the best that drawing from p* itself gives and the exact uniform distribution."""
    controls = (
        Control("dyna_td", f"{metric}_floor", CurveStyle("$p^*$ sampled, floor", "gray", ":")),
        Control("dyna_td", f"{metric}_exact_uniform", CurveStyle("exact uniform", "gray", "-.")),
    )
    return Panel(
        letter,
        title,
        metric,
        SAMPLERS,
        ENVIRONMENT_STEPS,
        y_limits=(LOWEST_DISTANCE, None),
        y_scale="log",
        controls=controls,
    )


PANELS = (
    distance_panel("a", "on-policy weighting", "distance_on_policy"),
    distance_panel("b", "uniform weighting", "distance_uniform"),
    Panel(
        "c",
        "return by training time",
        "return",
        ("dyna_td", "prioritized_er", "er"),
        ENVIRONMENT_STEPS,
        x_metric=TRAIN_SECONDS,
        y_limits=(-2050, 0),  # an episode ends after 2000 steps of reward -1
    ),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the figure; returns the exit status."""
    return render(PANELS, argv)


if __name__ == "__main__":
    sys.exit(main())
