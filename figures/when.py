"""When, beyond the paper: the return of other agents minus ER's, in worlds that differ in one number, a dial."""

from string import ascii_lowercase

from drawing.forest import SCORES, Forest, full_and_hollow, hollow_at_zero, interval, seeds_and_steps
from drawing.panels import Drawings, Panels
from drawing.style import Look, style_of
from drawing.tables import Tables
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
        look: Look = {
            "fontsize": 7,
            "color": "dimgray",
            "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        }
        axes.text(0.01, height, dial, transform=axes.get_yaxis_transform(), **look)
    axes.set_ylim(min(HEIGHTS.values()) - 0.8, 1.4)


def drawings_of(panels: Panels, tables: Tables) -> Drawings:
    """A panel for each agent: its return over learning minus ER's in each world, in percent of the range of returns."""
    base = panels["base"]
    percent = KNOWN[base.run.environment].span / 100
    names = {HEIGHTS[row]: panels[row[1]].title for row in ROWS}
    rows_of = {
        curve: [tables.last(world, curve, base.metric + LESS + BASELINE) for _, world in ROWS]
        for curve in base.curves
        if curve != BASELINE
    }
    ahead_first = sorted(rows_of.items(), key=lambda item: item[1][0]["mean"] <= 0)
    for letter, (curve, rows) in zip(ascii_lowercase, ahead_first, strict=False):
        look = style_of(curve)
        yield Forest(
            letter,
            f"{look.label} minus ER",
            names,
            [hollow_at_zero(at, interval(row, percent), look) for at, row in zip(names, rows, strict=True)],
            "percent of the range of returns,\n95% interval; right is better",
            line=0.0,
            inches=6.4,
            guide=None,
            width=1,
            comparable="ahead" if rows[0]["mean"] > 0 else "behind",
            legend=full_and_hollow("the interval excludes zero", "it does not"),
            notes=(SCORES,),
            facts=seeds_and_steps(rows)[:1],
            decorate=name_dials,
        )
