"""Draws the twelve panels of figures 4 and 12 together, for `make readme`.

A performance profile, and each agent's probability of improvement over ER.
"""

from pathlib import Path

import numpy as np
from drawing.forest import Dot, draw_dot
from drawing.rendering import draw_footer, save
from drawing.style import PANEL_SIZE, style_of
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from dyna_td.evidence import profiles
from dyna_td.evidence.labels import BENCHMARK
from dyna_td.pages.facts import Facts

BASELINE = "er"
WORDS = (
    "A score is a seed's mean return over learning, as a share of the range of returns. {} panels, {} seeds each. "
    "Bands and bars: 95% intervals by resampling seeds in each panel."
)


def draw_profiles(axes: Axes, scores: dict[str, np.ndarray]) -> None:
    """A line for each agent: the share of trainings with a score above a threshold."""
    thresholds = np.linspace(0, 1, 201)
    for curve, of_curve in scores.items():
        look, found = style_of(curve), profiles.profile(of_curve, thresholds)
        axes.plot(thresholds, found.mean, color=look.colour, linestyle=look.linestyle, label=look.label)
        axes.fill_between(thresholds, found.low, found.high, color=look.colour, alpha=0.15, linewidth=0)
    axes.set(xlabel="score", ylabel="share of trainings with a higher score", xlim=(0, 1), ylim=(0, 1))
    axes.set_title("(a) performance profile")
    axes.legend(loc="lower left")


def draw_improvements(axes: Axes, scores: dict[str, np.ndarray]) -> None:
    """A dot for each agent: the chance that one of its trainings has a higher score than one of ER's."""
    agents = [curve for curve in scores if curve != BASELINE]
    for row, curve in enumerate(agents):
        draw_dot(axes, Dot(-row, profiles.improvement(scores[curve], scores[BASELINE]), style_of(curve)))
    axes.axvline(0.5, color="black", linewidth=0.6, linestyle=":")
    axes.set_yticks(-np.arange(len(agents)), [style_of(curve).label for curve in agents])
    axes.tick_params(axis="y", length=0)
    axes.set(ylim=(-len(agents) + 0.4, 0.6), xlabel="P(a training of the agent is better than one of ER)")
    axes.set_title("(b) probability of improvement over ER")


def draw(facts: Facts, output: Path) -> None:
    """Draws both panels, a PNG and a PDF, from the published runs."""
    found = profiles.scores(facts.plan)
    scores = {curve: found[curve] for curve in BENCHMARK if curve in found}
    figure, axes = plt.subplots(1, 2, figsize=(3 * PANEL_SIZE[0], 1.2 * PANEL_SIZE[1]), layout="constrained")
    draw_profiles(axes[0], scores)
    draw_improvements(axes[1], scores)
    draw_footer(figure, WORDS.format(*scores[BASELINE].shape))
    save(figure, output)
