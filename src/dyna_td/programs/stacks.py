"""Stacks of seeds, which one program trains side by side so that no seed's numbers depend on the others."""

import itertools

MAX_STACK = 20  # seeds in one program


def stacks_of(seeds: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Divides `seeds` into stacks of about equal size, each trained by one program.

    A single seed gets a companion, because the compiler would drop the seed axis.
    """
    if len(seeds) == 1:
        return [(seeds[0], seeds[0] + 1)]
    count = -(-len(seeds) // MAX_STACK)
    bounds = [len(seeds) * k // count for k in range(count + 1)]
    return [seeds[low:high] for low, high in itertools.pairwise(bounds)]
