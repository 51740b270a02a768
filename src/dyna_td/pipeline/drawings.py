"""What the figure scripts draw, held against the plan: what a picture would lack is told before hours of training."""

import importlib
import sys
from collections.abc import Iterable

from dyna_td.errors import UserError
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.plans import Figure, Panel, Plan

DIRECTORY = ROOT / "figures"


def require_drawable(plan: Plan) -> None:
    """Checks every figure of `plan` against its script, which imports matplotlib but draws nothing.

    Raises:
      UserError: for a curve without a style, a panel without a run that its script draws, or a figure without a script.
    """
    sys.path.insert(0, str(DIRECTORY))  # the scripts import each other
    try:
        styles = importlib.import_module("style").CURVES
        for figure in plan.drawn.values():
            if not (DIRECTORY / f"{figure.name}.py").exists():
                raise UserError(f"{figure.source}: figures/{figure.name}.py, which would draw it, is missing.")
            panels = importlib.import_module(figure.name).PANELS
            _require_styles(figure, styles, panels)
            for drawn in panels:
                if drawn.curves:
                    _require_drawn(figure, drawn)
    finally:
        sys.path.remove(str(DIRECTORY))


def _require_styles(figure: Figure, styles: dict, drawn: Iterable) -> None:
    """Refuses a curve that has a style neither in `styles` nor in a panel of the figure's script."""
    known = set(styles).union(*(panel.style_table() for panel in drawn))
    for key, panel in figure.panels.items():
        unstyled = [curve for curve in panel.curves if curve not in known]
        if unstyled:
            raise UserError(
                f"{figure.source}: panels.{key}.curves.{unstyled[0]} has no style: give it one in CURVES of "
                f"figures/style.py, or choose one of {', '.join(styles)}."
            )


def _require_drawn(figure: Figure, drawn) -> None:
    """Refuses a figure whose panel does not have what `drawn`, a panel of its script, shows."""
    place = f"{figure.source}: panels"
    panel = figure.panels.get(drawn.letter)
    if panel is None:
        raise UserError(f"{place} lacks {drawn.letter}, which figures/{figure.name}.py draws: make them agree.")
    place += f".{drawn.letter}"
    curves = _curves_of(panel)
    missing = [curve for curve in drawn.curves if curve not in curves]
    if missing:
        raise UserError(
            f"{place} has the curves {', '.join(curves)}, but figures/{figure.name}.py draws {', '.join(missing)}: "
            f"make them agree."
        )
    x_metric = getattr(drawn, "x_metric", "")
    shown = {"metric": drawn.metric, "states": drawn.shows_states, "against": x_metric or panel.against}
    planned = {"metric": panel.metric, "states": panel.states is not None, "against": panel.against}
    for key, value in shown.items():
        if planned[key] != value:
            raise UserError(
                f"{place}.{key} is {planned[key]}, but figures/{figure.name}.py draws {value}: make them agree."
            )


def _curves_of(panel: Panel) -> list[str]:
    if not panel.closed_form:
        return list(panel.curves)
    from dyna_td.measures.hitting_times import CLOSED_FORMS

    return list(CLOSED_FORMS[panel.closed_form]()["curve"].unique())
