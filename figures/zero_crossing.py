"""Draws long chains in one dimension, where |delta| is known: `python figures/zero_crossing.py`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from drawing import style  # sets up matplotlib
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from dyna_td.records import published
from dyna_td.records.files import write_whole
from dyna_td.theory import zero_crossing
from dyna_td.theory.densities import fitted_exponent
from dyna_td.theory.zero_crossing import CELLS, CROSSING, JUMPING, LANGEVIN_STEP, RIPPLED, TDError

CHAINS, STEPS = 256, 20_000  # behind each histogram
MANY, TIME = 2_000, 0.04  # chains that may cross, and step size times steps
RULES: dict[str, tuple[Callable, str, Any]] = {
    "Metropolis-adjusted": (zero_crossing.metropolis_adjusted, style.GREEN, "-."),
    "Langevin rule": (zero_crossing.langevin, style.ORANGE, "-"),
    "Langevin, a / 10": (partial(zero_crossing.langevin, a=LANGEVIN_STEP / 10), style.GREY, "--"),
    "Algorithm 4": (zero_crossing.algorithm_4, style.BLUE, (0, style.LONG)),
    "released rule": (zero_crossing.released, style.BLACK, (0, style.SHORT)),
}


def draw(path: Path) -> None:
    """Four panels: shares of chains across a zero, by step size; visits of long chains, for three kinds of delta."""
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.6), dpi=style.DOTS_PER_INCH, layout="constrained")
    _draw_crossings(axes[0, 0])
    _draw_visits(axes[0, 1], CROSSING, r"(b) $\delta$ changes its sign")
    _draw_visits(axes[1, 0], JUMPING, r"(c) $|\delta|$ jumps")
    _draw_visits(axes[1, 1], RIPPLED, r"(d) $\delta$ changes its sign every few step lengths")
    words = (
        f"(a) {MANY:,} chains. (b to d) {CHAINS} chains of {STEPS:,} steps; spikes above 6.5 are cut. "
        "Nothing is trained; lines have no bands."
    )
    figure.supxlabel(words, fontsize=8, color="dimgray", x=0.01, ha="left")
    with write_whole(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})
    plt.close(figure)


def _draw_crossings(axes: Axes) -> None:
    sizes = [1e-3, 1e-4, 1e-5, 1e-6]
    for name in ("Langevin rule", "Metropolis-adjusted"):
        rule, colour, dash = RULES[name]
        shares = [zero_crossing.share_across(rule(CROSSING, a), round(TIME / a), MANY) for a in sizes]
        axes.plot(sizes, shares, "o", linestyle=dash, color=colour, label=name)
        print(f"{name}: across the zero {', '.join(f'{share:.1%}' for share in shares)}")
    axes.axhline(0.0, color="black", ls=":", label="the diffusion itself: none")
    axes.set(xscale="log", xlabel="step size a, smaller to the right", ylabel="share of chains", ylim=(-0.01, 0.2))
    axes.set_title(rf"(a) chains that crossed $\delta = 0$ by time {TIME:g}")
    axes.invert_xaxis()
    axes.legend(fontsize=8)


def _draw_visits(axes: Axes, error: TDError, title: str) -> None:
    middle, target = (np.arange(CELLS) + 0.5) / CELLS, error.target()
    axes.fill_between(middle, CELLS * target, step="mid", color="#DDDDDD", label=r"$|\delta|$, the claim: 1")
    for name, (rule, colour, dash) in RULES.items():
        shares = zero_crossing.visits(rule(error), STEPS, CHAINS)
        beta = fitted_exponent(shares[None], target[None])[0]
        axes.plot(middle, CELLS * shares, color=colour, ls=dash, lw=1.2, label=f"{name}: {beta:z.2f}")
        print(f"{title}, {name}: exponent {beta:z.2f}")
    axes.set(xlabel="state x", ylabel="density of visits", ylim=(0, 6.5), title=title)
    axes.legend(loc="upper center", fontsize=8, title=r"$\beta$ of $|\delta|^\beta$ that fits best", title_fontsize=8)


if __name__ == "__main__":
    draw(published.HERE / "zero_crossing.png")
