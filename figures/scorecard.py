"""Draws the verdicts on the claims as tiles, for `make readme`."""

from pathlib import Path

from drawing import style  # sets up matplotlib
from matplotlib import pyplot as plt
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch
from matplotlib.patheffects import withStroke

from dyna_td.evidence.labels import LETTERS
from dyna_td.pages.claims_page import shown_in, themes
from dyna_td.pages.facts import Facts
from dyna_td.pages.markdown import counts
from dyna_td.records.files import write_whole

PALE = "#D9D9D9"  # all other verdicts
INK, SOFT_INK = "#222222", "#555555"


def draw(facts: Facts, path: Path) -> None:
    """Draws a tile for each claim, by theme; hatched tiles have another verdict under another reading."""
    rcParams["hatch.linewidth"] = 1.8
    figure, axes = plt.subplots(figsize=(9.0, 5.3), dpi=style.DOTS_PER_INCH)
    rows = themes(facts.stated)
    for row, (theme, (numbers, shown)) in enumerate(rows.items()):
        y = -row - 0.86
        axes.text(-0.25, y + 0.58, theme, ha="right", va="center", fontsize=11, weight="bold", color=INK)
        axes.text(-0.25, y + 0.24, shown_in(shown), ha="right", va="center", fontsize=9, color=SOFT_INK)
        for column, number in enumerate(numbers):
            _draw_tile(axes, (column, y), 0.86, facts.verdicts[number], number in facts.turned, str(number))
    y = -len(rows) - 0.95
    key = [(verdict, False, f"{count} {verdict}") for verdict, count in counts(facts).items()]
    for column, (verdict, is_turned, words) in enumerate([*key, ("", True, "another verdict under\nanother choice")]):
        x = 3.45 * column - 4.4
        _draw_tile(axes, (x, y), 0.6, "" if is_turned else verdict, is_turned)
        axes.text(x + 0.75, y + 0.3, words, va="center", fontsize=10, color=INK)
    axes.set(xlim=(-4.6, max(len(numbers) for numbers, _ in rows.values())), ylim=(y - 0.1, 0.1), aspect="equal")
    axes.axis("off")
    with write_whole(path) as file:
        figure.savefig(file, format="png", bbox_inches="tight", pad_inches=0.08, metadata={"Software": None})
    plt.close(figure)


def _draw_tile(
    axes: Axes, corner: tuple[float, float], size: float, verdict: str, is_turned: bool, number: str = ""
) -> None:
    colour = style.VERDICTS.get(verdict, PALE)
    ink, stripes = ("white", "#FFFFFF70") if verdict in style.VERDICTS else ("black", "#00000038")
    shape: style.Look = {"boxstyle": "round,pad=0,rounding_size=0.09", "linewidth": 0}
    axes.add_patch(FancyBboxPatch(corner, size, size, facecolor=colour, **shape))
    if is_turned:
        axes.add_patch(FancyBboxPatch(corner, size, size, facecolor="none", edgecolor=stripes, hatch="//", **shape))
    x, y = corner[0] + size / 2, corner[1]
    words: style.Look = {"ha": "center", "va": "center_baseline", "color": ink}
    words["path_effects"] = [withStroke(linewidth=3.5, foreground=colour)]  # keeps stripes off the words
    axes.text(x, y + size * (0.33 if number else 0.5), LETTERS.get(verdict, ""), fontsize=13, weight="bold", **words)
    axes.text(x, y + size * 0.76, number, fontsize=9, **words)
