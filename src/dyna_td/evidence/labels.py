"""What pages and pictures call agents, verdicts, tasks and windows: one table for all of them."""

from dyna_td.evidence.verdicts import VERDICTS

BENCHMARK = ("er", "prioritized_er", "dyna_td", "dyna_td_learned", "dyna_value", "dyna_frequency")  # figures 4 and 12
SINE = ("l2", "prioritized_l2", "full_prioritized_l2", "cubic", "power4")
CURVES = {
    "er": "ER",
    "prioritized_er": "PrioritizedER",
    "full_prioritized_er": "Full-PrioritizedER",
    "dyna_td": "Dyna-TD",
    "dyna_td_learned": "Dyna-TD, learned model",
    "dyna_td_long": "Dyna-TD-Long",
    "dyna_value": "Dyna-Value",
    "dyna_frequency": "Dyna-Frequency",
    "l2": "L2",
    "prioritized_l2": "PrioritizedL2",
    "full_prioritized_l2": "Full-PrioritizedL2",
    "cubic": "Cubic",
    "power4": "Power4",
}
LETTERS = dict(zip(VERDICTS, "SCU-", strict=True))
WINDOWS = {"early": "first third of learning", "final": "last 20 evaluations"}  # those that are not all of learning
DIFFERENCES = "differences"  # the picture of the benchmarks' comparisons


def task(environment: str) -> str:
    """An environment without its version: MountainCar."""
    return environment.partition("-")[0]
