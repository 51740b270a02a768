"""Hands finished runs over to Snakemake, so that it does not train them again."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.evidence.finished import Finished
from dyna_td.pipeline.files import ROOT


def tell_snakemake(scale: str, runs: Iterable[Finished], directory: Path) -> None:
    """Has Snakemake note that today's parameters make these runs and their sweeps."""
    csvs = [table.csv for made in runs for table in made.tables]
    if not csvs:
        return
    home = os.path.dirname(os.path.abspath(directory))  # links are not followed: results/ may lead to another disk
    targets = [os.path.relpath(csv, home) for csv in csvs]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--touch", "--force"]
    command += [*targets, "--config", f"scale={scale}"]
    done = subprocess.run(command, cwd=home, env=environment(ROOT), capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), "it failed")
        raise UserError(f"Snakemake did not take the runs over ({reason}): try again.")


def environment(checkout: Path) -> dict[str, str]:
    """The environment of a process that imports the sources in `checkout`."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(checkout)])}
