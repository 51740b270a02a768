"""Draws how PrioritizedER's lead changes with one dial of GridWorld, on two scales: `python figures/dials.py`."""

import sys

from drawing.forest import draw_dot
from drawing.rendering import draw_footer, save
from drawing.style import PANEL_SIZE, style_of
from matplotlib import pyplot as plt

from dyna_td.errors import exit_status
from dyna_td.evidence.statistics import half_width
from dyna_td.pages import studies
from dyna_td.pages.facts import Facts
from dyna_td.records import published

WORDS = (
    "Each world minus the paper's. The gap: the best return minus ER's. Full dots: the 95% interval excludes zero, "
    "Student's in (a), by resampling seeds in (b)."
)


def draw() -> None:
    """Two panels, a PNG and a PDF: the change in return, and as a share of the gap between ER and the best return."""
    facts = Facts()
    in_return = {
        key: (change.mean(), change.mean() - half_width(change), change.mean() + half_width(change))
        for key, change in studies.changes_of_the_lead(facts).items()
    }
    titles = {
        "(a) change of PrioritizedER's lead over ER": in_return,
        "(b) change of its share of the gap": studies.changes_of_the_share(facts),
    }
    worlds, colour = studies.panels_of(facts, "when"), style_of("prioritized_er").colour
    figure, both = plt.subplots(1, 2, figsize=(2.6 * PANEL_SIZE[0], 1.2 * PANEL_SIZE[1]), layout="constrained")
    for axes, (title, changes) in zip(both, titles.items(), strict=True):
        for row, (mean, low, high) in enumerate(changes.values()):
            draw_dot(axes, -row, (mean, low, high), colour, is_hollow=low <= 0 <= high)
        names = [worlds[key].title for key in changes] if axes is both[0] else [""] * len(changes)
        axes.set_yticks([-row for row in range(len(changes))], names)
        axes.axvline(0.0, color="black", linewidth=0.6, linestyle=":")
        axes.tick_params(axis="y", length=0)
        axes.set_title(title)
    draw_footer(figure, WORDS)
    save(figure, published.HERE / "dials.png")


if __name__ == "__main__":
    sys.exit(exit_status(draw))
