"""When, beyond the paper: the return of three agents minus ER's, in worlds that differ in one number, a dial."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import ClassVar

from drawing.dots import SCORES, full_and_hollow
from drawing.panels import Panel
from drawing.style import CurveStyle, style_of
from drawing.tables import Tables, curve_rows
from matplotlib.axes import Axes

from dyna_td.evidence.aggregate import LESS

BASELINE = "er"
RANGE = 2000.0  # the lowest return is -2,000: an episode has at most 2,000 steps of reward -1
# The worlds of each dial, from small to large. The base, which changes nothing, has its place in each.
DIALS = {
    "size of the goal": ("base", "goal_0_1", "goal_0_2", "goal_0_4"),
    "nearness of the goal": ("base", "corner_0_45", "corner_0_25"),
    "noise of the reward": ("base", "reward_noise_0_5", "reward_noise_2"),
    "noise of a step": ("step_noise_0", "base", "step_noise_0_05"),
    "width of the network": ("width_8", "base"),
    "updates a step": ("n_1", "n_5", "base", "n_30"),
    "size of the buffer": ("buffer_5000", "base"),
}
GAP = 0.7  # between the rows of two dials


@dataclass
class Leads(Panel):
    """A row for each world: an agent's return over learning minus ER's, in percent of the range of returns.

    A full dot has a 95% interval that excludes zero.

    Attributes:
      worlds: the declared panels of the figure, by their key.
      is_named: whether the rows have names.
    """

    worlds: dict[str, Panel] = field(default_factory=dict, kw_only=True)
    is_named: bool = field(default=True, kw_only=True)

    height: ClassVar[float] = 6.4  # inches

    @property
    def curve(self) -> str:
        """The key of the agent."""
        return self.curves[0]

    def places(self) -> list[tuple[float, str, str]]:
        """The height of each row, its dial (empty after the dial's first row) and its world."""
        rows, height = [], 0.0
        for dial, worlds in DIALS.items():
            for number, world in enumerate(worlds):
                rows.append((height, "" if number else dial, world))
                height -= 1.0
            height -= GAP
        return rows

    def needs(self) -> list[tuple[str, str, str]]:
        return [(world, self.curve, self.metric + LESS + BASELINE) for world in self.worlds]

    def draw(self, axes: Axes, tables: Tables) -> None:
        colour = style_of(self.curve).colour
        for height, dial, world in self.places():
            row = curve_rows(tables.curves, world, self.curve, self.metric + LESS + BASELINE).iloc[-1]
            mean, low, high = (100 * row[name] / RANGE for name in ("mean", "low95", "high95"))
            axes.plot([low, high], [height, height], color=colour, linewidth=1)
            is_decided = low > 0 or high < 0
            axes.plot(mean, height, "o", markersize=4, color=colour, mfc=colour if is_decided else "white")
            if dial:
                axes.text(0.01, height + 0.55, dial, transform=axes.get_yaxis_transform(), fontsize=7, color="dimgray")
        heights = [height for height, _, _ in self.places()]
        axes.set_yticks(heights, [""] * len(heights))
        if self.is_named:
            axes.set_yticklabels([self.worlds[world].title for _, _, world in self.places()], fontsize=7)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(heights[-1] - 0.8, 1.4)
        axes.axvline(0, color="black", linewidth=0.6, linestyle=":")
        axes.set_xlabel("percent of the range of returns,\n95% interval; right is better", fontsize=8)

    def legend(self) -> tuple[CurveStyle, ...]:
        return full_and_hollow("the interval excludes zero", "it does not")

    def notes(self) -> tuple[str, ...]:
        return (SCORES,)

    def facts(self, tables: Tables) -> tuple[str, ...]:
        rows = curve_rows(tables.curves, "base", self.curve, self.metric + LESS + BASELINE)
        return (f"{rows['n'].iloc[-1]:.0f} seeds",)


def adapt(declared: dict[str, Panel]) -> Mapping[str, Panel]:
    """One panel for each agent, with all worlds in the same rows."""
    shown: dict[str, Panel] = {}
    for curve in declared["base"].curves:
        if curve != BASELINE:
            title = f"{style_of(curve).label} minus ER"
            leads = Leads(ascii_lowercase[len(shown)], title, "return", (curve,), worlds=declared, is_named=not shown)
            shown[leads.letter] = leads
    return shown
