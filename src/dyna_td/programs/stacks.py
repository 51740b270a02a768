"""Stacks of seeds, which one program trains side by side so that no seed's numbers depend on the others."""

import itertools
from collections.abc import Sequence

from dyna_td.learning import arithmetic
from dyna_td.runs.registry import is_supervised
from dyna_td.runs.run import Run
from dyna_td.settings import DDPGSettings

MAX_STACK = 20  # seeds in one program


def stacks_of(run: Run) -> list[tuple[int, ...]]:
    """Divides the seeds of `run` into stacks of about equal size, each trained by one program.

    A single seed gets a companion, because the compiler would drop the seed axis.
    """
    if not arithmetic.is_portable() and not is_supervised(run.environment):
        return _older_stacks(run)
    return _stacks(run.seeds, MAX_STACK)


def _stacks(seeds: tuple[int, ...], largest: int) -> list[tuple[int, ...]]:
    if len(seeds) == 1:
        return [(seeds[0], seeds[0] + 1)]
    count = -(-len(seeds) // largest)
    bounds = [len(seeds) * k // count for k in range(count + 1)]
    return [seeds[low:high] for low, high in itertools.pairwise(bounds)]


def _older_stacks(run: Run) -> list[tuple[int, ...]]:
    """Stacks for older published runs, of the sizes that agree under XLA's own arithmetic, filled by companions."""
    widths: Sequence[int] = (4, 8, 16, 20)
    if getattr(run.settings, "search_control", "") == "algorithm_4":
        widths = (20,)
    elif isinstance(run.settings, DDPGSettings):
        widths = (5,)
    others = [seed for seed in range(len(run.seeds) + MAX_STACK) if seed not in run.seeds]
    return [
        stack + tuple(seed for seed in others if seed not in stack)[: width - len(stack)]
        for stack in _stacks(run.seeds, min(MAX_STACK, widths[-1]))
        for width in [next(width for width in widths if width >= len(stack))]
    ]
