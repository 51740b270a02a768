"""What an update costs, and how Dyna-TD's cost grows: the picture of `make benchmark`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from rendering import parse_output, save
from style import PANEL_SIZE

from dyna_td.benchmark import fitted_curve
from dyna_td.errors import UserError

PANELS = {
    "seeds": "stacked seeds (GridWorld, n = 30)",
    "planning_updates": "n, updates per step (GridWorld)",
    "hidden": "units of each hidden layer (GridWorld, n = 30)",
    "chain_steps": "chain steps at most (Acrobot, n = 10)",
}
_LAYOUT = [["cases", "seeds", "planning_updates"], ["cases", "hidden", "chain_steps"]]


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the table that `python -m dyna_td benchmark --output` wrote; returns the exit status."""
    arguments = parse_output(argv, "--table", "the benchmark's CSV")
    try:
        table = read_table(arguments.table)
        size = (3.4 * PANEL_SIZE[0], 2 * PANEL_SIZE[1])
        figure, axes = plt.subplot_mosaic(_LAYOUT, figsize=size, layout="constrained", width_ratios=[1.3, 1, 1])
        draw_cases(axes["cases"], table[table["table"] == "cases"])
        for name, label in PANELS.items():
            draw_scaling(axes[name], name, table[table["table"] == name], label)
        figure.suptitle(
            "One thread, 20 stacked seeds if not said otherwise; right: Dyna-TD, with curves fitted to the points",
            fontsize=9,
        )
        save(figure, arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def draw_cases(ax: Axes, rows: pd.DataFrame) -> None:
    """A line for each case: what an update of a seed takes, and its matrix products alone."""
    ax.hlines(rows["case"], rows["product_microseconds"], rows["median"], color="lightgrey")
    ax.plot(rows["median"], rows["case"], "o", color="black", label="training")
    ax.plot(rows["product_microseconds"], rows["case"], "o", color="black", mfc="white", label="its products, at best")
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")
    ax.invert_yaxis()
    ax.set_xlabel("microseconds per update of one seed")
    ax.legend(loc="upper right")


def draw_scaling(ax: Axes, name: str, rows: pd.DataFrame, label: str) -> None:
    """Costs by one quantity, and the curve through them."""
    values, milliseconds = rows["case"].astype(float), rows["milliseconds_per_step"]
    formula, curve = fitted_curve(name, values, milliseconds)
    x = np.linspace(0.0, values.max(), 50)
    ax.plot(x, curve(x), color="lightgrey")
    ax.plot(values, milliseconds, "o", color="black")
    ax.text(0.05, 0.92, formula, transform=ax.transAxes, fontsize=8)
    ax.set_xlabel(label, fontsize=8)
    ax.set_ylabel("ms per environment step", fontsize=8)
    ax.set_xlim(0, None)
    ax.set_ylim(0, None)


def read_table(path: Path) -> pd.DataFrame:
    """The rows of a benchmark, at least its cases and what `PANELS` show.

    Raises:
      UserError: if the file is not one that the benchmark wrote in full.
    """
    columns = ("table", "case", "milliseconds_per_step", "median", "product_microseconds")
    table = read_benchmark(path, columns, "make benchmark")
    if not {"cases", *PANELS} <= set(table["table"]):
        raise UserError(f"{path} lacks one of the tables cases, {', '.join(PANELS)}: run `make benchmark`.")
    return table


def read_benchmark(path: Path, columns: Sequence[str], command: str) -> pd.DataFrame:
    """A table with these columns, which `command` writes.

    Raises:
      UserError: if the file cannot be read, or lacks a column.
    """
    try:
        table = pd.read_csv(path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read as a benchmark's CSV ({error}): run `{command}`.") from error
    if missing := [column for column in columns if column not in table]:
        raise UserError(f"{path} lacks the columns {', '.join(missing)}: run `{command}`.")
    return table


if __name__ == "__main__":
    sys.exit(main())
