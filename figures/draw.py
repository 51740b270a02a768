"""Draws a figure: `python figures/draw.py figure_4 --curves curves.csv --scale paper --output figure_4.png`.

The panels are those of the figure's YAML file. A script `figures/<figure>.py`, if there is one, changes them or adds
others by its function `adapt`. Nothing here trains or imports TensorFlow.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from drawing.maps import heatmap
from drawing.panels import CurvePanel, Panel, curves_panel
from drawing.rendering import draw_figure, read_tables, save
from drawing.tables import curve_rows, read_table

from dyna_td.errors import UserError
from dyna_td.evidence.claims import MeasuredTest, load_claims
from dyna_td.plan.plans import load_plan
from dyna_td.plan.yaml_files import read_checked
from dyna_td.records import beginnings, published
from dyna_td.records.files import ROOT
from dyna_td.records.results import repeats_csv

MOST_COLUMNS = 4  # unless the YAML says otherwise


def panels_of(figure: str, experiments: Path = ROOT / "experiments") -> tuple[list[Panel], int]:
    """The panels of a figure in reading order, and the number of columns.

    Raises:
      UserError: if its YAML file is missing or breaks the schema.
    """
    content = read_checked(experiments / f"{figure}.yaml", "figure")
    panels = {
        letter: heatmap(letter, declared) if "states" in declared else curves_panel(letter, declared)
        for letter, declared in content["panels"].items()
        if declared.get("drawn", True)
    }
    if Path(__file__).with_name(f"{figure}.py").exists():
        panels = importlib.import_module(figure).adapt(panels)
    return list(panels.values()), content.get("columns", min(len(panels), MOST_COLUMNS))


def add_published(figure: str, panels: Sequence[Panel], scale: str) -> None:
    """Gives panels of another scale the published curves of the same runs, which are drawn faintly behind their own."""
    csv = published.curves_csv(figure)
    if scale == published.SCALE or not csv.exists():
        return
    declared, curves = load_plan(scale).figure(figure).panels, read_table(csv)
    for panel in panels:
        if isinstance(panel, CurvePanel) and panel.trained and not panel.x_metric:
            for curve in panel.curves:
                rows = curve_rows(curves, panel.letter, curve, panel.drawn_metric)
                if len(rows) and published.read_details(declared[panel.letter].curves[curve].name):
                    panel.published[curve] = rows


def add_judged(figure: str, panels: Sequence[Panel], scale: str) -> None:
    """Notes for each curve how many seeds a claim judges, and how many there are, if its panel shows fewer."""
    plan = load_plan(scale)
    if figure not in plan.drawn:
        return
    judged: dict[str, tuple[int, int]] = {}
    for test in (test for claim in load_claims(plan) for test in claim.tests):
        if isinstance(test, MeasuredTest) and not test.beside and all(term.run for term in test.terms):
            seeds = set.intersection(*(set(term.run.seeds) for term in test.terms if term.run))
            count = sum(seed >= test.first_seed for seed in seeds)
            judged |= {term.path: max((count, len(seeds)), judged.get(term.path, (0, 0))) for term in test.terms}
    for panel in panels:
        content = plan.drawn[figure].panels.get(panel.letter)
        counts = {curve: judged.get(f"{figure}/{panel.letter}/{curve}", (0, 0)) for curve in panel.curves}
        drawn = content.seeds if content else None
        panel.judged = {curve: (drawn, *n) for curve, n in counts.items() if drawn and n[0] > drawn}


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the figure that the command line names; returns the exit status."""
    parser = argparse.ArgumentParser(description="Draws a figure from its tables.")
    parser.add_argument("figure", help="the name of a file in experiments/, such as figure_4")
    parser.add_argument("--curves", type=Path, required=True, help="its curves.csv; states.csv is read beside it")
    parser.add_argument("--scale", required=True, help="scale that made the curves; printed under the picture")
    parser.add_argument("--output", type=_png, required=True, help="picture to write, .png; the .pdf goes beside it")
    arguments = parser.parse_args(argv)
    try:
        panels, columns = panels_of(arguments.figure)
        tables = read_tables(arguments.curves, panels)
        add_published(arguments.figure, panels, arguments.scale)  # first, so that these stay smoothed
        for panel in panels:
            if isinstance(panel, CurvePanel):
                panel.fit_smoothing(tables)
        add_judged(arguments.figure, panels, arguments.scale)
        repeats = beginnings.read(repeats_csv(arguments.curves))
        is_published = any(each.verdict != beginnings.NOT_PUBLISHED for each in repeats)
        note = beginnings.sentence(repeats).capitalize() if is_published else ""
        save(draw_figure(panels, tables, arguments.scale, columns, note), arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _png(text: str) -> Path:
    if Path(text).suffix != ".png":
        raise argparse.ArgumentTypeError(f"{text} does not end in .png; write for example figure_1.png.")
    return Path(text)


if __name__ == "__main__":
    sys.exit(main())
