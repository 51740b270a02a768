"""From panels to a picture: arranges them on a grid with titles, legends and a footer, and writes PNG and PDF."""

import textwrap
from collections.abc import Sequence
from pathlib import Path

from maps import share_colours
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.transforms import ScaledTranslation
from panels import CurvePanel, Panel
from style import DOTS_PER_INCH, PANEL_SIZE
from tables import REMEDY, Tables, curve_rows, read_table, states_beside

from dyna_td.errors import UserError
from dyna_td.pipeline.files import write_whole

LEGEND_DROP = 36  # points from the x-axis to a legend under it
LEGEND_ENTRY_WIDTH = 1.9  # inches, of the longest label
FOOTER_SIZE = 7  # points


def read_tables(path: Path, panels: Sequence[Panel]) -> Tables:
    """Reads curves.csv, and states.csv if a panel shows it.

    Raises:
      UserError: if a file is missing or damaged, or curves.csv has no row of a curve that a panel shows.
    """
    shows_states = any(panel.shows_states for panel in panels)
    tables = Tables(read_table(path), read_table(states_beside(path)) if shows_states else None)
    for letter, curve, metric in (need for panel in panels for need in panel.needs()):
        if curve_rows(tables.curves, letter, curve, metric).empty:
            where = f"{path}, panel {letter}, curve {curve}"
            raise UserError(f"{where}: there is no row of the metric {metric}; {REMEDY}.")
    return tables


def draw_figure(panels: Sequence[Panel], tables: Tables, scale: str, columns: int, note: str = "") -> Figure:
    """All panels on a grid, and under them the scale, the seeds, the steps and a `note`."""
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
    for panel in panels:
        panel.draw(axes[panel.letter], tables)
        letter = f"({panel.letter}) " if len(panels) > 1 else ""
        axes[panel.letter].set_title(letter + panel.heading(tables))
    _share_limits(axes, panels)
    _draw_legends(figure, axes, panels)
    _draw_footer(figure, "\n".join(filter(None, [describe(panels, tables, scale), note])))
    if any(panel.shows_states for panel in panels):
        share_colours(figure)
    return figure


def _share_limits(axes: dict[str, Axes], panels: Sequence[Panel]) -> None:
    """Gives comparable panels the limits that show all their curves."""
    groups: dict[str, list[Axes]] = {}
    for panel in panels:
        if isinstance(panel, CurvePanel) and panel.comparable:
            groups.setdefault(panel.comparable, []).append(axes[panel.letter])
    for group in groups.values():
        limits = [each.get_ylim() for each in group]
        for each in group:
            each.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))


def _draw_footer(figure: Figure, text: str) -> None:
    letters_a_line = int(figure.get_figwidth() * 72 / (0.57 * FOOTER_SIZE))  # of the font's mean width
    lines = [textwrap.fill(line, letters_a_line) for line in text.splitlines()]
    figure.supxlabel("\n".join(lines), fontsize=FOOTER_SIZE, color="dimgray", x=0.99, ha="right")


def _draw_legends(figure: Figure, axes: dict[str, Axes], panels: Sequence[Panel]) -> None:
    """One legend for the figure if a look means the same in all panels, else one under each; never over the data."""
    legends = {panel.letter: panel.legend() for panel in panels if panel.legend()}
    styles = list(dict.fromkeys(style for legend in legends.values() for style in legend))
    looks = {(style.colour, style.dash) for style in styles}
    if len(legends) > 1 and len(looks) == len(styles):
        drawn = {line.get_label(): line for letter in legends for line in axes[letter].lines}
        handles = [drawn[style.label] for style in styles]
        ncols = min(len(handles), int(figure.get_figwidth() / LEGEND_ENTRY_WIDTH))
        figure.legend(handles=handles, loc="outside upper center", ncols=ncols)
        return
    for letter, legend in legends.items():
        if len(legend) > 1:
            _draw_legend_below(axes[letter], ncols=1 if len(legend) < 4 else 2)


def _draw_legend_below(axes: Axes, ncols: int) -> None:
    """Hangs the legend a fixed length under the axes, clear of the tick labels and the axis label."""
    below = ScaledTranslation(0, -LEGEND_DROP / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0.0,
        ncols=ncols,
    )


def describe(panels: Sequence[Panel], tables: Tables, scale: str) -> str:
    """The line under the picture: the scale, and the data's seeds and steps, for each panel where they differ.

    For example "scale quick, 5 seeds, 20,000 mini-batch updates". A second line names the seeds that diverged, if any.
    """
    facts = {panel.letter: fact for panel in panels if (fact := panel.describe(tables))}
    if len(set(facts.values())) == 1:
        line = f"scale {scale}, {next(iter(facts.values()))}"
    else:
        letters = {fact: [letter for letter in facts if facts[letter] == fact] for fact in facts.values()}
        line = f"scale {scale}; " + "; ".join(f"{', '.join(letters[fact])}: {fact}" for fact in letters)
    return "\n".join(filter(None, [line, _describe_divergence(panels, tables)]))


def _describe_divergence(panels: Sequence[Panel], tables: Tables) -> str:
    """For example "diverged: Dyna-Frequency seed 3 (b, d); Dyna-TD seeds 1, 2 (a)"; nothing if no seed has."""
    letters: dict[str, list[str]] = {}
    for panel in panels:
        for curve in panel.curves:
            seeds = [f"{seed:.0f}" for seed in panel.diverged_seeds(tables, curve)]
            if seeds:
                who = f"{panel.style_table()[curve].label} seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
                letters.setdefault(who, []).append(panel.letter)
    return "diverged: " + "; ".join(f"{who} ({', '.join(letters[who])})" for who in letters) if letters else ""


def save(figure: Figure, output: Path) -> None:
    """Writes `output`, a PNG, and the PDF of the same stem, without dates inside.

    Raises:
      UserError: if the place cannot be written.
    """
    pictures = {output: {"Software": None}, output.with_suffix(".pdf"): {"CreationDate": None}}
    try:
        for path, metadata in pictures.items():
            with write_whole(path, "wb") as file:
                figure.savefig(file, format=path.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    except ValueError as error:  # in the mathematics of a title, for example
        raise UserError(f"{output} cannot be drawn ({' '.join(str(error).split())}): mend the title.") from error
    except OSError as error:
        raise UserError(
            f"{output} cannot be written ({error.strerror}): choose an --output in a folder where you may write."
        ) from error
    finally:
        plt.close(figure)
