"""Stacks of seeds, which one program trains side by side so that no seed's numbers depend on the others."""

import itertools

from dyna_td.runs.run import Run

MAX_STACK = 20  # seeds in one program


def stacks_of(run: Run) -> list[tuple[int, ...]]:
    """Divides the seeds of `run` into stacks of about equal size, each trained by one program.

    A single seed gets a companion, because the compiler would drop the seed axis.
    """
    if len(run.seeds) == 1:
        return [(run.seeds[0], run.seeds[0] + 1)]
    count = -(-len(run.seeds) // MAX_STACK)
    bounds = [len(run.seeds) * k // count for k in range(count + 1)]
    return [run.seeds[low:high] for low, high in itertools.pairwise(bounds)]
