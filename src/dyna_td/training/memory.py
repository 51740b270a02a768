"""The memory that a training needs, estimated before it begins."""

import itertools
import math
import re
from pathlib import Path

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.settings import Run

_BASE = 2**30  # bytes of TensorFlow and a compiled program, measured
_COPIES = {
    "buffers": 2,
    "networks": 6,
    "mini-batches": 4,
}  # networks: target, gradient, Adam's two means, and work space
_SMALL = 10**8  # bytes; a smaller need is not checked, because that would make an environment


def require_memory(run: Run, width: int) -> None:
    """Raises UserError if the arrays of `width` stacked seeds of `run` do not fit into this machine's free memory."""
    free = _free()
    if free is None:
        return
    settings = run.settings
    transitions = min(getattr(settings, "buffer_capacity", 0), run.length)
    fills = run.length // getattr(settings, "search_every", 1) + 1
    queued = min(getattr(settings, "queue_capacity", 0), fills * getattr(settings, "states_per_fill", 0))

    def needs(d: int, a: int) -> dict[str, int]:
        layers = (d, *settings.hidden, a)
        numbers = {
            "buffers": transitions * (2 * d + a + 4) + queued * d,  # with a sum tree of priorities
            "networks": sum(map(math.prod, itertools.pairwise(layers))),
            "mini-batches": settings.batch_size * sum(layers),
        }
        return {what: 4 * width * _COPIES[what] * count for what, count in numbers.items()}

    if sum(needs(1, 1).values()) < _SMALL:
        return
    parts = needs(*_dimensions(run.environment))
    if _BASE + sum(parts.values()) > free:
        described = ", ".join(f"{what} {size / 2**30:,.1f}" for what, size in parts.items())
        raise UserError(
            f"{width} stacked seeds need about {(_BASE + sum(parts.values())) / 2**30:,.1f} GiB ({described}) and "
            f"{free / 2**30:,.1f} GiB are free: choose smaller --buffer-capacity, --queue-capacity, --hidden or "
            "--batch-size, or fewer --steps or --seeds."
        )


def _dimensions(environment: str) -> tuple[int, int]:
    """The numbers in a state, and in an action."""
    if registry.is_supervised(environment):
        return 1, 1
    if registry.has_twin(environment):
        return registry.load(registry.twin_of(environment)).state_dim, 1
    import envs  # imported late, because Gymnasium takes a moment

    made = envs.make(environment)
    sizes = math.prod(made.observation_space.shape or ()), math.prod(made.action_space.shape or ())
    made.close()
    return sizes


def _free() -> int | None:
    """Bytes that are free on this machine, at most the limit of its container; None where the system does not say."""
    table = Path("/proc/meminfo")
    match = re.search(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else None
    free = int(match[1]) * 1024 if match else None
    limit = Path("/sys/fs/cgroup/memory.max")
    if free is not None and limit.exists() and (text := limit.read_text().strip()).isdigit():
        free = min(free, int(text))
    return free
