"""The times at which the workers of a large fleet arrive: a number of workers by a given time,
evenly in between."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

Point = tuple[float, int]
"""Seconds since the beginning, and the number of workers by then."""

FIRST_SECONDS = 20.0
"""How long the initial workers take to arrive, since they must not come all at once."""
MISSION: Sequence[Point] = (
    (FIRST_SECONDS, 205),
    (18 * 60.0, 4_608),
    (33 * 60.0, 9_116),
    (36 * 60.0, 9_418),
    (37 * 60.0, 9_423),
)
"""The growth that a fishtest server went through: at 14:47, 15:05, 15:20, 15:23, and afterwards."""


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A curve of points, each later than and with at least as many workers as the one before."""

    points: Sequence[Point]

    @property
    def workers(self) -> int:
        return self.points[-1][1]

    def moments(self) -> Iterator[float]:
        """The time at which each worker arrives, first to last."""
        before, there = 0.0, 0
        for moment, workers in self.points:
            for number in range(1, workers - there + 1):
                yield before + (moment - before) * number / (workers - there)
            before, there = moment, workers

    def faster(self, times: float, share: float = 1.0) -> "Arrivals":
        """The same curve compressed in time, or with a share of the workers, for a trial."""
        return Arrivals(
            tuple((moment / times, round(workers * share)) for moment, workers in self.points)
        )


def evenly(workers: int, seconds: float) -> Arrivals:
    return Arrivals(((seconds, workers),))
