"""Rates, beyond the paper: the agents of figures 13, 4, 12 and 1c at equal learning rates."""

import sys
from dataclasses import replace

from benchmarks import REPLAY, benchmark_panel
from figure_4 import DOMAINS
from figure_13 import PANELS as FIGURE_13
from panels import Panel
from rendering import render
from style import CURVES, CurveStyle

ROUNDABOUT = FIGURE_13[1:]  # crashes, speed and return, without the scene
SWEPT = {  # the agents for which the sweep takes another rate than 0.001, at the paper's scale
    "g": ("er",),
    "h": ("er",),
    "j": ("dyna_frequency", "dyna_value", "prioritized_er"),
    "k": ("dyna_value", "prioritized_er", "er"),
    "l": ("dyna_value", "prioritized_er", "er"),
    "p": ("dyna_frequency", "dyna_value"),
    "q": ("dyna_value",),
    "r": ("dyna_value",),
    "s": ("prioritized_er",),
    "t": ("prioritized_er",),
}
TASKS = [(domain, n) for domain in DOMAINS for n in (5, 10, 30)]


def dotted(style: CurveStyle) -> CurveStyle:
    """How an agent looks whose rate is swept."""
    return replace(style, label=f"{style.label}, swept", dash=":")


def two_rates(styles: dict[str, CurveStyle], others: tuple[str, ...]) -> dict[str, CurveStyle]:
    """Each agent's own line at 0.001, and a dotted one for that of `others` which is swept.

    Args:
      styles: style by agent.
      others: the agents that have a curve `..._fixed` at 0.001 beside their own, which is swept.
    """
    found = {}
    for agent, style in styles.items():
        if agent in others:
            found[f"{agent}_fixed"] = style
            found[agent] = dotted(style)
        else:
            found[agent] = style
    return found


def benchmark(letter: str, title: str, domain: str, styles: dict[str, CurveStyle]) -> Panel:
    """The smoothed evaluation return of all curves of `styles`."""
    return replace(benchmark_panel(letter, title, domain, tuple(styles)), styles=styles)


LABELS = {"er": "ER", "prioritized_er": "PER", "dyna_value": "Value", "dyna_frequency": "Frequency", "dyna_td": "TD"}
AGENTS = {agent: replace(CURVES[agent], label=label) for agent, label in LABELS.items()}
DYNA_TD_SWEPT = {"dyna_td_swept": dotted(AGENTS["dyna_td"])}
PANELS = (
    *(
        replace(panel, letter=letter, title=f"{panel.title}, {rate}")
        for rate, letters in (("learning rate 0.001", "abc"), ("chosen learning rate", "def"))
        for letter, panel in zip(letters, ROUNDABOUT, strict=True)
    ),
    *(
        benchmark(letter, f"{domain}, n = {n}", domain, two_rates(AGENTS, SWEPT.get(letter, ())) | DYNA_TD_SWEPT)
        for letter, (domain, n) in zip("ghijklmnopqr", TASKS, strict=True)
    ),
    *(
        benchmark(letter, f"figure 1c, n = {n}", "MountainCar", two_rates(REPLAY, SWEPT[letter]))
        for letter, n in (("s", 10), ("t", 1))
    ),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=3, same_y=("ad", "be", "cf"))


if __name__ == "__main__":
    sys.exit(main())
