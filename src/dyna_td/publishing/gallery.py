"""Draws every published picture again from the published tables, without TensorFlow."""

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence import reference
from dyna_td.evidence.scorecard import EVIDENCE_SCALE
from dyna_td.pipeline.files import ROOT
from dyna_td.publishing import handover

SCRIPT = ROOT / "figures" / "draw.py"


def draw_all(figures: Sequence[str]) -> list[Path]:
    """Draws `figures` where they are published, one process each; returns the PNGs.

    Raises:
      UserError: if the tables of one are damaged, or its script refuses them.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda figure: draw(figure, reference.DIRECTORY, reference.DIRECTORY), figures))


def draw(figure: str, directory: Path, output: Path) -> Path:
    """Draws one figure from its tables in `directory`, PNG and PDF; see `draw_all`."""
    png, curves = Path(output) / figure / f"{figure}.png", reference.curves_csv(figure, directory)
    tables = ["--curves", str(curves), "--scale", EVIDENCE_SCALE, "--output", str(png)]
    command = [sys.executable, str(SCRIPT), figure, *tables]
    environment = handover.environment(ROOT)
    drawn = subprocess.run(command, env=environment, capture_output=True, text=True)
    if drawn.returncode:
        said = drawn.stderr.strip().splitlines() or [f"the script ended with status {drawn.returncode}."]
        fault = said[-1].removeprefix("error: ").partition(";")[0].rstrip(".")
        raise UserError(f"{figure} cannot be drawn from {directory}: {fault}; {reference.again(curves.parent)}.")
    return png
