"""Draws runs that were trained by hand: `python figures/runs.py er.csv dyna_td.csv --output runs.png`."""

import sys
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pandas as pd
from drawing.panels import LINES, Lines, metric_label, smoothing_words
from drawing.rendering import draw_footer, save
from drawing.style import PANEL_SIZE, styles_of
from matplotlib import pyplot as plt

from dyna_td.commands.arguments import Parser
from dyna_td.errors import UserError, exit_status, require_choice
from dyna_td.evidence.aggregate import smoothed, summarise
from dyna_td.evidence.comparison import ENDINGS
from dyna_td.evidence.labels import name_of
from dyna_td.records import results, unfinished
from dyna_td.records.metrics import MAIN
from dyna_td.runs.registry import LEARNED


def main(argv: Sequence[str] | None = None) -> int:
    """Draws one line per CSV, the mean over its seeds in a band of one standard error; returns the exit status."""
    parser = Parser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path, metavar="CSV", help="what `python -m dyna_td train` wrote")
    parser.add_argument("--output", required=True, type=Path, metavar="PNG", help="the picture; a PDF is put beside it")
    parser.add_argument("--metric", help="a metric of the CSVs (default: return; on the supervised task test_rmse)")
    parser.add_argument("--window", type=int, default=1, help="evaluations in the moving average (default: 1)")

    def draw_own() -> None:
        arguments = parser.parse_args(argv)
        draw_runs(arguments.runs, arguments.output, metric=arguments.metric, window=arguments.window)
        print(f"wrote {arguments.output}")

    return exit_status(draw_own)


def draw_runs(csvs: Sequence[Path], output: Path, metric: str | None = None, title: str = "", window: int = 1) -> None:
    """Draws the runs at `csvs` as the PNG `output`, and a PDF beside it; see `main`.

    Raises:
      UserError: `output` or `window` is bad, a file is no run, or a run lacks the metric.
    """
    if window < 1:
        raise UserError(f"--window is {window}, expected at least 1.")
    if (pdf := output.with_suffix(".pdf")).exists() and not output.exists():
        raise UserError(f"{pdf} is there, and would be replaced: choose another --output.")
    runs: dict[str, OwnRun] = {}
    for csv in csvs:
        run = read(csv, metric)
        metric = run.metric
        runs[run.agent if run.agent not in runs else f"{run.agent} {len(runs)}"] = run  # has the next free colour
    window = min(window, max(run.records["step"].nunique() for run in runs.values()))
    rows = {key: summarise(smoothed(run.records, window)) for key, run in runs.items()}
    labels = labels_of(runs)
    styles = {key: replace(style, label=labels[key]) for key, style in styles_of(list(runs)).items()}
    figure, axes = plt.subplots(figsize=(1.8 * PANEL_SIZE[0], 1.2 * PANEL_SIZE[1]), layout="constrained")
    Lines("", "", rows, styles, {"xlabel": "steps", "ylabel": metric_label(run.metric)}).draw(axes)
    figure.legend(loc="outside upper center", fontsize="small")  # never over the data
    axes.set_title(textwrap.fill(plain(title), 80), fontsize="small")
    draw_footer(figure, f"{LINES} {smoothing_words(window)}" if window > 1 else LINES)
    save(figure, output, source="figures/runs.py")


def plain(text: str) -> str:
    """A text with its dollars as such, between which Matplotlib would read mathematics."""
    return text.replace("$", r"\$")


class OwnRun(NamedTuple):
    """A run as the picture shows it: its agent, the drawn metric, its records, label, settings in words, and file."""

    agent: str
    metric: str
    records: pd.DataFrame
    label: str
    settings: str
    file: str


def labels_of(runs: dict[str, OwnRun]) -> dict[str, str]:
    """The label of each run; where several have the same, with their settings, and then with their files."""
    labels = {key: run.label for key, run in runs.items()}
    for addition in ("settings", "file"):
        count = Counter(labels.values())
        labels |= {
            key: f"{label}, {plain(getattr(runs[key], addition))}" for key, label in labels.items() if count[label] > 1
        }
    return labels


def read(csv: Path, metric: str | None) -> OwnRun:
    """The run at `csv` with its `metric`, or the default one; of a training under way, the evaluations so far."""
    if not csv.name.endswith(ENDINGS):
        raise UserError(f"{csv} is no CSV: name one that `python -m dyna_td train` wrote.")
    under_way = None if csv.exists() else unfinished.records_of(results.beside(csv, "checkpoint"))
    records, details = under_way or results.read_training(csv)
    found = sorted(set(records["metric"]))
    metric = metric or next((name for name in MAIN if name in found), MAIN[0])
    require_choice(metric, found, f"metric of {csv}")
    is_learned = details["settings"].get("model") == "learned"
    name, seeds = name_of(details["agent"]) + LEARNED * is_learned, records["seed"].nunique()
    label = f"{plain(name)}, {plain(details['environment'])}, {seeds} seed{'s' if seeds > 1 else ''}"
    label += " (under way)" if under_way else ""
    settings = details["run"].rpartition("/")[2]
    agent = details["agent"] + "_learned" * is_learned  # the key of its look
    return OwnRun(agent, metric, records[records["metric"] == metric], label, settings, str(csv))


if __name__ == "__main__":
    sys.exit(main())
