"""Draws every published picture again from the published tables, without TensorFlow."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence.scorecard import EVIDENCE_SCALE
from dyna_td.pipeline import results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.remedies import told_if_damaged
from dyna_td.publishing import reference

SCRIPT = ROOT / "figures" / "draw.py"


def draw_all(figures: Sequence[str], directory: Path = reference.DIRECTORY, output: Path | None = None) -> list[Path]:
    """Draws `figures` into `output`, by default where they are published, one process each; returns the PNGs.

    Raises:
      UserError: if the tables of one are damaged, or its script refuses them.
    """
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(partial(draw, directory=directory, output=output or directory), figures))


def draw(figure: str, directory: Path, output: Path) -> Path:
    """Draws one figure from its tables in `directory`, PNG and PDF; see `draw_all`."""
    scale, png = EVIDENCE_SCALE, Path(output) / figure / f"{figure}.png"
    published = reference.curves_csv(figure, directory)
    with told_if_damaged(published, reference.again(published)):
        content = published.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        curves = Path(folder) / "curves.csv"
        curves.write_bytes(content)
        states = reference.states_csv(figure, directory)
        if states.exists():
            results.states_csv(curves).write_bytes(reference.read_compressed(states))
        command: list[str | Path] = [sys.executable, SCRIPT, figure, "--curves", curves]
        command += ["--scale", scale, "--output", png]
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
        drawn = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    if drawn.returncode:
        said = drawn.stderr.strip().splitlines() or [f"the script ended with status {drawn.returncode}."]
        reason = said[-1].removeprefix("error: ")
        if folder in reason:  # about a table; the script does not know where it comes from
            fault = reason.replace(folder, str(published.parent)).partition(";")[0]
            reason = f"{fault}; {reference.again(published.parent)}."
        raise UserError(f"{figure} cannot be drawn from {directory}: {reason}")
    return png
