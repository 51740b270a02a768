"""When, beyond the paper: the return of other agents minus ER's, in worlds that differ in one number, a dial."""

from collections.abc import Mapping
from dataclasses import replace
from string import ascii_lowercase

from drawing.forest import Dot, Forest, full_and_hollow
from drawing.panels import Drawing
from drawing.style import style_of
from dyna_td.envs import KNOWN
from matplotlib.axes import Axes

from dyna_td.evidence.aggregate import LESS

BASELINE = "er"
# The worlds of each dial, from small to large. The base changes nothing, and stands in each.
DIALS = {
    "size of the goal": ("base", "goal_0_1", "goal_0_2", "goal_0_4"),
    "nearness of the goal": ("base", "corner_0_45", "corner_0_25"),
    "noise of the reward": ("base", "reward_noise_0_5", "reward_noise_2"),
    "noise of a step": ("step_noise_0", "base", "step_noise_0_05"),
    "width of the network": ("width_8", "base"),
    "updates a step": ("n_1", "n_5", "base", "n_30"),
    "size of the buffer": ("buffer_5000", "base"),
}
ROWS = [(dial, world) for dial, worlds in DIALS.items() for world in worlds]
GAP = 0.7  # between the rows of two dials
HEIGHTS = {row: -index - GAP * list(DIALS).index(row[0]) for index, row in enumerate(ROWS)}


def name_dials(axes: Axes) -> None:
    """Writes the name of each dial above its first row."""
    for dial, worlds in DIALS.items():
        height = HEIGHTS[dial, worlds[0]] + 0.55
        axes.text(0.01, height, dial, transform=axes.get_yaxis_transform(), fontsize=7, color="dimgray")


def adapt(declared: dict[str, Drawing]) -> Mapping[str, Drawing]:
    """A panel for each agent: its return over learning minus ER's in each world, in percent of the range of returns."""
    base = declared["base"].panel
    shown: dict[str, Drawing] = {}
    for key, curve in zip(ascii_lowercase, (curve for curve in base.curves if curve != BASELINE), strict=False):
        look = style_of(curve)
        shown[key] = Forest(
            replace(base, key=key, title=f"{look.label} minus ER", curves={curve: base.curves[curve]}),
            "percent of the range of returns,\n95% interval; right is better",
            {row: replace(look, label=declared[row[1]].panel.title) for row in ROWS},
            [Dot(row, (row[1], curve, base.metric + LESS + BASELINE), look.colour) for row in ROWS],
            line=0.0,
            key=full_and_hollow("the interval excludes zero", "it does not"),
            inches=6.4,
            heights=HEIGHTS,
            margins=(0.8, 1.4),
            guide=None,
            width=1,
            unit=KNOWN[base.run.environment].span / 100,
            is_hollow_at_zero=True,
            decorate=name_dials,
        )
    return shown
