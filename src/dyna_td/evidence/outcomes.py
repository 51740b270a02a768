"""The data's answer to a test of a claim."""

from dataclasses import dataclass

import numpy as np

VERDICTS = ("supported", "contradicted", "undecided", "not run")


@dataclass(frozen=True)
class Effect:
    """The comparison over seeds, plus less minus (see `claims`); a relative one is a ratio less 1.

    Attributes:
      estimate, low95, high95: its mean with its 95% interval; `iqm` is its interquartile mean.
      low90, high90: the 90% interval of an equivalence.
      improvement: the chance that a random seed of plus exceeds one of minus; with more than two curves, the share of
        seeds whose comparison is positive.
      stuck_plus, stuck_minus: if two curves of returns are compared, each one's share of stuck seeds, see
        `scores.stuck_below`.
    """

    estimate: float = np.nan
    low95: float = np.nan
    high95: float = np.nan
    iqm: float = np.nan
    low90: float = np.nan
    high90: float = np.nan
    improvement: float = np.nan
    stuck_plus: float = np.nan
    stuck_minus: float = np.nan


@dataclass(frozen=True)
class Sample:
    """What was compared.

    Attributes:
      counts: number of seeds, of each sample if they are not paired.
      pairing, window: in words.
      distance: from the effect to the nearest bound of the claimed region, negative outside it.
      spread: standard deviation over seeds.
      left_out: how many seeds are not finite.
    """

    counts: tuple[int, ...] = ()
    pairing: str = ""
    window: str = ""
    distance: float = np.nan
    spread: float = np.nan
    left_out: int = 0

    @property
    def n(self) -> str:
        """The counts in words, as 20 or 20+140."""
        return "+".join(map(str, self.counts))

    @property
    def fewest(self) -> int:
        """The smallest count."""
        return min(self.counts, default=0)


@dataclass(frozen=True)
class Outcome:
    """The data's answer to one test.

    Attributes:
      p_supported, p_contradicted: corrected for the claim's tests where the claim needs it; None where nothing is
        estimated, 1 where a test is not run.
      sources: the weakest of the runs' sources, see `scores.SOURCES`.
      seeds_to_decide: how many seeds would decide an undecided test, see `statistics.seeds_to_decide`; else None.
      would_be: the verdict that so many seeds are expected to bring.
    """

    verdict: str
    effect: Effect = Effect()
    sample: Sample = Sample()
    p_supported: float | None = None
    p_contradicted: float | None = None
    sources: str = ""
    note: str = ""
    seeds_to_decide: float | None = None
    would_be: str = ""
