"""Draws a figure: `python figures/draw.py figure_4 --curves curves.csv --scale paper --output figure_4.png`.

The panels are those of the plan. A script `figures/<figure>.py` with a function `drawings_of` draws them in its own
way. Nothing here trains or imports TensorFlow.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from drawing.maps import heatmap
from drawing.panels import Drawing, lines
from drawing.rendering import draw_figure, save
from drawing.scenes import scene
from drawing.tables import REMEDY, Tables, curve_rows, read_tables

from dyna_td.errors import UserError, exit_status
from dyna_td.evidence.labels import name_of
from dyna_td.plan.planned import Figure, Panel, Plan
from dyna_td.plan.plans import load_plan
from dyna_td.records import beginnings
from dyna_td.records.results import repeats_csv


def all_drawings(figure: Figure, tables: Tables) -> list[Drawing]:
    """The drawings of a figure's panels in reading order.

    Raises:
      UserError: `tables` lack a row, or the figure's script does not fit its YAML file.
    """
    panels = {key: panel for key, panel in figure.panels.items() if panel.is_drawn}
    has_script = Path(__file__).with_name(f"{figure.name}.py").exists()
    try:
        own = getattr(importlib.import_module(figure.name), "drawings_of", None) if has_script else None
        drawings = [*own(panels, tables)] if own else [_drawing(panel, tables) for panel in panels.values()]
        if not drawings:
            raise ValueError("no drawings")
    except UserError:
        raise
    except Exception as error:  # a script of the user's own, or one for another YAML file, may raise anything
        script = f"figures/{figure.name if has_script else 'draw'}.py"
        raise UserError(
            f"{script} cannot draw the panels of experiments/{figure.name}.yaml "
            f"({type(error).__name__}: {error}): undo the edit of one of them, or change the other, too."
        ) from error
    return [*([scene(figure.scene)] if figure.scene else []), *drawings]


def _drawing(panel: Panel, tables: Tables) -> Drawing:
    return heatmap(panel, tables) if panel.states else lines(panel, tables)


def draw(plan: Plan, name: str, curves: Path, output: Path, remedy: str = REMEDY) -> None:
    """Draws the figure `name` of a plan from its tables, the PNG `output` and a PDF beside it.

    `remedy` says how to get a missing or damaged table back.

    Raises:
      UserError: the figure is unknown, a table is missing or damaged, or the picture cannot be written.
    """
    figure = plan.figure(name)
    tables = read_tables(figure, curves, plan.scale, remedy)
    drawings = all_drawings(figure, tables)
    repeats = beginnings.read(repeats_csv(curves))
    is_published = any(each.verdict != beginnings.NOT_PUBLISHED for each in repeats)
    repeated = beginnings.sentence(repeats).capitalize() if is_published else ""
    note = "\n".join(filter(None, [divergence(figure, tables), repeated]))
    save(draw_figure(drawings, plan.scale, figure.columns, note), output)


def divergence(figure: Figure, tables: Tables) -> str:
    """For example "diverged: Dyna-Frequency seed 3 (b, d); Dyna-TD seeds 1, 2 (a)"; nothing if no seed has."""
    letters: dict[str, list[str]] = {}
    for letter, panel in figure.panels.items():
        for curve in panel.curves if panel.is_drawn else ():
            seeds = sorted(curve_rows(tables.curves, letter, curve, "diverged_seed")["mean"])
            if seeds:
                words = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(f'{seed:.0f}' for seed in seeds)}"
                letters.setdefault(f"{panel.labels.get(curve) or name_of(curve)} {words}", []).append(letter)
    return "diverged: " + "; ".join(f"{who} ({', '.join(letters[who])})" for who in letters) if letters else ""


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the figure that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(description="Draws a figure from its tables.")
    parser.add_argument("figure", help="the name of a file in experiments/, such as figure_4")
    parser.add_argument("--curves", type=Path, required=True, help="its curves.csv; states.csv is read beside it")
    parser.add_argument("--scale", required=True, help="scale that made the curves; printed under the picture")
    parser.add_argument("--output", type=Path, required=True, help="picture to write, .png; the .pdf goes beside it")
    arguments = parser.parse_args(argv)
    paths = arguments.curves, arguments.output
    return exit_status(lambda: draw(load_plan(arguments.scale), arguments.figure, *paths))


if __name__ == "__main__":
    sys.exit(main())
