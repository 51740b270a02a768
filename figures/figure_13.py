"""Figure 13: crashes, speed and return of three agents that learn to drive through a roundabout (appendix)."""

from functools import partial

from drawing.panels import Drawings, Panels, lines
from drawing.style import NOTE, Look
from drawing.tables import Tables
from matplotlib.axes import Axes

from dyna_td.records import published


def draw_always_slower(metric: str, axes: Axes) -> None:
    """Draws the result of a policy that always chooses "slower", but for the random actions of evaluations."""
    row = published.table(published.DIRECTORY / "always_slower.csv").iloc[0]
    look: Look = {"color": "dimgray", "linestyle": "-.", "linewidth": 1.0, "zorder": 1.9}
    if metric == "crashes":
        axes.axline((0.0, 0.0), slope=row["crashed"] / row["episode_length"], **look)
        height = row["crashed"] / row["episode_length"] * axes.get_xlim()[1]
    else:
        height = row[metric]
        axes.axhline(height, **look)
        if height < axes.get_ylim()[0]:
            axes.set_ylim(bottom=0.0)
    place: Look = {"xycoords": axes.get_yaxis_transform(), "ha": "right", "annotation_clip": True}
    words = axes.annotate("always slower", (1.0, height), (-2, 3), **place, **NOTE)
    words.set_in_layout(False)  # words above the panel must not shrink it


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """In each panel of curves, a policy that only slows down."""
    return [lines(each, tables, decorate=partial(draw_always_slower, each.metric)) for each in panels.values()]
