"""Estimates the memory of a training before it begins, so that absurd sizes end in one sentence."""

import itertools
import math

from dyna_td.errors import UserError
from dyna_td.learning import memory
from dyna_td.runs.run import Run

_COPIES = {"buffers": 2, "networks": 6}  # networks: target, gradient, Adam's two means, and work space


def require_memory(run: Run, width: int) -> None:
    """Raises UserError if `width` stacked seeds cannot fit into the memory, however small a state is."""
    free = memory.free()
    settings = run.settings
    hidden = (1, *settings.hidden, 1)
    numbers = {
        "buffers": min(getattr(settings, "buffer_capacity", 0), run.length) * 7,  # s, s', a, r, terminated, priorities
        "networks": sum(map(math.prod, itertools.pairwise(hidden))) + settings.batch_size * sum(hidden),
    }
    parts = {what: 4 * width * _COPIES[what] * count for what, count in numbers.items()}
    if sum(parts.values()) > free:
        sizes = ", ".join(f"{what} {size / 2**30:,.1f}" for what, size in parts.items())
        raise UserError(
            f"{width} stacked seeds need at least {sum(parts.values()) / 2**30:,.1f} GiB ({sizes}) and "
            f"{free / 2**30:,.1f} GiB are free: choose smaller --buffer-capacity, --hidden or --batch-size, or fewer "
            "--steps or --seeds."
        )
