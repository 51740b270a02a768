"""Draws runs that were trained by hand: `python figures/runs.py er.csv dyna_td.csv --output runs.png`."""

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from matplotlib import pyplot as plt
from panels import thousands
from rendering import save
from style import PANEL_SIZE, styles_of

from dyna_td.errors import UserError, require_choice
from dyna_td.evidence.aggregate import smoothed, summarise
from dyna_td.pipeline import results
from dyna_td.pipeline.remedies import naming_damage
from dyna_td.training import checkpoint


def main(argv: Sequence[str] | None = None) -> int:
    """Draws one line a CSV, the mean over its seeds in a band of one standard error; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="CSV", help="what `python -m dyna_td train` wrote")
    parser.add_argument("--output", required=True, type=Path, metavar="PNG", help="the picture; a PDF goes beside it")
    parser.add_argument("--metric", help="a metric of the CSVs (default: return, of the supervised task test_rmse)")
    parser.add_argument("--title", default="", help="a line above the picture")
    parser.add_argument("--window", type=int, default=1, help="evaluations in the moving average (default: 1)")
    arguments = parser.parse_args(argv)
    try:
        if arguments.output.suffix != ".png":
            raise UserError(f"--output is {str(arguments.output)!r}, expected a name that ends in .png.")
        if arguments.window < 1:
            raise UserError(f"--window is {arguments.window}, expected at least 1.")
        figure, axes = plt.subplots(figsize=(1.8 * PANEL_SIZE[0], 1.2 * PANEL_SIZE[1]), layout="constrained")
        metric = arguments.metric
        for number, csv in enumerate(arguments.runs):
            metric = _draw(axes, csv, metric, arguments.window, f"C{number}")
        axes.set_title(textwrap.fill(arguments.title, 80), fontsize="small")
        axes.set_xlabel("steps")
        axes.set_ylabel(metric.replace("_", " "))
        axes.xaxis.set_major_formatter(lambda value, _: thousands(value))
        axes.margins(x=0)
        axes.legend()
        save(figure, arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _draw(axes: plt.Axes, csv: Path, metric: str | None, window: int, colour: str) -> str:
    """Draws the line of one CSV and returns its metric: `metric`, or else the default."""
    if not csv.name.endswith((".csv", ".csv.xz")):
        raise UserError(f"{csv} is no CSV: name one that `python -m dyna_td train` wrote.")
    under_way = None if csv.exists() else checkpoint.records_of(csv.with_suffix(".checkpoint"))
    records, details = under_way or results.read(csv, "python -m dyna_td train")
    if list(records.columns) != results.COLUMNS:
        raise UserError(f"{csv} is not the results of one run: name a CSV that `python -m dyna_td train` wrote.")
    found = sorted(set(records["metric"]))
    metric = metric or ("return" if "return" in found else "test_rmse")
    require_choice(metric, found, f"metric of {csv}")
    rows = summarise(smoothed(records[records["metric"] == metric], window))
    mean, error = rows["mean"], rows["standard_error"]
    with naming_damage(results.provenance_json(csv), "name a CSV that `python -m dyna_td train` wrote"):
        agent, seeds = details["agent"], details["seeds"]
        name, plural = styles_of([agent])[agent].label, "s" if len(seeds) > 1 else ""
        label = f"{name}, {details['environment']}, {len(seeds)} seed{plural}{' (under way)' if under_way else ''}"
    axes.plot(rows["step"], mean, color=colour, label=label)
    axes.fill_between(rows["step"], mean - error, mean + error, color=colour, alpha=0.2, linewidth=0)
    return metric


if __name__ == "__main__":
    sys.exit(main())
