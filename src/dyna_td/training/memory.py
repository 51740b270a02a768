"""Estimates the memory of a training before it begins, so that absurd sizes end in one sentence."""

import itertools
import math
import re
import resource
from pathlib import Path

from dyna_td.errors import UserError
from dyna_td.run import Run

_COPIES = {"buffers": 2, "networks": 6}  # networks: target, gradient, Adam's two means, and work space
_ADDRESSES = 3 * 2**30  # bytes: TensorFlow's compiler aborts with 2.4 GiB of addresses; a training ran with 3.3 GiB


def _free() -> float:
    """The free bytes of this machine, at most those that its container may have; infinite where no file says."""
    table, limit = Path("/proc/meminfo"), Path("/sys/fs/cgroup/memory.max")
    found = re.findall(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else []
    allowed = re.findall(r"^\d+", limit.read_text()) if limit.exists() else []  # else it is "max"
    return min([*(1024 * int(size) for size in found), *map(int, allowed)], default=math.inf)


def require_memory(run: Run, width: int) -> None:
    """Raises UserError if `width` stacked seeds cannot fit into the memory, however small a state is."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit not in (resource.RLIM_INFINITY, -1) and limit < _ADDRESSES:
        raise UserError(
            f"`ulimit -v` leaves {limit / 2**30:,.1f} GiB of addresses, with which TensorFlow would abort: allow "
            f"{_ADDRESSES / 2**30:,.1f} GiB or more."
        )
    free = _free()
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
