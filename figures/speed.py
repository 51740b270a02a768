"""How Dyna-TD's cost grows with seeds, planning updates and chain length: the picture of `make benchmark`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
from matplotlib import pyplot as plt
from rendering import parse_output, save
from style import PANEL_SIZE

from dyna_td.errors import UserError

PANELS = {
    "seeds": "stacked seeds (GridWorld, n = 30)",
    "planning_updates": "n, updates per step (GridWorld, 20 seeds)",
    "chain_steps": "chain steps at most (Acrobot, n = 10, 20 seeds)",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the table that `python -m dyna_td benchmark --output` wrote; returns the exit status."""
    arguments = parse_output(argv, "--table", "the benchmark's CSV")
    try:
        table = read_table(arguments.table)
        figure, axes = plt.subplots(1, 3, figsize=(3 * PANEL_SIZE[0], PANEL_SIZE[1]), layout="constrained", sharey=True)
        for ax, (name, label) in zip(axes, PANELS.items(), strict=True):
            rows = table[table["table"] == name]
            ax.plot(rows["case"].astype(int), rows["milliseconds_per_step"], color="black", marker="o")
            ax.set_xlabel(label, fontsize=8)
            ax.set_xlim(0, None)
        axes[0].set_ylim(0, None)
        axes[0].set_ylabel("milliseconds per environment step")
        figure.suptitle("Dyna-TD on one thread", fontsize=9)
        save(figure, arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def read_table(path: Path) -> pd.DataFrame:
    """The rows of a benchmark: table, case, milliseconds_per_step.

    Raises:
      UserError: if the file is not one that the benchmark wrote in full.
    """
    table = read_benchmark(path, ("table", "case", "milliseconds_per_step"), "make benchmark")
    if not set(PANELS) <= set(table["table"]):
        raise UserError(f"{path} lacks one of the tables {', '.join(PANELS)}: run `make benchmark`.")
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
