"""How many times as long other libraries take for the same work: the picture of `make benchmark-peers`."""

import sys
from collections.abc import Sequence

import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from rendering import parse_output, save
from speed import read_benchmark
from style import PANEL_SIZE

from dyna_td.errors import UserError

COLUMNS = ("work", "peer", "version", "ratio")


def main(argv: Sequence[str] | None = None) -> int:
    """Draws the table of `tests/peers/benchmark_peers.py --output`; returns the exit status."""
    arguments = parse_output(argv, "--table", "the CSV of the benchmark of peers")
    try:
        save(draw_ratios(read_benchmark(arguments.table, COLUMNS, "make benchmark-peers")), arguments.output)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def draw_ratios(table: pd.DataFrame) -> Figure:
    """A line a peer: a dot for each pair of times, and their median."""
    peers = dict(iter(table.groupby(["peer", "work", "version"], sort=False)["ratio"]))
    size = (2.4 * PANEL_SIZE[0], 0.9 + 0.45 * len(peers))
    figure, ax = plt.subplots(figsize=size, layout="constrained")
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
    ax.set_xlabel(
        "processor time of the peer / of this project, for one seed;\na dot a pair of times, a bar their median"
    )
    return figure


if __name__ == "__main__":
    sys.exit(main())
