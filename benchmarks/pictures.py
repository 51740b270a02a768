"""The pictures of both benchmarks, beside their tables: `python benchmarks/pictures.py results/benchmark/peers.csv`."""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tools import exit_status

from dyna_td.errors import UserError
from dyna_td.pipeline.files import write_whole

matplotlib.use("Agg")

PANELS = {
    "seeds": "stacked seeds (GridWorld, n = 30)",
    "planning_updates": "n, updates per step (GridWorld)",
    "hidden": "units of each hidden layer (GridWorld, n = 30)",
    "chain_steps": "chain steps at most (Acrobot, n = 10)",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Draws the table of a benchmark; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path, metavar="CSV", help="benchmark.csv or peers.csv")
    path = parser.parse_args(arguments).table

    def draw() -> None:
        name, figure = draw_table(path)
        with write_whole(path.with_name(f"{name}.png"), "wb") as file:
            figure.savefig(file, format="png", dpi=200)
        plt.close(figure)

    return exit_status(draw)


def draw_table(path: Path) -> tuple[str, Figure]:
    """The name of the picture that `path` is drawn as, and the picture.

    Raises:
      UserError: if the file is not one that a benchmark wrote in full.
    """
    try:
        table = pd.read_csv(path)
        if "peer" in table:
            return "peers", draw_ratios(table)
        return "speed", draw_costs({name: rows for name, rows in table.groupby("table")})
    except (OSError, ValueError, KeyError) as error:
        raise UserError(f"{path} is no table of a benchmark ({error}): run `make benchmark`, or its peers'.") from error


def draw_costs(tables: dict[str, pd.DataFrame]) -> Figure:
    """A line for each case, and the growth of Dyna-TD's cost."""
    layout = [["cases", "seeds", "planning_updates"], ["cases", "hidden", "chain_steps"]]
    figure, axes = plt.subplot_mosaic(layout, figsize=(10.2, 6), layout="constrained", width_ratios=[1.3, 1, 1])
    cases = tables["cases"]
    axes["cases"].plot(cases["median"], cases["case"], "o", color="black")
    axes["cases"].set_xscale("log")
    axes["cases"].xaxis.set_major_formatter("{x:g}")
    axes["cases"].invert_yaxis()
    axes["cases"].set_xlabel("microseconds per update of one seed")
    for quantity, label in PANELS.items():
        draw_growth(axes[quantity], quantity, tables[quantity])
        axes[quantity].set_xlabel(label, fontsize=8)
    title = "One thread, 20 stacked seeds if not said otherwise; right: Dyna-TD, with curves fitted to the points"
    figure.suptitle(title, fontsize=9)
    return figure


def draw_growth(ax: Axes, quantity: str, rows: pd.DataFrame) -> None:
    """Costs by one quantity, and the curve through them."""
    values, milliseconds = rows["case"].astype(float), rows["milliseconds_per_step"]
    formula, curve = fitted_curve(quantity, values, milliseconds)
    x = np.linspace(0.0, values.max(), 50)
    ax.plot(x, curve(x), color="lightgrey")
    ax.plot(values, milliseconds, "o", color="black")
    ax.text(0.05, 0.92, formula, transform=ax.transAxes, fontsize=8)
    ax.set_ylabel("ms per environment step", fontsize=8)
    ax.set_xlim(0, None)
    ax.set_ylim(0, None)


def fitted_curve(
    quantity: str, values: Sequence[float], milliseconds: Sequence[float]
) -> tuple[str, Callable[[np.ndarray], np.ndarray]]:
    """A line through costs, whose relative errors are least in the mean square: as a formula, and as a function.

    The costs of networks are a line in the square of their width.
    """
    power, symbol = (2, "x²") if quantity == "hidden" else (1, "x")
    milliseconds = np.asarray(milliseconds, float)
    slope, intercept = np.polyfit(np.asarray(values, float) ** power, milliseconds, 1, w=1 / milliseconds)
    return f"{intercept:.2f} + {slope:.3g} {symbol}", lambda values: intercept + slope * values**power


def draw_ratios(table: pd.DataFrame) -> Figure:
    """A line for each peer: a dot for each pair of times, and their median."""
    peers = dict(iter(table.groupby(["peer", "work", "version"], sort=False)["ratio"]))
    figure, ax = plt.subplots(figsize=(7.2, 0.9 + 0.45 * len(peers)), layout="constrained")
    ax.axvline(1, zorder=0, color="black", linewidth=0.8)
    for line, ratios in enumerate(peers.values()):
        median = ratios.median()
        ax.plot(ratios, [line] * len(ratios), ".", color="gray", alpha=0.6)
        ax.plot(median, line, "|", color="black", markersize=14)
        ax.annotate(f"{median:.3g}", (median, line), (0, 9), textcoords="offset points", ha="center", fontsize=8)
    labels = [f"{peer}\n{work} ({version})" for peer, work, version in peers]
    ax.set_yticks(range(len(peers)), labels, fontsize=7)
    ax.set_ylim(len(peers) - 0.5, -0.7)
    ax.set_xscale("log")
    ax.set_xlim(min(0.9, ax.get_xlim()[0]), None)
    ax.set_xlabel("processor time of the peer / of this project, for one seed;\na dot for each pair, a bar: the median")
    return figure


if __name__ == "__main__":
    sys.exit(main())
