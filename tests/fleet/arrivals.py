"""When the workers of a large fleet arrive: so many by such a moment, evenly in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, int]
"""Seconds since the beginning, and how many workers there are by then."""

FIRST_SECONDS = 20.0
"""How long the workers take that are there from the beginning: nobody comes all at once."""
MISSION: Sequence[Point] = (
    (FIRST_SECONDS, 205),
    (18 * 60.0, 4_608),
    (33 * 60.0, 9_116),
    (36 * 60.0, 9_418),
    (37 * 60.0, 9_423),
)
"""The burst that a fishtest server went through: 14:47, 15:05, 15:20, 15:23, and then on."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """Points in time, each later and with no fewer workers than the one before."""

    points: Sequence[Point]

    @property
    def workers(self) -> int:
        return self.points[-1][1]

    def moments(self) -> Iterator[float]:
        """When each worker arrives, first to last."""
        before, there = 0.0, 0
        for moment, workers in self.points:
            for number in range(1, workers - there + 1):
                yield before + (moment - before) * number / (workers - there)
            before, there = moment, workers

    def faster(self, times: float, share: float = 1.0) -> "Arrivals":
        """The same curve in less time, or with a share of the workers, for a try."""
        return Arrivals(
            tuple((moment / times, round(workers * share)) for moment, workers in self.points)
        )


def evenly(workers: int, seconds: float) -> Arrivals:
    return Arrivals(((seconds, workers),))
