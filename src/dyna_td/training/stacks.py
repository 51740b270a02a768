"""Stacks of seeds, which one program trains side by side so that no seed's numbers depend on the others."""

import itertools
from collections.abc import Sequence

from dyna_td.registry import is_supervised
from dyna_td.settings import DDPGSettings, Run

LARGEST_STACK = 20  # seeds in one program
WIDTHS: Sequence[int] = (4, 8, 16, 20)  # sizes of compiled stacks; their numbers agree to the last bit
BOX_WIDTH = 5  # the same where actions are vectors


def stack_seeds(seeds: tuple[int, ...], largest: int) -> list[tuple[int, ...]]:
    """Divides seeds into stacks of about equal size, at most `largest`, each trained by one program.

    A single seed gets a companion, because the compiler would drop the seed axis.
    """
    if len(seeds) == 1:
        return [(seeds[0], seeds[0] + 1)]
    count = -(-len(seeds) // largest)
    bounds = [len(seeds) * k // count for k in range(count + 1)]
    return [seeds[low:high] for low, high in itertools.pairwise(bounds)]


def stacks_of(run: Run) -> list[tuple[int, ...]]:
    """The stacks of `run`; in control, companions fill each up to one of `widths_of(run)`.

    Seed k's numbers must not depend on its neighbours, to the last bit. Whether the compiler rounds a product and a sum
    once or twice depends on the lengths of small arrays. It differs in MountainCar's twin with 2 seeds and in
    CartPole's with 5 or 6. In Dyna agents' mean move it differs with 5 to 15. So only a few sizes are compiled, which
    are known to agree: benchmarks/packing.py.
    """
    if is_supervised(run.environment):
        return stack_seeds(run.seeds, LARGEST_STACK)
    widths = widths_of(run)
    stacks = stack_seeds(run.seeds, min(LARGEST_STACK, widths[-1]))
    others = [seed for seed in range(len(run.seeds) + LARGEST_STACK) if seed not in run.seeds]
    return [
        stack + tuple(seed for seed in others if seed not in stack)[: width - len(stack)]
        for stack in stacks
        for width in [next(width for width in widths if width >= len(stack))]
    ]


def widths_of(run: Run) -> Sequence[int]:
    """The sizes of stacks that are compiled for `run`.

    `algorithm_4` has only the largest, because 4 and 8 differ on Acrobot. Action vectors have only that of the
    published runs, because 4 and 5 differ on Walker2d.
    """
    if getattr(run.settings, "search_control", "") == "algorithm_4":
        return WIDTHS[-1:]
    return (BOX_WIDTH,) if isinstance(run.settings, DDPGSettings) else WIDTHS
