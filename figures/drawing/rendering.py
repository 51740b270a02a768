"""From panels to a picture: arranges them on a grid with titles, legends and a footer, and writes PNG and PDF."""

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from drawing.forest import Forest
from drawing.maps import Heatmap, share_colours
from drawing.panels import Drawing
from drawing.style import DOTS_PER_INCH, PANEL_SIZE, CurveStyle, Look
from dyna_td.errors import UserError
from dyna_td.records.files import write_whole

LEGEND_DROP = 36  # points from the x-axis to a legend under it
LONG_LABEL = 25  # letters; with such a label, a legend below a panel has one column
SAMPLE_WIDTH, LETTER_WIDTH = 0.62, 0.062  # inches, of a legend's sample with its gaps, and of a letter
FOOTER_SIZE = 7  # points
MAX_COLUMNS = 3  # more in one row make the words too small on a page


def draw_figure(panels: Sequence[Drawing], scale: str, columns: int | None = None, note: str = "") -> Figure:
    """All panels on a grid, and under them what bands and markers mean, scale, seeds, steps and a `note`.

    Without a number of `columns` there is one row of panels if they fit, or else two columns.
    """
    columns = columns or (len(panels) if len(panels) <= MAX_COLUMNS else 2)
    rows = -(-len(panels) // columns)
    heights = [max(panel.height for panel in panels[row * columns :][:columns]) for row in range(rows)]
    figure, grid = plt.subplots(
        *(rows, columns),
        figsize=(columns * PANEL_SIZE[0], sum(heights)),
        height_ratios=heights,
        layout="constrained",
        squeeze=False,
    )
    axes = {panel.letter: ax for panel, ax in zip(panels, grid.flat, strict=False)}
    for spare in grid.flat[len(panels) :]:
        spare.remove()
    for index, (panel, ax) in enumerate(zip(panels, axes.values(), strict=True)):
        panel.draw(ax)
        if index % columns and isinstance(panel, Forest) and panel.has_names_of(panels[index - 1]):
            ax.tick_params(labelleft=False)
        if panel.decorate:
            panel.decorate(ax)
        letter = f"({panel.letter}) " if len(panels) > 1 else ""
        ax.set_title(letter + panel.title)
    _share_limits(axes, panels)
    _draw_legends(figure, axes, panels)
    notes = " ".join(dict.fromkeys(words for panel in panels for words in panel.notes))
    draw_footer(figure, "\n".join(filter(None, [notes, describe(panels, scale), note])))
    if any(isinstance(panel, Heatmap) for panel in panels):
        share_colours(figure)
    return figure


def _share_limits(axes: dict[str, Axes], panels: Sequence[Drawing]) -> None:
    """Gives comparable panels the limits that show all their curves."""
    for key in {panel.comparable for panel in panels if panel.comparable}:
        group = [panel for panel in panels if panel.comparable == key]
        axis = "x" if isinstance(group[0], Forest) else "y"
        limits = [getattr(axes[panel.letter], f"get_{axis}lim")() for panel in group]
        for panel in group:
            axes[panel.letter].set(**{f"{axis}lim": (min(low for low, _ in limits), max(high for _, high in limits))})


def draw_footer(figure: Figure, text: str) -> None:
    """Prints lines under the picture, wrapped to its width; the picture grows by all lines but the first."""
    letters_a_line = int(figure.get_figwidth() * 72 / (0.51 * FOOTER_SIZE))  # by the font's mean width
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, letters_a_line)]
    figure.set_figheight(figure.get_figheight() + (len(lines) - 1) * 1.2 * FOOTER_SIZE / 72)
    figure.supxlabel("\n".join(lines), fontsize=FOOTER_SIZE, color="dimgray", x=0.01, ha="left")


def _draw_legends(figure: Figure, axes: dict[str, Axes], panels: Sequence[Drawing]) -> None:
    """One legend above the figure, if looks mean the same in all panels, or one under each; never over the data."""
    shared = list(dict.fromkeys(style for panel in panels for style in panel.legend))
    looks = {replace(style, label="") for style in shared}
    if sum(bool(panel.legend) for panel in panels) > 1 and len(looks) == len(shared):
        entry = SAMPLE_WIDTH + LETTER_WIDTH * max(len(style.label) for style in shared)
        rows = -(-len(shared) // max(1, int(figure.get_figwidth() / entry)))
        ncols = -(-len(shared) // rows)  # rows of equal length
        figure.legend(handles=[handle(style) for style in shared], loc="outside upper center", ncols=ncols)
        return
    below = ScaledTranslation(0, -LEGEND_DROP / 72, figure.dpi_scale_trans)
    for panel, ax in ((panel, axes[panel.letter]) for panel in panels if len(panel.legend) > 1):
        is_narrow = len(panel.legend) >= 4 and max(len(style.label) for style in panel.legend) < LONG_LABEL
        ax.legend(
            handles=[handle(style) for style in panel.legend],
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=ax.transAxes + below,
            borderaxespad=0.0,
            ncols=2 if is_narrow else 1,
        )


def handle(style: CurveStyle) -> Line2D:
    """The sample of a style in a legend."""
    marker = {"marker": style.marker, "markersize": 4, "mfc": "white" if style.is_hollow else style.colour}
    look: Look = {"linestyle": "none", **marker} if style.marker else {"linestyle": style.linestyle}
    return Line2D([], [], color=style.colour, label=style.label, **look)


def describe(panels: Sequence[Drawing], scale: str) -> str:
    """The line under the picture: the scale, and the data's seeds and steps, for each panel where they differ.

    For example "Scale: quick, 20,000 mini-batch updates; a: 5 seeds; b to d: 4 seeds."
    """
    facts = {panel.letter: fact for panel in panels if (fact := panel.facts)}
    common = [fact for fact in next(iter(facts.values()), ()) if all(fact in others for others in facts.values())]
    letters: dict[str, list[str]] = {}
    for letter in facts:
        if own := ", ".join(fact for fact in facts[letter] if fact not in common):
            letters.setdefault(own, []).append(letter)
    parts = [", ".join([f"Scale: {scale}", *common]), *(f"{_ranges(of)}: {own}" for own, of in letters.items())]
    return f"{'; '.join(parts)}."


def _ranges(letters: Sequence[str]) -> str:
    """For example "a, c to f", for letters in reading order."""
    runs: list[list[str]] = []
    for letter in letters:
        before = runs[-1][-1] if runs else ""
        if len(before) == len(letter) == 1 and ord(letter) == ord(before) + 1:  # the key of an own panel may be a word
            runs[-1].append(letter)
        else:
            runs.append([letter])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def save(figure: Figure, output: Path, source: str | None = None) -> None:
    """Writes `output`, a PNG that may name its `source`, and the PDF of the same stem, without dates inside.

    Raises:
      UserError: `output` is no PNG, or cannot be written.
    """
    if output.suffix != ".png":
        raise UserError(f"--output is {str(output)!r}, expected a name that ends in .png.")
    pictures: dict[Path, Look] = {
        output: {"Software": None, "Source": source},
        output.with_suffix(".pdf"): {"CreationDate": None},
    }
    try:
        for path, metadata in pictures.items():
            with write_whole(path) as file:
                figure.savefig(file, format=path.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    except ValueError as error:  # in the mathematics of a title, for example
        raise UserError(f"{output} cannot be drawn ({' '.join(str(error).split())}): correct the title.") from error
    except OSError as error:
        raise UserError(
            f"{output} cannot be written ({error.strerror}): choose an --output in a folder where you may write."
        ) from error
    finally:
        plt.close(figure)
