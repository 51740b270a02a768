"""How much memory there is: of the machine, its container, and `ulimit -v`."""

import math
import re
import resource
from pathlib import Path

from dyna_td.errors import UserError

# Bytes. Importing TensorFlow takes 0.55 GiB. Its compiler aborts with 2.7 GiB of addresses; a training ran with 3.0.
_TENSORFLOW, _ADDRESSES = 6 * 2**27, 3 * 2**30


def free(root: Path = Path("/")) -> float:
    """The free bytes of this machine, at most those that a control group grants; infinite where no file says."""
    table, groups = root / "proc/meminfo", root / "proc/self/cgroup"
    found = re.findall(r"MemAvailable:\s+(\d+) kB", table.read_text()) if table.exists() else []
    limits = [1024 * int(size) for size in found]
    for _, kind, place in re.findall(r"(\d+):(memory)?:(/.*)", groups.read_text()) if groups.exists() else []:
        folder, file = ("memory", "memory.limit_in_bytes") if kind else ("", "memory.max")  # Linux's two versions
        group = Path(place.lstrip("/"))
        for parent in (group, *group.parents):  # a container does not see its own place
            path = root / "sys/fs/cgroup" / folder / parent / file
            limits += map(int, re.findall(r"^\d+", path.read_text()) if path.exists() else [])  # else it is "max"
    return min(limits, default=math.inf)


def require_room_for_tensorflow() -> None:
    """Raises UserError where the system would end this process, or TensorFlow abort, without a sentence."""
    addresses, _ = resource.getrlimit(resource.RLIMIT_AS)
    if addresses not in (resource.RLIM_INFINITY, -1) and addresses < _ADDRESSES:
        raise UserError(
            f"`ulimit -v` leaves {addresses / 2**30:,.1f} GiB of addresses, with which TensorFlow would abort: allow "
            f"{_ADDRESSES / 2**30:,.1f} GiB or more."
        )
    if free() < _TENSORFLOW:
        raise UserError(
            f"{free() / 2**30:,.2f} GiB of memory are free, here or in this container: TensorFlow needs "
            f"{_TENSORFLOW / 2**30:,.2f} GiB."
        )
