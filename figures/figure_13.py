"""Figure 13: crashes, speed and return of three agents that learn to drive through a roundabout (appendix)."""

from panels import Panel
from scenes import Scene


def adapt(declared: dict[str, Panel]) -> dict[str, Panel]:
    """The roundabout itself before the curves."""
    return {"a": Scene("a", "roundabout")} | declared
