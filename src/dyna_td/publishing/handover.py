"""Hands finished runs over to Snakemake, so that it does not train them again."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.pipeline import results
from dyna_td.pipeline.files import ROOT
from dyna_td.pipeline.finished import Finished


def tell_snakemake(scale: str, runs: Iterable[Finished], directory: Path) -> None:
    """Has Snakemake note that today's parameters make these runs and their sweeps.

    Snakemake sets the files' times to now; they get their own back, so that nothing after them looks outdated.
    """
    csvs = [table.csv for made in runs for table in made.tables]
    if not csvs:
        return
    files = [path for csv in csvs for path in (csv, results.provenance_json(csv), results.states_csv(csv))]
    home = os.path.dirname(os.path.abspath(directory))  # links are not followed: results/ may lead to another disk
    targets = [os.path.relpath(csv, home) for csv in csvs]
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--touch", "--force"]
    command += [*targets, "--config", f"scale={scale}"]
    with times_kept([path for path in files if path.exists()]):
        done = subprocess.run(command, cwd=home, env=environment(ROOT), capture_output=True, text=True)
    if done.returncode:
        reason = next((line for line in done.stderr.splitlines() if "error" in line.lower()), "it failed")
        raise UserError(f"Snakemake did not take the runs over ({reason}): try again.")


def environment(checkout: Path) -> dict[str, str]:
    """The environment of a process that imports the sources in `checkout`."""
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout / "src"), str(checkout)])}


@contextmanager
def times_kept(paths: Iterable[Path]) -> Iterator[None]:
    """Gives files their times back when the block ends: a stamped file is not made anew."""
    times = {path: path.stat() for path in paths}
    try:
        yield
    finally:
        for path, before in times.items():
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
