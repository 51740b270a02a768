"""Draws a figure: `python figures/draw.py figure_4 --curves curves.csv --scale paper --output figure_4.png`.

The panels are those of the plan. A script `figures/<figure>.py`, if there is one, changes their drawings or adds others
by its function `adapt`. Nothing here trains or imports TensorFlow.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from drawing.maps import Heatmap
from drawing.panels import Drawing, Lines, lines
from drawing.rendering import draw_figure, read_tables, save
from drawing.scenes import scene
from drawing.tables import REMEDY, curve_rows, read_table

from dyna_td.errors import exit_status
from dyna_td.plan.planned import Figure, Plan
from dyna_td.plan.plans import load_plan
from dyna_td.records import beginnings, published
from dyna_td.records.results import repeats_csv

CLOCK = "times are this machine's, of jobs side by side, and are not compared"
MAX_COLUMNS = 3  # more in one row make the words too small on a page


def drawings_of(figure: Figure) -> list[Drawing]:
    """The drawings of a figure's panels in reading order."""
    drawings: dict[str, Drawing] = {"a": scene(figure.scene)} if figure.scene else {}
    for panel in (panel for panel in figure.panels.values() if panel.is_drawn):
        drawings[panel.key] = Heatmap(panel) if panel.states else lines(panel)
    if Path(__file__).with_name(f"{figure.name}.py").exists():
        drawings = importlib.import_module(figure.name).adapt(drawings)
    return list(drawings.values())


def columns_of(figure: Figure, drawings: Sequence[Drawing]) -> int:
    """The number of columns that the YAML file declares, or else one row of panels if they fit, or else two columns."""
    return figure.columns or (len(drawings) if len(drawings) <= MAX_COLUMNS else 2)


def add_published(figure: Figure, drawings: Sequence[Drawing], scale: str) -> None:
    """Gives panels of another scale the published curves of the same runs, which are drawn faintly behind their own."""
    csv = published.curves_csv(figure.name)
    if scale == published.SCALE or not csv.exists():
        return
    curves = read_table(csv)
    for drawing in drawings:
        if isinstance(drawing, Lines) and drawing.trained and not drawing.x_metric:
            for curve, run in drawing.panel.curves.items():
                rows = curve_rows(curves, drawing.letter, curve, drawing.drawn_metric)
                if len(rows) and published.read_details(run.name):
                    drawing.published[curve] = rows


def draw(plan: Plan, name: str, curves: Path, output: Path, remedy: str = REMEDY) -> None:
    """Draws the figure `name` of a plan from its tables, the PNG `output` and a PDF beside it.

    `remedy` says how to get a missing or damaged table back.

    Raises:
      UserError: the figure is unknown, a table is missing or damaged, or the picture cannot be written.
    """
    figure = plan.figure(name)
    drawings = drawings_of(figure)
    tables = read_tables(curves, drawings, remedy)
    add_published(figure, drawings, plan.scale)  # first, so that these stay smoothed
    for drawing in drawings:
        if isinstance(drawing, Lines):
            drawing.fit_smoothing(tables)
            if drawing.x_metric and plan.scale != published.SCALE:
                drawing.clock = CLOCK
    repeats = beginnings.read(repeats_csv(curves))
    is_published = any(each.verdict != beginnings.NOT_PUBLISHED for each in repeats)
    note = beginnings.sentence(repeats).capitalize() if is_published else ""
    save(draw_figure(drawings, tables, plan.scale, columns_of(figure, drawings), note), output)


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the figure that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(description="Draws a figure from its tables.")
    parser.add_argument("figure", help="the name of a file in experiments/, such as figure_4")
    parser.add_argument("--curves", type=Path, required=True, help="its curves.csv; states.csv is read beside it")
    parser.add_argument("--scale", required=True, help="scale that made the curves; printed under the picture")
    parser.add_argument("--output", type=_png, required=True, help="picture to write, .png; the .pdf goes beside it")
    arguments = parser.parse_args(argv)
    paths = arguments.curves, arguments.output
    return exit_status(lambda: draw(load_plan(arguments.scale), arguments.figure, *paths))


def _png(text: str) -> Path:
    if Path(text).suffix != ".png":
        raise argparse.ArgumentTypeError(f"{text} does not end in .png; write for example figure_1.png.")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
