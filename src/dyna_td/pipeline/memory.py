"""The memory that a training needs, estimated before it begins."""

import math
import re
from pathlib import Path

from dyna_td import registry
from dyna_td.errors import UserError
from dyna_td.settings import Run

_BASE = 2**30  # bytes of TensorFlow and a compiled program, measured
_COPIES = 2  # of each buffer, while it is made
_SMALL = 10**6  # states, of which no one asks how large they are


def require_memory(run: Run, width: int) -> None:
    """Raises UserError if the buffers of `width` stacked seeds of `run` do not fit into this machine's free memory."""
    settings = run.settings
    transitions = min(getattr(settings, "buffer_capacity", 0), run.steps)
    fills = run.steps // getattr(settings, "search_every", 1) + 1
    queued = min(getattr(settings, "queue_capacity", 0), fills * getattr(settings, "states_per_fill", 0))
    free = _free()
    if free is None or width * (transitions + queued) < _SMALL:
        return
    d, a = _dimensions(run.environment)
    rows = transitions * (2 * d + a + 4) + queued * d  # with a sum tree of priorities
    needed = _BASE + _COPIES * 4 * width * rows
    if needed > free:
        raise UserError(
            f"the buffers of {width} stacked seeds, {transitions:,} transitions and {queued:,} states each, need about "
            f"{needed / 2**30:,.1f} GiB and {free / 2**30:,.1f} GiB are free: choose a smaller --buffer-capacity, "
            "--queue-capacity, number of --steps or of seeds."
        )


def _dimensions(environment: str) -> tuple[int, int]:
    """The numbers in a state, and in an action."""
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
