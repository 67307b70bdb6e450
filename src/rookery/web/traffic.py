"""Requests counted by route, method and status, cheaply enough for the hottest path."""

from bisect import bisect_left
from dataclasses import dataclass, field

# Seconds. A worker gives up after 30.
BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

Key = tuple[str, str, int]


@dataclass(slots=True)
class Tally:
    """The answers of one route, method and status; buckets[i] counts those up to BOUNDS[i]."""

    seconds: float = 0.0
    buckets: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))

    @property
    def count(self) -> int:
        return sum(self.buckets)

    def __add__(self, other: "Tally") -> "Tally":
        buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        return Tally(self.seconds + other.seconds, buckets)


class Traffic:
    """The working counts of one process; changed by the event loop alone."""

    def __init__(self) -> None:
        self.inside = 0
        self._tallies: dict[Key, Tally] = {}

    def note(self, route: str, method: str, status: int, seconds: float) -> None:
        key = (route, method, status)
        tally = self._tallies.get(key)
        if tally is None:
            tally = self._tallies[key] = Tally()
        tally.seconds += seconds
        tally.buckets[bisect_left(BOUNDS, seconds)] += 1

    def tallies(self) -> tuple[tuple[Key, Tally], ...]:
        """A copy that another thread may read."""
        return tuple(
            (key, Tally(tally.seconds, list(tally.buckets)))
            for key, tally in sorted(self._tallies.items())
        )
