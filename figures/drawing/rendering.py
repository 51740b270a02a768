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
from drawing.maps import share_colours
from drawing.panels import Drawing
from drawing.style import DOTS_PER_INCH, PANEL_SIZE, CurveStyle, Look
from drawing.tables import REMEDY, Tables, curve_rows, read_table, states_beside
from dyna_td.errors import UserError
from dyna_td.evidence.aggregate import LESS, OVER_LEARNING
from dyna_td.records.files import write_whole

LEGEND_DROP = 36  # points from the x-axis to a legend under it
LONG_LABEL = 25  # letters; with such a label, a legend below a panel has one column
SAMPLE_WIDTH, LETTER_WIDTH = 0.62, 0.062  # inches, of a legend's sample with its gaps, and of a letter
FOOTER_SIZE = 7  # points


def read_tables(path: Path, panels: Sequence[Drawing], remedy: str = REMEDY) -> Tables:
    """Reads curves.csv, and states.csv if a panel shows it.

    Raises:
      UserError: if a file is missing or damaged, or curves.csv has no row of a curve that a panel shows.
    """
    shows_states = any(panel.shows_states for panel in panels)
    tables = Tables(read_table(path, remedy), read_table(states_beside(path), remedy) if shows_states else None)
    for letter, curve, metric in (need for panel in panels for need in panel.needs()):
        if curve_rows(tables.curves, letter, curve, metric).empty:
            where = f"{path}, panel {letter}, curve {curve}"
            compares = OVER_LEARNING in metric or LESS in metric
            first = f"name `baselines` of panel {letter} in its YAML file, or " if compares else ""
            raise UserError(f"{where}: there is no row of the metric {metric}; {first}{remedy}.")
    return tables


def draw_figure(panels: Sequence[Drawing], tables: Tables, scale: str, columns: int, note: str = "") -> Figure:
    """All panels on a grid, and under them what bands and markers mean, scale, seeds, steps and a `note`."""
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
    for index, panel in enumerate(panels):
        if isinstance(panel, Forest) and index % columns:
            panel.find_names(panels[index - 1])
        panel.draw(axes[panel.letter], tables)
        if panel.decorate:
            panel.decorate(axes[panel.letter])
        letter = f"({panel.letter}) " if len(panels) > 1 else ""
        axes[panel.letter].set_title(letter + panel.heading(tables))
    _share_limits(axes, panels)
    _draw_legends(figure, axes, panels)
    notes = " ".join(dict.fromkeys(words for panel in panels for words in panel.notes()))
    draw_footer(figure, "\n".join(filter(None, [notes, describe(panels, tables, scale), note])))
    if any(panel.shows_states for panel in panels):
        share_colours(figure)
    return figure


def _share_limits(axes: dict[str, Axes], panels: Sequence[Drawing]) -> None:
    """Gives comparable panels the limits that show all their curves."""
    groups: dict[tuple[str, str], list[Axes]] = {}
    for panel in panels:
        if panel.comparable:
            groups.setdefault((panel.metric_axis, panel.comparable), []).append(axes[panel.letter])
    for (axis, _), group in groups.items():
        limits = [getattr(each, f"get_{axis}lim")() for each in group]
        for each in group:
            each.set(**{f"{axis}lim": (min(low for low, _ in limits), max(high for _, high in limits))})


def draw_footer(figure: Figure, text: str) -> None:
    """Prints lines under the picture, wrapped to its width; the picture grows by all lines but the first."""
    letters_a_line = int(figure.get_figwidth() * 72 / (0.57 * FOOTER_SIZE))  # by the font's mean width
    lines = [part for line in text.splitlines() for part in textwrap.wrap(line, letters_a_line)]
    figure.set_figheight(figure.get_figheight() + (len(lines) - 1) * 1.2 * FOOTER_SIZE / 72)
    figure.supxlabel("\n".join(lines), fontsize=FOOTER_SIZE, color="dimgray", x=0.01, ha="left")


def legends_of(panels: Sequence[Drawing]) -> dict[str, tuple[CurveStyle, ...]]:
    """The legends of a figure by their panel; a single one, under "", if looks mean the same in all panels."""
    shared = list(dict.fromkeys(style for panel in panels for style in panel.legend()))
    looks = {replace(style, label="") for style in shared}
    if sum(bool(panel.legend()) for panel in panels) > 1 and len(looks) == len(shared):
        return {"": tuple(shared)}
    return {panel.letter: panel.legend() for panel in panels if len(panel.legend()) > 1}


def _draw_legends(figure: Figure, axes: dict[str, Axes], panels: Sequence[Drawing]) -> None:
    """One legend above the figure, or one under each panel; never over the data."""
    for letter, styles in legends_of(panels).items():
        handles = [handle(style) for style in styles]
        if letter:
            is_narrow = len(styles) >= 4 and max(len(style.label) for style in styles) < LONG_LABEL
            _draw_legend_below(axes[letter], handles, ncols=2 if is_narrow else 1)
        else:
            entry = SAMPLE_WIDTH + LETTER_WIDTH * max(len(style.label) for style in styles)
            ncols = min(len(styles), int(figure.get_figwidth() / entry))
            figure.legend(handles=handles, loc="outside upper center", ncols=ncols)


def handle(style: CurveStyle) -> Line2D:
    """The sample of a style in a legend."""
    marker = {"marker": style.marker, "markersize": 4, "mfc": "white" if style.is_hollow else style.colour}
    look: Look = {"linestyle": "none", **marker} if style.marker else {"linestyle": style.linestyle}
    return Line2D([], [], color=style.colour, label=style.label, **look)


def _draw_legend_below(axes: Axes, handles: Sequence[Line2D], ncols: int) -> None:
    """Hangs the legend a fixed length under the axes, clear of the tick labels and the axis label."""
    below = ScaledTranslation(0, -LEGEND_DROP / 72, axes.figure.dpi_scale_trans)
    axes.legend(
        handles=handles,
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0.0,
        ncols=ncols,
    )


def describe(panels: Sequence[Drawing], tables: Tables, scale: str) -> str:
    """The line under the picture: the scale, and the data's seeds and steps, for each panel where they differ.

    For example "Scale quick, 20,000 mini-batch updates; a: 5 seeds; b: 4 seeds." A second line names the seeds that
    diverged, if any.
    """
    facts = {panel.letter: fact for panel in panels if (fact := panel.facts(tables))}
    common = [fact for fact in next(iter(facts.values()), ()) if all(fact in others for others in facts.values())]
    letters: dict[str, list[str]] = {}
    for letter in facts:
        if own := ", ".join(fact for fact in facts[letter] if fact not in common):
            letters.setdefault(own, []).append(letter)
    parts = [", ".join([f"Scale {scale}", *common]), *(f"{', '.join(of)}: {own}" for own, of in letters.items())]
    line = f"{'; '.join(parts)}."
    return "\n".join(filter(None, [line, _describe_divergence(panels, tables)]))


def _describe_divergence(panels: Sequence[Drawing], tables: Tables) -> str:
    """For example "diverged: Dyna-Frequency seed 3 (b, d); Dyna-TD seeds 1, 2 (a)"; nothing if no seed has."""
    letters: dict[str, list[str]] = {}
    for panel in panels:
        for curve in panel.curves:
            seeds = [f"{seed:.0f}" for seed in panel.diverged_seeds(tables, curve)]
            if seeds:
                who = f"{panel.style_table()[curve].label} seed{'s' if len(seeds) > 1 else ''} {', '.join(seeds)}"
                letters.setdefault(who, []).append(panel.letter)
    return "diverged: " + "; ".join(f"{who} ({', '.join(letters[who])})" for who in letters) if letters else ""


def save(figure: Figure, output: Path, source: str | None = None) -> None:
    """Writes `output`, a PNG that may name its `source`, and the PDF of the same stem, without dates inside.

    Raises:
      UserError: if the place cannot be written.
    """
    pictures: dict[Path, Look] = {
        output: {"Software": None, "Source": source},
        output.with_suffix(".pdf"): {"CreationDate": None},
    }
    try:
        for path, metadata in pictures.items():
            with write_whole(path, "wb") as file:
                figure.savefig(file, format=path.suffix[1:], dpi=DOTS_PER_INCH, metadata=metadata)
    except ValueError as error:  # in the mathematics of a title, for example
        raise UserError(f"{output} cannot be drawn ({' '.join(str(error).split())}): correct the title.") from error
    except OSError as error:
        raise UserError(
            f"{output} cannot be written ({error.strerror}): choose an --output in a folder where you may write."
        ) from error
    finally:
        plt.close(figure)
