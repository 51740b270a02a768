"""Sensitivity, beyond the paper: does a number matter that the paper does not state? One at a time."""

import sys
from dataclasses import replace

from benchmarks import REPLAY, RETURNS
from panels import DRIVING_STEPS, ENVIRONMENT_STEPS, UPDATES, Panel
from rendering import render
from style import CURVES, CurveStyle, graded

DASHES = (":", "--", "-")  # from the smallest value to the largest


def families(agents: dict[str, CurveStyle], values: dict[str, str]) -> dict[str, CurveStyle]:
    """Styles of each agent with each of three values: the agent's colour, and the value's dash.

    Args:
      agents: style by agent.
      values: how the legend shows a value, by what follows the agent in the curve's key.
    """
    return {
        f"{agent}{suffix}": replace(style, label=f"{style.label}, {text}", dash=dash)
        for agent, style in agents.items()
        for (suffix, text), dash in zip(values.items(), DASHES, strict=True)
    }


REGRESSION = {agent: CURVES[agent] for agent in ("l2", "prioritized_l2", "full_prioritized_l2")}
UPDATES_A_STEP = families(REPLAY, {"_n1": "n = 1", "_n3": "n = 3", "": "n = 10"})
BATCHES = families(
    {agent: replace(style, label=style.label.replace("Prioritized", "P")) for agent, style in REGRESSION.items()},
    {"_b32": "b = 32", "": "b = 128", "_b512": "b = 512"},
)
QUEUES = graded({"queue_2000": "2,000", "queue_20000": "20,000", "queue_100000": "100,000", "dyna_td": "all (1M)"})
NOISES = graded(
    {"noise_0": "none", "noise_half": "half", "dyna_td": "as released", "noise_2": "twice", "noise_4": "4 times"}
)
EXPONENTS = graded({"exponent_03": "0.3", "exponent_06": "0.6", "prioritized_er": "1", "exponent_15": "1.5"})
SHORT_LABELS = {"dyna_td": "TD", "dyna_frequency": "Freq.", "dyna_value": "Value"}
MAZE_GOALS = {
    f"{agent}{suffix}": replace(CURVES[agent], label=f"{label}{text}", dash=dash)
    for agent, label in SHORT_LABELS.items()
    for suffix, text, dash in (("", "", "-"), ("_goals", ", queued", ":"))
}
GOALS = {curve: style for curve, style in MAZE_GOALS.items() if "frequency" not in curve}
ACCEPTANCES = graded({"acceptance_002": "0.02", "dyna_td": "the mean move's", "acceptance_01": "0.1"})
ROUNDABOUT = {
    "dyna_td_learned": CurveStyle("Dyna-TD", "black"),
    "acceptance_01": CurveStyle("Dyna-TD, 0.1", "black", ":"),
    **{agent: CURVES[agent] for agent in ("prioritized_er", "er")},
}
RELEASED = {
    "dyna_td_learned": CurveStyle("Dyna-TD", "black"),
    "dyna_td_released": CurveStyle("to 100k, less noise", "black", ":"),
    "er": CURVES["er"],
}
SMOOTHING_AGENTS = {agent: CURVES[agent] for agent in ("dyna_td", "prioritized_er", "er")}


def return_panel(letter: str, title: str, domain: str, styles: dict[str, CurveStyle], smoothed: bool = True) -> Panel:
    """The evaluation return on `domain` of all curves of `styles`."""
    return Panel(
        letter,
        title,
        "return",
        tuple(styles),
        ENVIRONMENT_STEPS,
        y_limits=RETURNS[domain],
        smoothed=smoothed,
        styles=styles,
    )


QUEUE_DISTANCE = Panel(
    "c",
    "the same: distance",
    "distance_uniform",
    tuple(QUEUES),
    ENVIRONMENT_STEPS,
    y_limits=(3e-4, None),
    styles=QUEUES,
)
MODEL_END = Panel(
    "p", "figure 6a: end of the model", "return", tuple(RELEASED), ENVIRONMENT_STEPS, smoothed=True, styles=RELEASED
)
PANELS = (
    return_panel("a", "figure 1c: updates n", "MountainCar", UPDATES_A_STEP, smoothed=False),
    return_panel("b", "Dyna-TD, GridWorld: queue", "GridWorld", QUEUES),
    QUEUE_DISTANCE,
    return_panel("d", "Dyna-TD, GridWorld: noise", "GridWorld", NOISES),
    return_panel("e", "PER, GridWorld: exponent", "GridWorld", EXPONENTS),
    return_panel("f", "PER, MountainCar: exponent", "MountainCar", EXPONENTS),
    Panel("g", "figure 1a: mini-batch b", "test_rmse", tuple(BATCHES), UPDATES, x_scale="log", styles=BATCHES),
    return_panel("h", "MountainCar, not smoothed", "MountainCar", SMOOTHING_AGENTS, smoothed=False),
    return_panel("i", "the same, window of 30", "MountainCar", SMOOTHING_AGENTS),
    return_panel("j", "GridWorld, n = 30: goal states", "GridWorld", GOALS),
    Panel(
        "k",
        "the same: coverage",
        "entropy_10",
        tuple(GOALS),
        ENVIRONMENT_STEPS,
        y_label="entropy (nats, at most 4.6)",
        y_limits=(None, 4.7),
        styles=GOALS,
    ),
    replace(QUEUE_DISTANCE, letter="l", title="the same: distance", curves=tuple(GOALS), styles=GOALS),
    return_panel("m", "figure 14: goal states", "MazeGridWorld", MAZE_GOALS),
    return_panel("n", "Dyna-TD, GridWorld: acceptance", "GridWorld", ACCEPTANCES),
    Panel(
        "o",
        "figure 13b: acceptance",
        "crashes",
        tuple(ROUNDABOUT),
        DRIVING_STEPS,
        equally_long=False,
        styles=ROUNDABOUT,
    ),
    MODEL_END,
    replace(MODEL_END, letter="q", title="figure 6b: the same"),
)


def main(argv: list[str] | None = None) -> int:
    """Draws the picture; returns the exit status."""
    return render(PANELS, argv, columns=3)


if __name__ == "__main__":
    sys.exit(main())
